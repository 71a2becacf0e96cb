"""The picture of `inspect`, `trace` and `check`: modules as nested boxes, tensors as lines."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from hookcli.formats.parts.text import cut, shape
from hookcli.formats.svg.box_links import add_links
from hookcli.formats.svg.call_tree import MADE, OUTPUT, CallTree, End, ModuleBox, call_tree, ends_of
from hookcli.formats.svg.drawing import (
    MARGIN,
    NORMAL,
    SMALL,
    Drawing,
    headline,
    number,
    plain,
    sans_width,
    text_width,
)
from hookcli.formats.svg.header import lines_of, title_of
from hookcli.formats.svg.layered_layout import LayoutNode, Link, Route, layout
from hookcli.formats.view import View
from hookcli.report.report import Report
from hookcli.report.values import Shape
from hookcli.text import counted


@dataclass(frozen=True, slots=True)
class ModuleBoxes:
    """The boxes; the first one is the root. `depth` is the deepest level that is shown.

    `omitted` links are not shown, because others join their ends.
    """

    boxes: list[ModuleBox]
    depth: int
    deepest: int
    has_edges: bool
    omitted: int


def module_boxes(report: Report, view: View) -> ModuleBoxes | None:
    """Return the boxes that a view shows; None if no module was called."""
    tree = call_tree(report, view)
    if tree is None:
        return None
    omitted = 0 if report.edges is None else add_links(tree, report.edges)
    _mark(report, tree)
    return ModuleBoxes(tree.boxes, tree.depth, tree.deepest, report.edges is not None, omitted)


def _mark(report: Report, tree: CallTree) -> None:
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
        if row.status == "fail" and row.severity != "note":
            yield row.target, row.severity
    for item in report.diagnoses or ():
        if item.severity != "note":
            yield item.target, item.severity


_LEAST = 620  # pixels of the picture: the lines above the diagram need room
_BOX = 38  # pixels of the height of a box without boxes inside
_BAR = 26  # of the title of a box with boxes inside
_INSET = 16  # around what is inside
_LONGEST = 30  # characters of a name or type
_NARROWEST = 92  # pixels of a box
_GAP, _SHORT_GAP = 34, 14  # between layers, with and without lines
_PILL = 20  # pixels of the height of the operators at an output
_BESIDE, _BEFORE = 14, 8  # pixels at the start and the end of a line that are straight
_STRAIGHT = 0.5  # pixels from side to side that are not seen
_OUTSIDE = 34  # pixels of the lines of the batch and the output
_MADE = "made in forward"
_MOST_OPERATORS = 3
_WIDE_SHAPE = 4  # sizes, above which a shape has no blanks
_TIP = 4.0  # half of an arrowhead


def render(report: Report, view: View) -> str:
    """Render the modules that ran, as deep as about 60 boxes allow, or as the view's depth."""
    title = title_of(report)
    tree = module_boxes(report, view)
    what = description(report, tree)
    drawing = Drawing()
    diagram = _Drawn(Drawing(), 0, 0, 0, 0) if tree is None else _diagram(tree)
    width = max(diagram.width + 2 * MARGIN, _LEAST)
    top = headline(drawing, width, title, lines_of(report, view, what))
    drawing.extend(diagram.drawing, max((width - diagram.width) / 2, MARGIN), top)
    bottom = top + diagram.height
    if tree is not None:
        bottom = _legend(drawing, tree, bottom + 18)
    return drawing.render(width, bottom + MARGIN, f"{title}: {what}")


def _legend(drawing: Drawing, tree: ModuleBoxes, top: float) -> float:
    """Draw what the colours mean that occur; return the bottom."""
    leaves = [box for box in tree.boxes if not box.inside and box.count == 1]
    entries = [
        ("box learns", "has parameters", any(_learns(box) for box in leaves)),
        ("box", "has none", any(not _learns(box) for box in leaves)),
        ("pill", "operators outside of modules", any(OUTPUT in b.operators for b in tree.boxes)),
    ]
    x: float = MARGIN
    for style, text, occurs in entries:
        if occurs:
            drawing.rect(x, top, 18, 12, style, more='rx="3"')
            drawing.text(x + 24, top + 10, text, "small muted")
            x += 24 + sans_width(text, SMALL) + 18
    return top + 12


def _learns(box: ModuleBox) -> bool:
    return box.count == 1 and bool(box.row.own_parameters or box.row.parameters)


