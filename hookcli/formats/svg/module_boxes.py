"""The boxes of a diagram of modules: calls of the same module are one box, in that of its caller.

An edge of the report becomes links between neighbours: out of each box that contains its source,
across the innermost box that contains both ends, and into each box that contains its target.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from itertools import pairwise, takewhile
from typing import TypeAlias

from hookcli.formats.view import View
from hookcli.report.edges import EdgeRow
from hookcli.report.report import LayerRow, Report

MOST_BOXES = 60  # of a picture whose depth nobody chose
_MOST_ASKED = 1000  # of one with a chosen depth
_MOST_INSIDE = 60  # of one box; those in the middle are one
_DENSE, _DENSE_FROM = 2, 10  # links for each end, and more, above which they are too many
_APART = 4  # calls of a module without parameters that each have a box

# Ends of links that are not boxes.
INPUT, OUTPUT, MADE = -1, -2, -3
End: TypeAlias = int  # the index of a box, or one of the three
# By a source, its output and a call that got it: the operators on the way.
_Received: TypeAlias = dict[tuple[int | None, str, int], list[tuple[str, ...]]]


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


@dataclass(frozen=True, slots=True)
class ModuleBoxes:
    """The boxes; the first one is the root. `depth` is the deepest level that is shown."""

    boxes: list[ModuleBox]
    depth: int
    deepest: int
    has_edges: bool
    omitted: int  # links that are not shown, because others join their ends


def module_boxes(report: Report, view: View) -> ModuleBoxes | None:
    """Return the boxes that a view shows; None if no module was called."""
    rows = _shown(report, view)
    if not rows:
        return None
    deepest = max(row.depth for row in rows)
    keys = _keys(rows)
    depth = _depth(rows, keys, view.depth, deepest)
    tree = _boxes([row for row in rows if row.depth <= depth], keys)
    _cover(report, rows, tree)
    edges = report.edges
    if edges is not None:
        received: _Received = {}
        for edge in edges:
            if edge.end == "input":
                key = (edge.source, edge.output, edge.target)
                received.setdefault(key, []).append(edge.through)
        for edge in edges:
            _add_edge(tree, edge, received)
    _mark(report, tree)
    omitted = sum(_omit_detours(box) for box in tree.boxes)
    return ModuleBoxes(tree.boxes, depth, deepest, edges is not None, omitted)


def ends_of(box: ModuleBox) -> list[End]:
    """Return the ends of links in a box, from its input to its output, boxes as called."""
    made = [MADE] if any(start == MADE for start, _ in box.links) else []
    return [INPUT, *made, *box.inside, OUTPUT]


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


@dataclass(slots=True)
class _CallTree:
    """The boxes, and those of the calls that are shown: each call's box and caller."""

    boxes: list[ModuleBox] = field(default_factory=list)
    box_of: dict[int, int] = field(default_factory=dict)
    caller: dict[int, int | None] = field(default_factory=dict)
    shown_in: dict[int, int] = field(default_factory=dict)  # by order: the call that shows it


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
) -> int:
    """Return the deepest level whose boxes are not too many."""
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
        total += level[at]
        if total > most and at > 1:
            break
        depth = at
    return depth


def _boxes(rows: Sequence[LayerRow], keys: dict[int, Hashable]) -> _CallTree:
    """Return the boxes and the box of each call; calls without a caller are in the first box."""
    tree = _CallTree()
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
    _join_middles(tree)
    return tree


def _join_middles(tree: _CallTree) -> None:
    """Make one box of those in the middle of a box that contains too many."""
    into: dict[int, int] = {}
    for box in tree.boxes:
        extra = len(box.inside) - _MOST_INSIDE
        if extra <= 0:
            continue
        start = _MOST_INSIDE // 2
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


def _cover(report: Report, rows: Sequence[LayerRow], tree: _CallTree) -> None:
    """Note which call shows each call: itself, or the nearest caller that has a box."""
    matching = {row.order for row in rows}
    for row in report.layers:
        if row.order in tree.box_of:
            tree.shown_in[row.order] = row.order
        elif row.parent in tree.shown_in and row.order in matching:
            tree.shown_in[row.order] = tree.shown_in[row.parent]


