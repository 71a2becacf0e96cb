"""Rotary embeddings in an autograd graph, and along which dimension their angles differ.

A rotation of pairs of values is `x * cos + rotated(x) * sin`, or a product with complex numbers of
size 1. The angles must differ along the positions.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch

from hookcli.engine.probes.trainability.loss_graph import Node, shape_of_node

_CLOSE = 1e-3
_LEAST = 2  # positions
_PRODUCT = "MulBackward0"
_SUMS = ("AddBackward0", "SubBackward0")


def misplaced_rotations(
    nodes: list[Node], positions: set[int]
) -> Iterator[tuple[Node, dict[str, Any]]]:
    """Yield the rotations whose angles differ along another dimension than the positions.

    `positions` are the lengths of the sequences that the model got.
    """
    for node in nodes:
        angles, shape = _angles(node), shape_of_node(node)
        if angles is None or shape is None or len(shape) < 4 or angles.dim() > len(shape):
            continue
        sizes = [1] * (len(shape) - angles.dim()) + [*angles.shape]
        varied = angles.reshape(sizes)
        dims = [dim for dim in range(1, len(shape) - 1) if _differs_along(varied, dim)]
        if len(dims) != 1 or shape[dims[0]] in positions:
            continue
        others = [dim for dim in range(len(shape) - 1) if dim != dims[0]]
        along = next((dim for dim in others if dim and shape[dim] in positions), None)
        if along is not None:
            yield node, {"shape": [*shape], "dim": dims[0], "positions": along}


def _angles(node: Node) -> torch.Tensor | None:
    """Return the cosines, or the complex numbers, by which a node rotates; else None."""
    if node.name() == _PRODUCT:
        factor = _constant(node)
        is_rotation = factor is not None and factor.is_complex() and _is_one(factor.abs())
        return factor if is_rotation else None
    if node.name() not in _SUMS:
        return None
    inputs = [one for one, _ in node.next_functions]
    if any(one is None or one.name() != _PRODUCT for one in inputs):
        return None
    cosine, sine = map(_constant, inputs)
    if cosine is None or sine is None or cosine.shape != sine.shape or cosine.is_complex():
        return None
    return cosine if _is_one(cosine.square() + sine.square()) else None


def _constant(node: Node) -> torch.Tensor | None:
    """Return the factor of a product that has no gradient, if there is one."""
    graded = [one is not None for one, _ in node.next_functions]
    if graded.count(True) != 1:
        return None
    factor = node._saved_other if graded[0] else node._saved_self
    return factor.detach() if isinstance(factor, torch.Tensor) and factor.dim() else None


def _is_one(values: torch.Tensor) -> bool:
    return not values.is_meta and bool(((values.float() - 1).abs() < _CLOSE).all())


def _differs_along(angles: torch.Tensor, dim: int) -> bool:
    size = angles.shape[dim]
    return size >= _LEAST and bool((angles != angles.narrow(dim, 0, 1)).any())