def description(report: Report, tree: ModuleBoxes | None) -> str:
    """Return what the picture shows, in a sentence."""
    if tree is None:
        return "no module was called" if not report.layers else "no module matches"
    deeper = f", down to level {tree.depth} of {tree.deepest}" if tree.depth < tree.deepest else ""
    shown = len({box.row.name for box in tree.boxes}) + sum(box.count - 1 for box in tree.boxes)
    every = len({row.name for row in report.layers})
    which = f"{shown:,} of {every:,} modules" if shown < every else counted(every, "module")
    text = f"{which} that ran{deeper}"
    if not tree.has_edges:
        text += "; the report has no edges: boxes are in the order of the calls"
    if tree.omitted:
        text += f"; {counted(tree.omitted, 'line')} beside others omitted"
    if report.uncalled:
        text += f"; {counted(len(report.uncalled), 'module was', 'modules were')} not called"
    return text


@dataclass(slots=True)
class _Drawn:
    """A box with all that is in it. Lines enter and leave so far from its left edge."""

    drawing: Drawing
    width: float
    height: float
    enter: float
    leave: float


def _diagram(tree: ModuleBoxes) -> _Drawn:
    """Return the root's box with the batch above it and the output below it."""
    root = _box(tree, 0, 0)
    if not tree.has_edges:
        return root
    drawing = Drawing()
    bottom = _OUTSIDE + root.height
    drawing.extend(root.drawing, 0, _OUTSIDE)
    row = tree.boxes[0].row
    widest = root.width
    for x, y, leaves in ((root.enter, 0.0, row.inputs), (root.leave, bottom, row.outputs)):
        if leaves:
            text = _shapes(leaf.shape for leaf in leaves)
            drawing.line(x, y, x, y + _OUTSIDE - 3, "edge")
            _arrow(drawing, x, y + _OUTSIDE, "tip")
            drawing.text(x + 8, y + 15, text, "mono small muted")
            widest = max(widest, x + 8 + text_width(text, SMALL))
    return _Drawn(drawing, widest, bottom + _OUTSIDE, root.enter, root.leave)


def _box(tree: ModuleBoxes, index: int, level: int) -> _Drawn:
    box = tree.boxes[index]
    return _group(tree, box, level) if box.inside else _leaf(tree, box)


def _leaf(tree: ModuleBoxes, box: ModuleBox) -> _Drawn:
    """Return a box with two lines of text."""
    name, kind = _name(tree, box), _kind(box)
    width = max(text_width(name, NORMAL), text_width(kind, SMALL)) + 24
    width = max(round(width), _NARROWEST)
    drawing = Drawing()
    style = "box learns" if _learns(box) else "box"
    style = "box failed" if box.raised else style
    drawing.rect(0, 0, width, _BOX, style, more='rx="6"', tip=_tip(box))
    drawing.text(width / 2, 16, name, "mono bold ink", anchor="middle", tip=_tip(box))
    drawing.text(width / 2, 30, kind, "mono small muted", anchor="middle")
    _badge(drawing, box, width)
    return _Drawn(drawing, width, _BOX, width / 2, width / 2)


def _group(tree: ModuleBoxes, box: ModuleBox, level: int) -> _Drawn:
    """Return a box with a bar for its title, and the boxes inside."""
    drawn = {index: _box(tree, index, level + 1) for index in box.inside}
    ends = ends_of(box)
    at = {end: i for i, end in enumerate(ends)}
    labels = _labels(tree, box, at)
    operators = {end: _operators(box.operators[end]) for end in box.operators}
    nodes = [
        _node(end, drawn.get(end), labels.get(end, ""), operators.get(end, "")) for end in ends
    ]
    links = {(at[a], at[b]): None for a, b in box.links}
    unseen = _unseen(tree, links, len(ends))
    placed = layout(nodes, [*links, *unseen], gap=_GAP if tree.has_edges else _SHORT_GAP)
    title, kind = _name(tree, box), _kind(box)
    least = text_width(title, NORMAL) + text_width(kind, SMALL) + 36
    width = max(round(placed.width + 2 * _INSET), round(least), _NARROWEST)
    dx = (width - placed.width) / 2
    pill = nodes[-1].height > 0
    height = round(_BAR + placed.height + (10 if pill else 0))
    drawing = Drawing()
    frame = "failed" if box.raised else ("group" if level % 2 else "group2")
    drawing.rect(0, 0, width, height, frame, more='rx="8"', tip=_tip(box))
    drawing.line(0, _BAR, width, _BAR, "grid")
    drawing.text(12, 17, title, "mono bold ink", tip=_tip(box))
    drawing.text(12 + text_width(title, NORMAL) + 10, 17, kind, "mono small muted")
    _badge(drawing, box, width)
    content = Drawing()
    for link, route in placed.routes.items():
        if link in links:
            start, end = ends[link[0]], ends[link[1]]
            _line(content, route, label=start in labels, arrow=end != OUTPUT or pill)
    for i, end in enumerate(ends):
        x, y = placed.corners[i]
        if end >= 0:
            content.extend(drawn[end].drawing, x, y)
        _beside(content, (x, y), nodes[i], labels.get(end, ""), operators.get(end, ""), end)
    drawing.extend(content, dx, _BAR)
    last_x = dx + placed.corners[-1][0] + nodes[-1].leave
    if pill:
        drawing.line(last_x, height - 10, last_x, height, "edge")
    return _Drawn(drawing, width, height, dx + placed.corners[0][0] + nodes[0].enter, last_x)