def _chain(tree: _CallTree, call: int) -> list[int]:
    """Return a call and its callers, the innermost first."""
    chain, at = [], tree.caller[call]
    chain.append(call)
    while at is not None:
        chain.append(at)
        at = tree.caller[at]
    return chain


def _add_edge(tree: _CallTree, edge: EdgeRow, received: _Received) -> None:
    """Add the links of an edge to the boxes that it crosses."""
    if edge.target not in tree.shown_in:
        return  # the view does not show it
    target = tree.shown_in[edge.target]
    inner = _chain(tree, target)
    leaving = edge.end == "output"
    if leaving and (target != edge.target or not tree.boxes[tree.box_of[target]].inside):
        return  # it stays inside a box
    to: dict[int, End] = {target: OUTPUT} if leaving else {}
    for call, caller in pairwise(inner):
        to[caller] = tree.box_of[call]
    from_: dict[int, End] = {}
    if edge.source is None:
        from_[inner[-1]] = INPUT
    elif edge.source in tree.shown_in:
        source = tree.shown_in[edge.source]
        if source == target and not leaving:
            return  # it stays inside a box
        outer = _chain(tree, source)
        if source == edge.source and tree.boxes[tree.box_of[source]].inside:
            from_[source] = MADE
        for call, caller in pairwise(outer):
            from_[caller] = tree.box_of[call]
    common = next((call for call in to if call in from_), None)
    if common is None:
        return
    _link(tree, common, from_[common], to[common])
    for call in takewhile(lambda call: call != common, from_):
        if from_[call] != MADE:
            _link(tree, call, from_[call], OUTPUT)
    entered = list(takewhile(lambda call: call != common, to))[::-1]
    for call in entered:
        _link(tree, call, INPUT, to[call])
    if not leaving and target != edge.target:
        entered.append(target)
    where, done = common, 0
    for call in entered:  # what ran before the call got the tensor, and what ran in it
        got = received.get((edge.source, edge.output, call), ())
        before = max((len(t) for t in got if edge.through[: len(t)] == t), default=-1)
        if before < 0:
            break
        _note_operators(tree, where, to[where], edge.through[done:before])
        where, done = call, max(before, done)
    if where in to:
        _note_operators(tree, where, to[where], edge.through[done:])


def _note_operators(tree: _CallTree, call: int, end: End, names: Sequence[str]) -> None:
    for name in names:
        tree.boxes[tree.box_of[call]].operators.setdefault(end, {})[name] = None


def _link(tree: _CallTree, call: int, start: End, end: End) -> None:
    if (start, end) == (MADE, OUTPUT):
        return  # what it is made of has links to the output
    if start == end and tree.boxes[start].count > 1:
        return  # between modules that are not shown apart
    tree.boxes[tree.box_of[call]].links[start, end] = None


def _mark(report: Report, tree: _CallTree) -> None:
    """Mark the boxes of calls that raised, and those that findings are about."""
    raised = [row for row in report.layers if any(n.startswith("raised ") for n in row.notes)]
    if raised and raised[-1].order in tree.shown_in:
        tree.boxes[tree.box_of[tree.shown_in[raised[-1].order]]].raised = True
    by_name: dict[str, list[int]] = {}
    for row in report.layers:
        if row.name is not None and row.order in tree.shown_in:
            index = tree.box_of[tree.shown_in[row.order]]
            if index not in by_name.setdefault(row.name, []):
                by_name[row.name].append(index)
    for target, severity in _found(report):
        name = target.partition(":")[0]
        while name and name not in by_name:
            name = name.rpartition(".")[0]
        for index in by_name.get(name, []) if name else ():
            if tree.boxes[index].severity != "error":
                tree.boxes[index].severity = severity


def _found(report: Report) -> Iterator[tuple[str, str]]:
    """Yield the target and the severity of each finding."""
    for row in report.checks:
        if row.status == "fail":
            yield row.target, row.severity
    for item in report.diagnoses or ():
        yield item.target, item.severity
