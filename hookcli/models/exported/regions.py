"""Inline regions without gradients or under autocast into the graph around them.

torch.export makes each such region a submodule, in which the user's layers would be lost: after
unflattening, `submod_1` is one module. After inlining, every layer is a module again. The
interpreter keeps the region's setting between two marks.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass
from typing import Any, TypeAlias

import torch
from torch import fx
from torch.export import ExportedProgram
from torch.export.graph_signature import TensorArgument
from torch.fx.node import map_arg

from hookcli.torch_private import enter_autocast, exit_autocast, set_grad_enabled

# Marks are functions that torch never removes from a graph, although they have no users.
GRAD: Any = set_grad_enabled
ENTER_AUTOCAST: Any = enter_autocast
EXIT_AUTOCAST: Any = exit_autocast
_LEAVE = "leave"
_TRACEPOINT = "_export_tracepoint"


class Regions:
    """The regions that are open while a program runs, the innermost last."""

    def __init__(self) -> None:
        self._open: list[ExitStack] = []

    def mark(self, target: Any, args: tuple[Any, ...]) -> bool:
        """Carry out a mark; return False if `target` is not a mark."""
        if target is EXIT_AUTOCAST or (target is GRAD and args == (_LEAVE,)):
            if self._open:
                self._open.pop().close()
            return True
        if target is GRAD:
            self._enter(torch.set_grad_enabled(args[0]))
            return True
        if target is ENTER_AUTOCAST:
            device, dtype, enabled, cache = args
            self._enter(torch.autocast(device, dtype, enabled=enabled, cache_enabled=cache))
            return True
        return False

    def _enter(self, context: AbstractContextManager[Any]) -> None:
        stack = ExitStack()
        stack.enter_context(context)
        self._open.append(stack)

    def close(self) -> None:
        """Leave all open regions, after a forward raised."""
        while self._open:
            self._open.pop().close()


def inline_regions(program: ExportedProgram) -> None:
    """Inline all regions of a program, in place."""
    renamed: dict[str, str] = {}
    _inline_in(program.graph_module, renamed)
    _drop_tracepoints(program)
    for spec in program.graph_signature.output_specs:
        name = getattr(spec.arg, "name", None)
        if name in renamed:
            spec.arg = TensorArgument(renamed[name])


def _drop_tracepoints(program: ExportedProgram) -> None:
    """Remove tracepoints, and with them the call signatures of all submodules.

    torch.export overlooks the tracepoints inside regions and leaves them in the graph.
    """
    left = [n for n in program.graph.nodes if getattr(n.target, "__name__", "") == _TRACEPOINT]
    for node in left:
        for user in list(node.users):  # operator.getitem(node, i)
            user.replace_all_uses_with(node.args[user.args[1]])
            program.graph.erase_node(user)
        program.graph.erase_node(node)
    if left:
        for entry in program.module_call_graph:
            if entry.fqn:
                entry.signature = None


def _inline_in(owner: fx.GraphModule, renamed: dict[str, str]) -> None:
    for node in list(owner.graph.nodes):
        name = getattr(node.target, "__name__", "") if node.op == "call_function" else ""
        if name == "wrap_with_set_grad_enabled":
            enabled, region, *operands = node.args
            marks = _Marks((GRAD, (enabled,)), (GRAD, (_LEAVE,)))
        elif name == "wrap_with_autocast":
            device, dtype, enabled, cache, region, *operands = node.args
            marks = _Marks((ENTER_AUTOCAST, (device, dtype, enabled, cache)), (EXIT_AUTOCAST, ()))
        else:
            continue
        inner = getattr(owner, region.target, None)
        if isinstance(inner, fx.GraphModule) and all(isinstance(o, fx.Node) for o in operands):
            _inline_in(inner, renamed)
            _inline(owner, node, inner, operands, marks, renamed)
            if not region.users:
                owner.graph.erase_node(region)


_Mark: TypeAlias = tuple[Any, tuple[Any, ...]]


@dataclass(frozen=True, slots=True)
class _Marks:
    """The calls before and after a region: functions with their arguments."""

    enter: _Mark
    leave: _Mark


def _inline(
    owner: fx.GraphModule,
    node: fx.Node,
    inner: fx.GraphModule,
    operands: list[fx.Node],
    marks: _Marks,
    renamed: dict[str, str],
) -> None:
    """Copy a region's operators to where `node` calls it."""
    graph = owner.graph
    body = [n for n in inner.graph.nodes if n.op not in {"placeholder", "output"}]
    given = [n for n in inner.graph.nodes if n.op == "placeholder"]
    values: dict[fx.Node, Any] = dict(zip(given, operands, strict=True))
    with graph.inserting_before(node):
        for i, old in enumerate(body):
            if i == 0:
                _put(graph, marks.enter, old)
            values[old] = graph.node_copy(old, lambda n: values[n])
            if old.op == "get_attr":
                values[old].target = _move(owner, inner, str(old.target))
        if body:
            _put(graph, marks.leave, body[-1])
    output = next(n for n in inner.graph.nodes if n.op == "output")
    given_back = map_arg(output.args[0], lambda n: values[n])
    _replace(node, given_back, renamed)


def _put(graph: fx.Graph, mark: _Mark, neighbor: fx.Node) -> None:
    new = graph.call_function(mark[0], mark[1])
    if "nn_module_stack" in neighbor.meta:  # in the same module, so that it never splits a call
        new.meta["nn_module_stack"] = neighbor.meta["nn_module_stack"]


def _move(owner: fx.GraphModule, inner: fx.GraphModule, target: str) -> str:
    """Copy an attribute of the inner graph to the outer one, under a free name."""
    name, number = target, 0
    while hasattr(owner, name):
        number += 1
        name = f"{target}_{number}"
    setattr(owner, name, getattr(inner, target))
    return name


def _replace(node: fx.Node, values: Any, renamed: dict[str, str]) -> None:
    """Replace the call of a region, for its users, by the region's values."""
    if isinstance(values, fx.Node):
        renamed[node.name] = values.name
        node.replace_all_uses_with(values)
    else:
        for user in list(node.users):  # operator.getitem(node, i)
            value = values[user.args[1]]
            renamed[user.name] = value.name
            user.replace_all_uses_with(value)
            user.graph.erase_node(user)
    node.graph.erase_node(node)
