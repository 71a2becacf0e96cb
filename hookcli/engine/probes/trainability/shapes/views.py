"""Views that mix values of different positions: they keep the order of the elements."""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import nn

from hookcli.engine.observe.node_owners import NodeOwners
from hookcli.engine.probes.trainability.loss_graph import Node, nodes_behind, place_of, signed
from hookcli.engine.probes.trainability.shapes.node_shapes import (
    IN_ORDER,
    LONGEST,
    VIEWS,
    Shape,
    shape_of,
    without_ones,
)
from hookcli.models.model import Call

MOVES = {"TransposeBackward0", "PermuteBackward0"}
# From a view to what uses its result; positions may be added in between.
_PASSES = IN_ORDER | MOVES | {"AddBackward0"}
SAMPLES = "samples"  # what a view joins or cuts
_PRODUCTS = {
    "BmmBackward0", "ScaledDotProductFlashAttentionForCpuBackward0",
    "ScaledDotProductFlashAttentionBackward0", "ScaledDotProductEfficientAttentionBackward0",
    "ScaledDotProductCudnnAttentionBackward0",
}  # fmt: skip
# What gives each dimension its meaning, as that of channels.
_MEANING = {
    f"{name}Backward0"
    for name in (
        "Convolution", "Addmm", "Mm", "Linear", "NativeLayerNorm", "NativeBatchNorm",
        "CudnnBatchNorm", "MiopenBatchNorm", "NativeGroupNorm", "LogSoftmax", "Softmax",
        "MkldnnRnnLayer", "CudnnRnn",
    )
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Rows:
    """The sizes of dimension 0 of the model's inputs and outputs."""

    given: set[int]
    returned: set[int]


def mixing_views(
    start: torch.Tensor, rows: Rows, owners: NodeOwners, calls: dict[int, Call]
) -> Iterator[tuple[Node, str, tuple[Shape, Shape]]]:
    """Yield the views in the user's code that swap sizes or regroup samples, with their shapes.

    The result is used as it is by an operator that gives each dimension its meaning. Views that
    skew a matrix are followed by a slice, and those that split heads by a transpose.
    """
    users: dict[Node, list[Node]] = {}
    views = []
    for node in nodes_behind(start):
        views += [node] if node.name() in VIEWS else []
        for behind, _ in node.next_functions:
            if behind is not None and behind.name() in _PASSES:
                users.setdefault(behind, []).append(node)
    for node in views:
        shapes, what = _swapped(node) or _flattened(node) or _mixed(node), "a view"
        if shapes is None:
            shapes, what = _regrouped(node, rows), SAMPLES
        if shapes is not None and (_is_used(node, users) or _is_shuffled(*shapes)):
            kind = place_of(node, owners, calls)[2][0]
            if kind is None or not hasattr(nn, kind):  # torch's own views are right
                yield node, what, shapes


def _is_used(view: Node, users: dict[Node, list[Node]]) -> bool:
    """Return whether an operator that gives dimensions their meaning gets the result of a view.

    After a transpose, heads and samples that are one dimension have their meaning by a product.
    """
    todo = [(node, False) for node in users.get(view, ())]
    for node, moved in todo:  # grows meanwhile
        name = node.name()
        if name in _MEANING or (name in _PRODUCTS and not moved):
            return True
        if name in _PASSES and len(todo) < LONGEST:
            todo += [(user, moved or name in MOVES) for user in users.get(node, ())]
    return False


def _swapped(node: Node) -> tuple[Shape, Shape] | None:
    """Return the shapes before and after a view that moves a dimension past another one.

    Its result has the same sizes in another order, or splits or merges the dimension of heads with
    a dimension that it does not lie beside. Dimensions of size 1 do not count: no element moves if
    they do.
    """
    after = shape_of(node)
    if after is None:
        return None
    before = tuple(int(size) for size in node._saved_self_sym_sizes)
    old, new = without_ones(before), without_ones(after)
    if len(before) == len(after) and sorted(old) == sorted(new):
        return (before, after) if old != new else None
    mixes = _joins_parts(old, new)
    if len(before) != len(after):
        mixes |= _passes_by(old, new) or _passes_by(new, old) or _puts_channels_last(old, new)
    mixes |= cuts_patches(before, after) or _is_shuffled(before, after)
    return (before, after) if mixes else None


def _is_shuffled(before: Sequence[int], after: Sequence[int]) -> bool:
    """Return whether a view turns channels of a picture into more rows and columns.

    `pixel_shuffle` puts the values of the channels next to each other, and a view does not.
    """
    if len(before) != 4 or len(after) != 4 or before[0] != after[0] or before[2] < 2:
        return False
    factor = after[2] // before[2]
    sizes = (before[1], before[2] * factor, before[3] * factor)
    return factor > 1 and sizes == (after[1] * factor * factor, *after[2:])


def cuts_patches(before: Sequence[int], after: Sequence[int]) -> bool:
    """Return whether a view turns pictures [b, c, h, w] into as many rows as square patches.

    Its rows are runs of lines of one channel, and no patches of all channels.
    """
    if len(before) != 4 or len(after) != 3 or before[0] != after[0]:
        return False
    (_, channels, height, width), (_, count, values) = before, after
    side = math.isqrt(values // max(1, channels))
    if side < 2 or side * side * channels != values or height % side or width % side:
        return False
    # Dimensions that are joined whole are meant, such as those of windows with channels last.
    is_joined = values in {width, height * width} or (channels == 1 and count == height)
    return count == (height // side) * (width // side) > 1 and not is_joined


def _mixed(node: Node) -> tuple[Shape, Shape] | None:
    """Return the shapes around a view that takes the samples from another dimension than theirs.

    A permutation has moved dimension 0, and the view gives dimension 0 the size that it had.
    """
    moved = node.next_functions[0][0]
    while moved is not None and moved.name() == "CloneBackward0":
        moved = moved.next_functions[0][0]
    before, after = tuple(int(size) for size in node._saved_self_sym_sizes), shape_of(node)
    if moved is None or moved.name() not in MOVES or after is None or len(before) < 3:
        return None
    if moved.name() == "TransposeBackward0":
        pair = sorted(signed(dim) % len(before) for dim in (moved._saved_dim0, moved._saved_dim1))
        at = pair[1] if pair[0] == 0 else 0
    else:
        dims = [signed(dim) % len(before) for dim in moved._saved_dims]
        at = dims.index(0)
    samples = before[at]
    is_moved = max(before[:at], default=1) > 1  # past a dimension that has elements
    is_mixed = is_moved and samples > 1 and after[0] == samples != before[0]
    return (before, after) if is_mixed and len(after) < len(before) else None


def _regrouped(node: Node, rows: Rows) -> tuple[Shape, Shape] | None:
    """Return the shapes around a view of [B, C, H, W] whose rows are not the B samples.

    The model returns as many rows as the view makes, and takes B samples. Rows of the last
    dimensions, such as those of each channel, are cut on purpose.
    """
    before, after = tuple(int(size) for size in node._saved_self_sym_sizes), shape_of(node)
    if after is None or len(before) < 4 or len(after) != 2 or before[0] == after[0]:
        return None
    samples, count = before[0], after[0]
    if samples not in rows.given or samples in rows.returned or count not in rows.returned:
        return None
    wholes = {math.prod(before[dim:]) for dim in range(2, len(before))}
    moved = node.next_functions[0][0]
    while moved is not None and moved.name() in IN_ORDER:
        moved = moved.next_functions[0][0]
    is_cut = moved is None or moved.name() in MOVES or after[1] in wholes
    return None if is_cut else (before, after)


def _puts_channels_last(old: Sequence[int], new: Sequence[int]) -> bool:
    """Return whether [n, c, h, w] became [n h w, c] or [n, h w, c]."""
    if len(old) < 3 or old[-1] == old[1]:
        return False
    samples, channels, places = old[0], old[1], math.prod(old[2:])
    flat = [samples * places, channels], [samples, places, channels]
    return [*new] in flat and places != channels


def _passes_by(short: Sequence[int], long: Sequence[int]) -> bool:
    """Return whether [..., t, h d] became [..., h, t, d], as heads do without a transpose."""
    if len(long) != len(short) + 1 or len(short) < 2 or short[:-2] != long[:-3]:
        return False
    (time, width), (heads, passed, depth) = short[-2:], long[-3:]
    return passed == time != heads and heads * depth == width and time not in {depth, width}


def _joins_parts(old: Sequence[int], new: Sequence[int]) -> bool:
    """Return whether a new dimension has the inner part of one and the outer part of the next one.

    Such as [b, t, h d] that becomes [b h, t, d]: each of the new rows has parts of some of the `t`
    positions. A view that splits dimensions, or joins whole ones to parts, has no such dimension.
    """
    ends = list(itertools.accumulate(old, operator.mul, initial=1))
    start = 1
    for size in new:
        end = start * size
        for before, at, after in zip(ends, ends[1:], ends[2:], strict=False):
            inside = start < at < end and at % start == 0 and end % at == 0
            if inside and before < start and after > end:
                return True
        start = end
    return False


_STATES = ("StackBackward0", "CudnnRnnBackward0")


def _flattened(node: Node) -> tuple[Shape, Shape] | None:
    """Return the shapes of a view of stacked states that has the second dimension as its first.

    Such as [layers, batch, size], the last states of an RNN, as [batch, layers * size].
    """
    after = shape_of(node)
    before = tuple(int(size) for size in node._saved_self_sym_sizes)
    behind = node.next_functions[0][0]
    if after is None or len(before) != 3 or len(after) != 2 or behind is None:
        return None
    first, second, last = before
    if behind.name() not in _STATES or min(first, second) < 2 or first == second:
        return None
    return (before, after) if after == (second, first * last) else None
