"""Frozen models: one graph without modules, whose operators are reported instead."""

from __future__ import annotations

from typing import Any

from torch import nn

from hookcli.models.scripted import OURS
from hookcli.models.torchscript.graphs import nodes_of
from hookcli.models.torchscript.sources import place_of
from hookcli.torch_private import IntType, TupleType

_REPORTED = ("TensorType", "ListType", "TupleType")


def is_flat(root: Any) -> bool:
    """Whether a scripted module was frozen: its parameters are constants of its graph.

    A traced module may have constants too. It has a mode, which freezing removes.
    """
    if hasattr(root, "training"):
        return False
    is_empty = next(iter(root.parameters()), None) is None and not list(root._modules.items())
    if not is_empty or not root._c._has_method("forward"):
        return False
    nodes = list(nodes_of(root._c._get_method("forward").graph))
    constants = any(n.kind() == "prim::Constant" and n.hasAttribute("value")
                    and n.kindOf("value") == "t" for n in nodes)  # fmt: skip
    return constants and any(n.kind().startswith("aten::") for n in nodes)


def pseudo(kind: str, place: str | None) -> nn.Module:
    """Return a module that represents an operator of a graph; its class has the operator's name."""
    module: nn.Module = type(kind, (nn.Module,), {})()
    vars(module)["place"] = place
    return module


def report_operators(graph: Any, number: int, first: int) -> list[nn.Module]:
    """Make each operator of a graph report its start and end; sites count from `first`.

    Returns a module for each operator, in the order of their sites.
    """
    owner = next(graph.inputs())
    modules: list[nn.Module] = []
    for node in list(nodes_of(graph)):
        if not node.kind().startswith("aten::") or node.outputsSize() != 1:
            continue
        if node.output().type().kind() not in _REPORTED:
            continue
        site = first + len(modules)
        _around(graph, node, owner, (number, site))
        modules.append(pseudo(node.kind(), place_of(node)))
    return modules


def _around(graph: Any, node: Any, owner: Any, numbers: tuple[int, int]) -> None:
    """Put an operator before and one after this one."""
    values = [value for value in node.inputs() if value.type().kind() in _REPORTED]
    packed = graph.create("prim::TupleConstruct", values, 1)
    packed.insertBefore(node)
    packed.output().setType(TupleType([value.type() for value in values]))
    constants = []
    for number in numbers:
        constant = graph.insertConstant(number)
        constant.node().moveBefore(node)
        constants.append(constant)
    enter = graph.create(f"{OURS}::enter", [packed.output(), owner, *constants], 1)
    enter.insertBefore(node)
    enter.output().setType(IntType.get())
    values = [node.output(), owner, *constants, enter.output()]
    graph.create(f"{OURS}::leave", values, 0).insertAfter(node)
