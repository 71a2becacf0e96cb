"""Shapes of what nodes of autograd compute, and the nodes that keep the order of elements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from hookcli.engine.probes.trainability.loss_graph import SAME_VALUES, Node

Shape: TypeAlias = tuple[int, ...]

VIEWS = {"ViewBackward0", "UnsafeViewBackward0", "ReshapeAliasBackward0"}
IN_ORDER = VIEWS | {
    "CloneBackward0", "AliasBackward0", "UnsqueezeBackward0", "SqueezeBackward0",
    "SqueezeBackward1", "ToCopyBackward0", "ExpandBackward0",
}  # fmt: skip
LINEAR = {"AddmmBackward0", "MmBackward0", "LinearBackward0"}
# From a loss to what it compares: these keep the shape of their input, or reduce it.
TAIL = SAME_VALUES | {
    f"{name}Backward0"
    for name in (
        "Mean", "Sum", "Pow", "Abs", "Sqrt", "Div", "Add", "Neg", "Mul", "ClampMin", "Log", "Log1P",
        "Exp", "Where", "Rsub", "Maximum", "Minimum",
    )
} | {"RsubBackward1", "MeanBackward1", "SumBackward1", "ClampBackward1"}  # fmt: skip
LONGEST = 200  # nodes


def shape_of(node: Node, output: int = 0) -> Shape | None:
    """Return the shape of what a node computed; None if it is not known."""
    if hasattr(node, "variable"):  # a leaf
        return tuple(node.variable.shape)
    described = getattr(node, "_input_metadata", None)
    if described is None or output >= len(described):
        return None
    return tuple(int(size) for size in described[output].shape)


def without_ones(shape: Sequence[int]) -> list[int]:
    """Return the sizes of a shape that are not 1."""
    return [size for size in shape if size != 1]
