"""A tensor with two names in a graph: choose the name that the operators around it read.

If an operator returns its input tensor, a trace continues with the newer name. After unflattening,
a module would then return a tensor that only passed through it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import fx
from torch.export import ExportedProgram

from hookcli.torch_private import OpOverload

_NOTHING = {"to", "contiguous", "type_as"}  # they return their input if nothing has to change


def name_buffers(program: ExportedProgram) -> None:
    """Replace the result of an in-place change of a buffer by the buffer itself, for its readers.

    Both are one tensor. Otherwise the result would become an output of the module that changed it.
    """
    signature = program.graph_signature
    state = {*signature.inputs_to_buffers, *signature.inputs_to_parameters}
    for node in program.graph.nodes:
        first = _first(node)
        buffer = first is not None and first.op == "placeholder" and first.name in state
        if first is not None and buffer and _gives_first(node.target):
            node.replace_all_uses_with(first)


def name_inputs(program: ExportedProgram) -> None:
    """Replace the result of an operator that did nothing by its input, for readers outside.

    `x.to(x.dtype)` is x: in the original, the module around it did not return it.
    """
    for node in program.graph.nodes:
        first = _first(node)
        if first is not None and _did_nothing(node, first):
            node.replace_all_uses_with(first, delete_user_cb=_outside(node))


def _first(node: fx.Node) -> fx.Node | None:
    """Return the first argument of an operator if it is a node, else None."""
    if not isinstance(node.target, OpOverload) or not node.args:
        return None
    return node.args[0] if isinstance(node.args[0], fx.Node) else None


def _did_nothing(node: fx.Node, first: fx.Node) -> bool:
    target: Any = node.target
    if target.overloadpacket.__name__ not in _NOTHING or node.kwargs.get("copy"):
        return False
    names = [argument.name for argument in target._schema.arguments]
    if "copy" in names[: len(node.args)] and node.args[names.index("copy")]:
        return False
    before, after = first.meta.get("val"), node.meta.get("val")
    return (
        isinstance(before, torch.Tensor)
        and isinstance(after, torch.Tensor)
        and before.dtype == after.dtype
        and before.device == after.device
        and before.stride() == after.stride()
    )


def _outside(node: fx.Node) -> Callable[[fx.Node], bool]:
    inside = list(node.meta.get("nn_module_stack") or {})

    def leaves(user: fx.Node) -> bool:
        return list(user.meta.get("nn_module_stack") or {})[: len(inside)] != inside

    return leaves


def _gives_first(target: Any) -> bool:
    """Whether an operator changes its first argument and returns it."""
    arguments, returns = target._schema.arguments, target._schema.returns
    if not arguments or len(returns) != 1:
        return False
    taken, given = arguments[0].alias_info, returns[0].alias_info
    return (
        taken is not None
        and given is not None
        and taken.is_write
        and taken.before_set == given.before_set
    )
