"""What a diagram of modules shows: boxes, the lines between them, and what is wrong with them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from hookcli.formats.svg.box_links import add_links
from hookcli.formats.svg.call_tree import CallTree, ModuleBox, call_tree
from hookcli.formats.view import View
from hookcli.report.report import Report


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
        if row.status == "fail":
            yield row.target, row.severity
    for item in report.diagnoses or ():
        yield item.target, item.severity
