"""The call tree with repeated calls folded: a loop over a cell is one row marked ×12.

Repetitions are folded only if they look the same: the same modules, called by the same call, with
the same shapes, including all calls below.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from hookcli.report.repetitions import repetitions
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
    in_turn: bool  # repeated together with its neighbours: a b a b, not a a b b
    guides: tuple[bool, ...]
    last: bool
    hidden: bool  # the view omits calls below it
    macs: int | None  # of all folded calls, including hidden calls below
    flops: int | None


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
    nodes: list[CallNode] = []
    todo: list[tuple[int, int, bool, int, tuple[bool, ...], bool]] = []

    def push(orders: list[int], guides: tuple[bool, ...], runs: int) -> None:
        shown = [
            (orders[start + k], times, size > 1)
            for start, size, times in repetitions([looks[order] for order in orders], _LONGEST)
            for k in range(size)
        ]
        last = len(shown) - 1
        todo.extend(
            (order, times, in_turn, runs * times, guides, i == last)
            for i, (order, times, in_turn) in reversed(list(enumerate(shown)))
        )

    push(roots, (), 1)
    while todo:
        order, times, in_turn, runs, guides, last = todo.pop()
        row = known[order]
        below = children.get(order, [])
        hidden = bool(below) and depth is not None and row.depth >= depth
        macs, flops = costs[order] if hidden else (row.macs, row.flops)
        nodes.append(
            CallNode(
                row, times, in_turn, guides, last, hidden, _times(macs, runs), _times(flops, runs)
            )
        )
        if below and not hidden:
            push(below, (*guides, not last)[-DEEPEST - 2 :], runs)
    return nodes