def _labels(tree: ModuleBoxes, box: ModuleBox, at: Mapping[End, int]) -> dict[End, str]:
    """Return the shapes of what boxes return, at lines that go down.

    What the outer box only passes on is at the line out of that.
    """
    labels: dict[End, str] = {}
    passed_on = "" if OUTPUT in box.operators else _shapes(leaf.shape for leaf in box.row.outputs)
    for start, end in box.links:
        if start < 0 or at[end] <= at[start] or tree.boxes[start].count > 1:
            continue
        text = _shapes(leaf.shape for leaf in tree.boxes[start].row.outputs)
        if end != OUTPUT or text != passed_on:
            labels[start] = text
    return labels


def _node(end: End, drawn: _Drawn | None, label: str, operators: str) -> LayoutNode:
    """Return the size of what is drawn for an end, with the text beside its lines."""
    if end == OUTPUT and operators:
        width = text_width(operators, SMALL) + 18
        return LayoutNode(width, _PILL, width / 2, width / 2)
    if end == MADE:
        width = text_width(_MADE, SMALL) + 18
        return LayoutNode(width, _PILL, width / 2, width / 2)
    if drawn is None:
        return LayoutNode(0.0, 0.0, 0.0, 0.0)
    reach = drawn.leave + 8 + text_width(label, SMALL) if label else 0.0
    if operators:
        reach = max(reach, drawn.enter + 8 + text_width(operators, SMALL))
    return LayoutNode(drawn.width, drawn.height, drawn.enter, drawn.leave, reach)


def _unseen(tree: ModuleBoxes, links: Iterable[Link], count: int) -> list[Link]:
    """Return links that only place a node below the one before it.

    These nodes are modules that no tensor is known to enter or leave.
    """
    linked = {i for link in links for i in link} if tree.has_edges else set()
    return [(i - 1, i) for i in range(1, count) if i not in linked]


def _line(drawing: Drawing, route: Route, *, label: bool, arrow: bool) -> None:
    """Draw a line from box to box, straight at its end and beside the `label` at its start."""
    if route.returns:
        _loop(drawing, route)
        return
    (x, top, bottom), *rest = route.points
    bottom += _BESIDE if label else 0
    parts = [f"M{number(x)} {number(top)}"]
    for i, (next_x, next_top, next_bottom) in enumerate(rest):
        ends = i == len(rest) - 1
        next_top -= _BEFORE if ends else 0
        middle = number((bottom + next_top) / 2)
        if abs(next_x - x) < _STRAIGHT:
            next_x = x if not ends else next_x
        else:
            parts.append(f"V{number(bottom)}")
            parts.append(
                f"C{number(x)} {middle} {number(next_x)} {middle} "
                f"{number(next_x)} {number(next_top)}"
            )
        x, bottom = next_x, next_bottom
    parts.append(f"V{number(bottom)}")
    drawing.path("".join(parts), "edge")
    if arrow:
        _arrow(drawing, x, bottom, "tip")


