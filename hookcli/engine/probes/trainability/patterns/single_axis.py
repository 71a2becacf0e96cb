"""What made a dimension of one element: a layer with one unit, a slice, or a sum that keeps it.

In all of these the size does not depend on the batch, as that of a sequence of one token does.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from hookcli.engine.probes.trainability.loss_graph import Node, shape_of_node, signed

_LINEAR = {"AddmmBackward0", "MmBackward0"}
_CONVOLUTION = "ConvolutionBackward0"
# Operators that compute each element from one other, at the same place.
_SAME_PLACE = {
    f"{name}Backward0"
    for name in (
        "Add", "Alias", "Clone", "Div", "Exp", "LeakyRelu", "Log", "MaskedFill", "Mul", "Neg",
        "Relu", "Sigmoid", "Sub", "Tanh", "ToCopy",
    )
}  # fmt: skip
_RESHAPES = {"ViewBackward0", "UnsafeViewBackward0", "ReshapeAliasBackward0"}
_LONGEST = 20  # nodes of a path


Edge: TypeAlias = tuple[Node, int]  # a node, and which of its results


def is_single(edge: Edge, dim: int) -> bool:
    """Return whether the code made a dimension of a result have one element, whatever the batch.

    `dim` is counted from 0. False if it is not known.
    """
    for _ in range(_LONGEST):
        node, result = edge
        shape = None if node is None else shape_of_node(node, result)
        if node is None or shape is None or not 0 <= dim < len(shape):
            return False
        name = node.name()
        known = _MADE.get(name)
        if known is not None and known(node, dim, shape):
            return True
        before = _before(node, dim, shape)
        if before is None:
            return False
        edge, dim = before
    return False


def _before(node: Node, dim: int, shape: tuple[int, ...]) -> tuple[Edge, int] | None:
    """Return the node that gave a dimension of a result, and that dimension there."""
    name = node.name()
    given = [edge for edge in node.next_functions if edge[0] is not None]
    if name in _SAME_PLACE:
        alike = [edge for edge in given if shape_of_node(*edge) == shape]
        return (alike[0], dim) if len(given) == len(alike) == 1 else None
    if len(given) != 1:
        return None
    (source,) = given
    if name == "TransposeBackward0":
        pair = [signed(d) % len(shape) for d in (node._saved_dim0, node._saved_dim1)]
        return source, pair[1 - pair.index(dim)] if dim in pair else dim
    if name == "PermuteBackward0":
        return source, signed(node._saved_dims[dim]) % len(shape)
    if name == "TBackward0":
        return source, len(shape) - 1 - dim
    if name in _RESHAPES:  # the last dimension stays what it was
        former = shape_of_node(*source)
        if dim == len(shape) - 1 and former is not None and former[-1:] == (1,):
            return source, len(former) - 1
    return None


def _has_one_unit(node: Node, dim: int, shape: tuple[int, ...]) -> bool:
    return dim == len(shape) - 1 and shape[-1] == 1


def _has_one_channel(node: Node, dim: int, shape: tuple[int, ...]) -> bool:
    return dim == 1 and shape[1] == 1


def _is_added(node: Node, dim: int, shape: tuple[int, ...]) -> bool:
    return signed(node._saved_dim) % len(shape) == dim


def _is_cut(node: Node, dim: int, shape: tuple[int, ...]) -> bool:
    """Return whether a slice keeps one of several elements of the dimension."""
    sizes = node._saved_self_sym_sizes
    return signed(node._saved_dim) % len(sizes) == dim and sizes[dim] > 1 == shape[dim]


def _is_kept(node: Node, dim: int, shape: tuple[int, ...]) -> bool:
    """Return whether a sum or the like keeps the dimension that it reduces."""
    dims = node._saved_dim
    dims = dims if isinstance(dims, tuple) else (dims,)
    return bool(node._saved_keepdim) and dim in {signed(d) % len(shape) for d in dims}


_MADE: dict[str, Callable[[Node, int, tuple[int, ...]], bool]] = {
    **dict.fromkeys(_LINEAR, _has_one_unit),
    _CONVOLUTION: _has_one_channel,
    "UnsqueezeBackward0": _is_added,
    **dict.fromkeys(("SliceBackward0", "SplitBackward0", "SplitWithSizesBackward0"), _is_cut),
    **dict.fromkeys(
        ("SumBackward1", "MeanBackward1", "MaxBackward0", "MinBackward0", "AmaxBackward0"), _is_kept
    ),
}
