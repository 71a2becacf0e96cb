"""The call tree with repeated calls folded: a loop over a cell is one row marked ×12.

Repetitions are folded only if they look the same: the same modules, called by the same call, with
the same shapes, including all calls below.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TypeAlias

from hookcli.repetitions import repetitions
from hookcli.report.memory import CallMemory
from hookcli.report.report import LayerRow
from hookcli.report.values import Leaf

DEEPEST = 500  # levels of guides on a row: all of them would take the depth squared
_LONGEST = 8  # rows in a repeating group: the calls of a loop body


@dataclass(frozen=True, slots=True)
class CallNode:
    """A row of the tree. `guides` are the levels above: True if their line continues.

    Beyond `DEEPEST` levels, one or two represent all outer ones.
    """

    row: LayerRow
    times: int
    alternating: bool  # repeated together with its neighbours: a b a b, not a a b b
    guides: tuple[bool, ...]
    last: bool
    hidden: bool  # the view omits calls below it
    macs: int | None  # of all folded calls, including hidden calls below
    flops: int | None
    memory: CallMemory | None  # the same; the peaks are the highest ones


def _looks(rows: list[LayerRow], children: dict[int, list[int]]) -> dict[int, int]:
    """Return a number for each row; rows with equal numbers look the same, with all below."""
    numbers: dict[Hashable, int] = {}
    looks: dict[int, int] = {}
    for row in reversed(rows):  # a caller's order is below its callees'
        below = tuple(looks[child] for child in children.get(row.order, ()))
        inputs, outputs = _tensors(row.inputs), _tensors(row.outputs)
        key = (row.name, row.type, inputs, outputs, row.notes, row.recomputed, below)
        looks[row.order] = numbers.setdefault(key, len(numbers))
    return looks


def _tensors(leaves: Sequence[Leaf]) -> tuple[Hashable, ...]:
    """Return paths, shapes and dtypes, not statistics, which differ from call to call."""
    return tuple((leaf.path, leaf.shape, leaf.dtype, leaf.via) for leaf in leaves)


_Alike: TypeAlias = tuple[int, ...]  # the orders of calls that are one row
_Cost: TypeAlias = tuple[int | None, int | None]


def _plus(count: int | None, other: int | None) -> int | None:
    return None if count is None or other is None else count + other


def _times(count: int | None, runs: int) -> int | None:
    return None if count is None else count * runs


def _costs(rows: list[LayerRow], children: dict[int, list[int]]) -> dict[int, _Cost]:
    """Return the MACs and FLOPs of each row including all calls below."""
    costs: dict[int, _Cost] = {}
    for row in reversed(rows):
        macs, flops = row.macs, row.flops
        for child in children.get(row.order, ()):
            macs, flops = _plus(macs, costs[child][0]), _plus(flops, costs[child][1])
        costs[row.order] = (macs, flops)
    return costs


def _saved(rows: list[LayerRow], children: dict[int, list[int]]) -> dict[int, int | None]:
    """Return the bytes that each row saves, including all calls below."""
    saved: dict[int, int | None] = {}
    for row in reversed(rows):
        total = None if row.memory is None else row.memory.saved_bytes
        for child in children.get(row.order, ()):
            total = _plus(total, saved[child])
        saved[row.order] = total
    return saved


def _memory(rows: list[LayerRow], saved: dict[int, int | None] | None) -> CallMemory | None:
    """Return the memory of calls that are one row; `saved` includes hidden calls below."""
    memory = [row.memory for row in rows if row.memory is not None]
    if not memory:
        return None
    sizes = [m.saved_bytes for m in memory] if saved is None else [saved[r.order] for r in rows]
    return CallMemory(
        saved_bytes=None if None in sizes else sum(size for size in sizes if size),
        peak_bytes=_highest(m.peak_bytes for m in memory),
        backward_peak_bytes=_highest(m.backward_peak_bytes for m in memory),
    )


def _highest(peaks: Iterable[int | None]) -> int | None:
    return max((peak for peak in peaks if peak is not None), default=None)


def fold(rows: tuple[LayerRow, ...], depth: int | None) -> list[CallNode]:
    """Return the rows as a tree in display order, down to `depth`."""
    ordered = list(rows)
    known = {row.order: row for row in ordered}
    children: dict[int, list[int]] = {}
    roots: list[int] = []
    for row in ordered:
        if row.parent is not None and row.parent in known:
            children.setdefault(row.parent, []).append(row.order)
        else:
            roots.append(row.order)
    looks = _looks(ordered, children)
    costs = _costs(ordered, children)
    saved = _saved(ordered, children)
    nodes: list[CallNode] = []
    todo: list[tuple[_Alike, int, bool, tuple[bool, ...], bool]] = []

    def push(groups: list[_Alike], guides: tuple[bool, ...]) -> None:
        shown = [
            (
                tuple(chain.from_iterable(groups[start + k : start + k + size * times : size])),
                times,
                size > 1,
            )
            for start, size, times in repetitions([looks[g[0]] for g in groups], _LONGEST)
            for k in range(size)
        ]
        last = len(shown) - 1
        todo.extend(
            (alike, times, alternating, guides, i == last)
            for i, (alike, times, alternating) in reversed(list(enumerate(shown)))
        )

    push([(root,) for root in roots], ())
    while todo:
        alike, times, alternating, guides, last = todo.pop()
        order, runs = alike[0], len(alike)
        row = known[order]
        below = children.get(order, [])
        hidden = bool(below) and depth is not None and row.depth >= depth
        macs, flops = costs[order] if hidden else (row.macs, row.flops)
        nodes.append(
            CallNode(
                row,
                times,
                alternating,
                guides,
                last,
                hidden,
                _times(macs, runs),
                _times(flops, runs),
                _memory([known[each] for each in alike], saved if hidden else None),
            )
        )
        if below and not hidden:
            push(
                list(zip(*(children[each] for each in alike), strict=True)),
                (*guides, not last)[-DEEPEST - 2 :],
            )
    return nodes