def _loop(drawing: Drawing, route: Route) -> None:
    """Draw a line back to the same or an earlier box, on the right of what is between."""
    (x0, y0, _), (x1, y1, _) = route.points
    right = route.right
    r = min(8.0, abs(y0 - y1) / 2, right - max(x0, x1))
    drawing.path(
        f"M{number(x0)} {number(y0)}H{number(right - r)}"
        f"Q{number(right)} {number(y0)} {number(right)} {number(y0 - r)}"
        f"V{number(y1 + r)}Q{number(right)} {number(y1)} {number(right - r)} {number(y1)}"
        f"H{number(x1 + 4)}",
        "loop",
    )
    drawing.path(f"M{number(x1)} {number(y1)}l7 {number(-_TIP)}v{number(2 * _TIP)}z", "looptip")


def _arrow(drawing: Drawing, x: float, y: float, style: str) -> None:
    drawing.path(f"M{number(x)} {number(y)}l{number(-_TIP)} -7h{number(2 * _TIP)}z", style)


def _beside(
    drawing: Drawing,
    corner: tuple[float, float],
    node: LayoutNode,
    label: str,
    operators: str,
    end: End,
) -> None:
    """Draw the operators at the line into a node, and the shape at the line out of it."""
    x, y = corner
    text = operators if end == OUTPUT else _MADE if end == MADE else ""
    if text:
        drawing.rect(x, y, node.width, _PILL, "pill", more='rx="10"')
        drawing.text(x + node.width / 2, y + 14, text, "mono small ink", anchor="middle")
    elif operators:
        drawing.text(x + node.enter + 8, y - 5, operators, "mono small ink")
    if label and end >= 0:
        drawing.text(x + node.leave + 7, y + node.height + 13, label, "mono small muted")


def _badge(drawing: Drawing, box: ModuleBox, width: float) -> None:
    """Draw the mark of a box that raised, or that a finding is about, at its corner."""
    if not box.raised and not box.severity:
        return
    style = "mindfill" if box.severity == "warning" and not box.raised else "wrongfill"
    drawing.add(f'<circle cx="{number(width - 2)}" cy="2" r="8" class="{style}"/>')
    mark = "×" if box.raised else "!"
    drawing.text(width - 2, 6, mark, "small bold onfill", anchor="middle")


def _name(tree: ModuleBoxes, box: ModuleBox) -> str:
    """Return the name without that of the box around it, and how often the module was called."""
    times = f" ×{box.calls}" if box.calls > 1 and box.count == 1 else ""
    if box.count > 1:
        return f"… {box.count:,} modules"
    name = box.row.name
    if name == "":
        return cut(plain(box.row.type), _LONGEST) + times
    if name is None:
        return cut(f"({plain(box.row.type)})", _LONGEST) + times
    outer = None if box.parent is None else tree.boxes[box.parent].row.name
    name = name.removeprefix(f"{outer}.") if outer else name
    return cut(plain(name), _LONGEST) + times


def _kind(box: ModuleBox) -> str:
    """Return the type, and how many parameters the module has."""
    if box.count > 1:
        return "not shown apart"
    kind = cut(plain(box.row.type), _LONGEST)
    kind = f"raised in {kind}" if box.raised else kind
    if box.row.name == "":
        return counted(box.row.parameters, "parameter") if box.row.parameters else ""
    return f"{kind} · {compact(box.row.parameters)}" if box.row.parameters else kind


def compact(count: int) -> str:
    """Return a number of parameters in few digits: 9,408, 23.5M, 1.1B."""
    for unit, factor in (("B", 10**9), ("M", 10**6), ("k", 10**4)):
        if count >= factor:
            part = 1000 if unit == "k" else factor
            return f"{count / part:.3g}{unit}"
    return f"{count:,}"


def _tip(box: ModuleBox) -> str:
    row = box.row
    if box.count > 1:
        return f"{box.count:,} modules, the first is {row.name or row.type}"
    name = "the model" if row.name == "" else row.name or "not registered"
    called = f", called {box.calls} times" if box.calls > 1 else ""
    where = f", {row.place}" if row.place else ""
    return f"{name}: {row.type}{called}{where}"


def _shapes(shapes: Iterable[Shape]) -> str:
    """Return the first shape, and how many others there are."""
    known = list(dict.fromkeys(shapes))
    if not known:
        return ""
    more = f" +{len(known) - 1}" if len(known) > 1 else ""
    return cut(shape(known[0], tight=len(known[0]) > _WIDE_SHAPE), _LONGEST) + more


def _operators(names: Iterable[str]) -> str:
    known = [plain(name) for name in names]
    more = f" +{len(known) - _MOST_OPERATORS}" if len(known) > _MOST_OPERATORS else ""
    return cut(", ".join(known[:_MOST_OPERATORS]), _LONGEST) + more
