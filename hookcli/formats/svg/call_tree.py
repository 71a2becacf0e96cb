"""The boxes of a diagram: calls of the same module are one box, in that of its caller."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import TypeAlias

from hookcli.formats.view import View
from hookcli.report.report import LayerRow, Report

MOST_BOXES = 60  # of a picture whose depth nobody chose
_MOST_ASKED = 1000  # of one with a chosen depth
_MOST_INSIDE = 60  # of one box; those in the middle are one
_FEW = 8  # boxes that are too few for a picture
_APART = 4  # calls of a module without parameters that each have a box

# Ends of links that are not boxes.
INPUT, OUTPUT, MADE = -1, -2, -3
End: TypeAlias = int  # the index of a box, or one of the three


@dataclass(slots=True)
class ModuleBox:
    """A module, or `count` neighbouring ones that are not shown apart.

    `links` are between what is inside: from the box's input, to its output, or from what the
    operators of its own forward made. `operators` ran on the way to an end, in no module.
    """

    row: LayerRow
    parent: int | None
    calls: int = 0
    count: int = 1
    inside: list[int] = field(default_factory=list)
    links: dict[tuple[End, End], None] = field(default_factory=dict)
    operators: dict[End, dict[str, None]] = field(default_factory=dict)
    raised: bool = False
    severity: str = ""  # of the worst finding about it: "error", "warning" or ""


def ends_of(box: ModuleBox) -> list[End]:
    """Return the ends of links in a box, from its input to its output, boxes as called."""
    made = [MADE] if any(start == MADE for start, _ in box.links) else []
    return [INPUT, *made, *box.inside, OUTPUT]


@dataclass(slots=True)
class CallTree:
    """The boxes, the root first, and those of the calls that are shown: each call's box and caller.

    `depth` is the deepest level that is shown, `deepest` that of all calls.
    """

    boxes: list[ModuleBox] = field(default_factory=list)
    box_of: dict[int, int] = field(default_factory=dict)
    caller: dict[int, int | None] = field(default_factory=dict)
    shown_in: dict[int, int] = field(default_factory=dict)  # by order: the call that shows it
    parent: dict[int, int | None] = field(default_factory=dict)  # also of calls that are not shown
    depth: int = 0
    deepest: int = 0


def call_tree(report: Report, view: View) -> CallTree | None:
    """Return the boxes that a view shows, without links; None if no module was called."""
    rows = _shown(report, view)
    if not rows:
        return None
    deepest = max(row.depth for row in rows)
    keys = _keys(rows)
    depth, most = _depth(rows, keys, view.depth, deepest)
    tree = _boxes([row for row in rows if row.depth <= depth], keys)
    _join_middles(tree, min(most, _MOST_INSIDE))
    _cover(report, tree)
    tree.depth, tree.deepest = depth, deepest
    return tree


def _shown(report: Report, view: View) -> list[LayerRow]:
    """Return the calls that match `only`, with their callers."""
    rows = [row for row in report.layers if not row.recomputed]
    if view.only is None:
        return rows
    by_order = {row.order: row for row in rows}
    kept = set[int]()
    for row in rows:
        if fnmatchcase(row.name or "", view.only):
            at: int | None = row.order
            while at is not None and at not in kept and at in by_order:
                kept.add(at)
                at = by_order[at].parent
    return [row for row in rows if row.order in kept]


def _keys(rows: Sequence[LayerRow]) -> dict[int, Hashable]:
    """Return what identifies the box of a call among those of its caller.

    A module without parameters that a caller calls a few times, such as an activation, has a box
    for each of these calls: they are different steps of the computation.
    """
    callers = {row.parent for row in rows}
    turn: Counter[tuple[int | None, Hashable]] = Counter()
    turns: dict[int, int] = {}
    most: Counter[Hashable] = Counter()
    for row in rows:
        name: Hashable = row.name if row.name is not None else (row.type, row.place)
        turns[row.order] = turn[row.parent, name]
        turn[row.parent, name] += 1
        most[name] = max(most[name], turn[row.parent, name])
        if row.order in callers or (row.name is not None and row.parameters != 0):
            most[name] = _APART + 1
    keys: dict[int, Hashable] = {}
    for row in rows:
        name = row.name if row.name is not None else (row.type, row.place)
        keys[row.order] = (name, turns[row.order] if most[name] <= _APART else 0)
    return keys


def _depth(
    rows: Sequence[LayerRow], keys: dict[int, Hashable], asked: int | None, deepest: int
) -> tuple[int, int]:
    """Return the deepest level whose boxes are not too many, and how many may be in one box.

    If a level has very few boxes, and the next one too many, that one is shown in part.
    """
    limit = deepest if asked is None else min(asked, deepest)
    most = MOST_BOXES if asked is None else _MOST_ASKED
    paths: dict[int, int] = {}
    known: dict[tuple[int | None, Hashable], int] = {}
    level: Counter[int] = Counter()
    for row in rows:
        parent = None if row.parent is None else paths.get(row.parent)
        key = (parent, keys[row.order])
        if key not in known:
            known[key] = len(known)
            level[row.depth] += 1
        paths[row.order] = known[key]
    depth, total = 0, level[0]
    for at in range(1, limit + 1):
        if total + level[at] > most:
            return (at, most // total) if total < _FEW else (depth, _MOST_INSIDE)
        depth, total = at, total + level[at]
    return depth, _MOST_INSIDE


def _boxes(rows: Sequence[LayerRow], keys: dict[int, Hashable]) -> CallTree:
    """Return the boxes and the box of each call; calls without a caller are in the first box."""
    tree = CallTree()
    boxes = tree.boxes
    known: dict[tuple[int | None, Hashable], int] = {}
    for row in rows:
        parent = None if row.parent is None else tree.box_of.get(row.parent)
        again = parent is None and bool(boxes) and row.name == boxes[0].row.name
        if parent is None and boxes and not again:
            parent = 0
        key = (parent, keys[row.order])
        if again:
            known[key] = 0
        elif key not in known:
            known[key] = len(boxes)
            boxes.append(ModuleBox(row, parent))
            if parent is not None:
                boxes[parent].inside.append(known[key])
        tree.box_of[row.order] = known[key]
        tree.caller[row.order] = row.parent if row.parent in tree.box_of else None
        boxes[known[key]].calls += 1
    return tree


def _join_middles(tree: CallTree, most: int) -> None:
    """Make one box of those in the middle of a box that contains too many."""
    into: dict[int, int] = {}
    for box in tree.boxes:
        extra = len(box.inside) - most
        if extra <= 0:
            continue
        start = most // 2
        middle = box.inside[start : start + extra + 1]
        del box.inside[start + 1 : start + extra + 1]
        for index in middle:
            into[index] = middle[0]
            tree.boxes[index].inside = []
        tree.boxes[middle[0]].count = len(middle)
    hidden = set[int]()
    for order in list(tree.box_of):
        caller = tree.caller[order]
        if caller in hidden or (caller is not None and tree.box_of[caller] in into):
            hidden.add(order)
    for order in hidden:
        del tree.box_of[order], tree.caller[order]
    for order, index in tree.box_of.items():
        tree.box_of[order] = into.get(index, index)


def _cover(report: Report, tree: CallTree) -> None:
    """Note which call shows each call: itself, or the nearest caller if that is not opened."""
    opened = set(tree.caller.values())
    for row in report.layers:
        tree.parent[row.order] = row.parent
        if row.order in tree.box_of:
            tree.shown_in[row.order] = row.order
        elif row.parent in tree.shown_in and tree.shown_in[row.parent] not in opened:
            tree.shown_in[row.order] = tree.shown_in[row.parent]


def callers_of(tree: CallTree, call: int) -> list[int]:
    """Return a call and its callers, the innermost first."""
    chain, at = [call], tree.caller[call]
    while at is not None:
        chain.append(at)
        at = tree.caller[at]
    return chain
