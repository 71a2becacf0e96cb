"""The lines between the boxes of a diagram.

An edge of the report becomes links between neighbours: out of each box that contains its source,
across the innermost box that contains both ends, and into each box that contains its target.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise, takewhile
from typing import TypeAlias

from hookcli.formats.svg.call_tree import (
    INPUT,
    MADE,
    OUTPUT,
    CallTree,
    End,
    ModuleBox,
    callers_of,
    ends_of,
)
from hookcli.report.edges import EdgeRow

_DENSE, _DENSE_FROM = 2, 10  # links for each end, and more, above which they are too many

# By a source, its output and a call that got it: the operators on the way.
_Received: TypeAlias = dict[tuple[int | None, str, int], list[tuple[str, ...]]]


def add_links(tree: CallTree, edges: Sequence[EdgeRow]) -> int:
    """Add the links of edges to the boxes that they cross; return how many are not shown.

    These are too many to read, and other links join their ends.
    """
    received: _Received = {}
    for edge in edges:
        if edge.end == "input":
            key = (edge.source, edge.output, edge.target)
            received.setdefault(key, []).append(edge.through)
    for edge in edges:
        _add_edge(tree, edge, received)
    return sum(_omit_detours(box) for box in tree.boxes)


def _starts(tree: CallTree, source: int) -> dict[int, End]:
    """Return where an edge begins in each call that contains its source, the innermost first."""
    shown = tree.shown_in.get(source)
    if shown is None:
        return {}
    starts: dict[int, End] = {}
    if shown == source and tree.boxes[tree.box_of[shown]].inside:
        starts[shown] = MADE
    for call, caller in pairwise(callers_of(tree, shown)):
        starts[caller] = tree.box_of[call]
    return starts


def _finishes(tree: CallTree, edge: EdgeRow) -> dict[int, End]:
    """Return where an edge ends in each call that contains its target, the innermost first."""
    shown = tree.shown_in.get(edge.target)
    if shown is None:
        return {}
    leaving = edge.end == "output"
    if leaving and (shown != edge.target or not tree.boxes[tree.box_of[shown]].inside):
        return {}  # it stays inside a box
    finishes: dict[int, End] = {shown: OUTPUT} if leaving else {}
    for call, caller in pairwise(callers_of(tree, shown)):
        finishes[caller] = tree.box_of[call]
    return finishes


def _contains(tree: CallTree, outer: int, order: int | None) -> bool:
    while order is not None and order > outer:
        order = tree.parent.get(order)
    return order == outer


def _add_edge(tree: CallTree, edge: EdgeRow, received: _Received) -> None:
    """Add the links of an edge to the boxes that it crosses.

    If the view does not show one end, it goes as far as the boxes that contain only the other.
    """
    to = _finishes(tree, edge)
    if edge.source is None:
        from_: dict[int, End] = dict.fromkeys(list(to)[-1:], INPUT)
    else:
        from_ = _starts(tree, edge.source)
        shown = tree.shown_in.get(edge.source)
        if shown is not None and shown == tree.shown_in.get(edge.target) and edge.end == "input":
            return  # it stays inside a box
    common = next((call for call in to if call in from_), None)
    if common is not None:
        _link(tree, common, from_[common], to[common])
    for call in takewhile(lambda call: call != common, from_):
        if common is None and _contains(tree, call, edge.target):
            break
        if from_[call] != MADE:
            _link(tree, call, from_[call], OUTPUT)
    entered = list(takewhile(lambda call: call != common, to))[::-1]
    if common is None:
        entered = [call for call in entered if not _contains(tree, call, edge.source)]
    for call in entered:
        _link(tree, call, INPUT, to[call])
    if common is not None:
        _add_operators(tree, edge, to, (common, entered), received)


def _add_operators(
    tree: CallTree,
    edge: EdgeRow,
    to: dict[int, End],
    crossed: tuple[int, list[int]],
    received: _Received,
) -> None:
    """Note the operators of an edge in the boxes in which they ran.

    `crossed` are the call that contains both ends, and those that the tensor entered below it.
    """
    where, entered = crossed
    if edge.end == "input" and (target := tree.shown_in[edge.target]) != edge.target:
        entered = [*entered, target]
    done = 0
    for call in entered:  # what ran before the call got the tensor, and what ran in it
        got = received.get((edge.source, edge.output, call), ())
        before = max((len(t) for t in got if edge.through[: len(t)] == t), default=-1)
        if before < 0:
            break
        _note_operators(tree, where, to[where], edge.through[done:before])
        where, done = call, max(before, done)
    if where in to:
        _note_operators(tree, where, to[where], edge.through[done:])


def _note_operators(tree: CallTree, call: int, end: End, names: Sequence[str]) -> None:
    for name in names:
        tree.boxes[tree.box_of[call]].operators.setdefault(end, {})[name] = None


def _link(tree: CallTree, call: int, start: End, end: End) -> None:
    if (start, end) == (MADE, OUTPUT):
        return  # what it is made of has links to the output
    if start == end and tree.boxes[start].count > 1:
        return  # between modules that are not shown apart
    tree.boxes[tree.box_of[call]].links[start, end] = None


def _omit_detours(box: ModuleBox) -> int:
    """Remove links whose ends a path of other links joins, if there are too many to read.

    A cache of keys and values, for example, passes all layers. Return how many were removed.
    """
    ends = ends_of(box)
    if len(box.links) <= _DENSE * len(ends) + _DENSE_FROM:
        return 0
    at = {end: i for i, end in enumerate(ends)}
    below: dict[int, list[int]] = {}
    for start, end in box.links:
        if at[start] < at[end]:
            below.setdefault(at[start], []).append(at[end])
    reached: dict[int, set[int]] = {}
    before = len(box.links)
    for start in sorted(below, reverse=True):
        far: set[int] = set()
        for end in sorted(below[start]):
            if end in far:
                del box.links[ends[start], ends[end]]
            far |= {end} | reached.get(end, set())
        reached[start] = far
    return before - len(box.links)
