"""Frozen models: one graph without modules, whose operators are told of instead."""

from __future__ import annotations

from typing import Any

from torch import nn

from hookcli.models.scripted import OURS
from hookcli.models.torchscript.graphs import nodes_of
from hookcli.models.torchscript.sources import place_of

_TOLD = ("TensorType", "ListType", "TupleType")


def is_flat(root: Any) -> bool:
    """Whether a scripted module has been frozen: its parameters are constants of its graph."""
    held = next(iter(root.parameters()), None) is None and not list(root._modules.items())
    if not held or not root._c._has_method("forward"):
        return False
    nodes = list(nodes_of(root._c._get_method("forward").graph))
    constants = any(n.kind() == "prim::Constant" and n.hasAttribute("value")
                    and n.kindOf("value") == "t" for n in nodes)  # fmt: skip
    return constants and any(n.kind().startswith("aten::") for n in nodes)


def pseudo(kind: str, place: str | None) -> nn.Module:
    """What stands for an operator of a graph where a module would: it has a class of its name."""
    module: nn.Module = type(kind, (nn.Module,), {})()
    vars(module)["place"] = place
    return module


def tell_of_operators(graph: Any, number: int, first: int) -> list[nn.Module]:
    """Have each operator of a graph tell as it starts and ends; sites count from `first`.

    What stands for each of them, in the order of their sites.
    """
    owner = next(graph.inputs())
    modules: list[nn.Module] = []
    for node in list(nodes_of(graph)):
        if not node.kind().startswith("aten::") or node.outputsSize() != 1:
            continue
        if node.output().type().kind() not in _TOLD:
            continue
        site = first + len(modules)
        _around(graph, node, owner, (number, site))
        modules.append(pseudo(node.kind(), place_of(node)))
    return modules


def _around(graph: Any, node: Any, owner: Any, numbers: tuple[int, int]) -> None:
    import torch

    values = [value for value in node.inputs() if value.type().kind() in _TOLD]
    packed = graph.create("prim::TupleConstruct", values, 1)
    packed.insertBefore(node)
    packed.output().setType(torch._C.TupleType([value.type() for value in values]))
    constants = []
    for number in numbers:
        constant = graph.insertConstant(number)
        constant.node().moveBefore(node)
        constants.append(constant)
    graph.create(f"{OURS}::enter", [packed.output(), owner, *constants], 0).insertBefore(node)
    told = graph.create(f"{OURS}::leave", [node.output(), owner, *constants], 0)
    told.insertAfter(node)
