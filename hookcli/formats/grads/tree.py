"""Gradients as a tree: modules with the norm over all their parameters, then parameters."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field

from hookcli.console import escape
from hookcli.formats.document import common
from hookcli.formats.document.document import Document, TreeBlock
from hookcli.formats.grads import document, parameters
from hookcli.formats.inspect.fold import DEEPEST
from hookcli.formats.order import Ordered, measured
from hookcli.formats.parts.bars import Scale
from hookcli.formats.parts.style import Style, number_style, paint, status_style
from hookcli.formats.parts.text import figure, shape
from hookcli.formats.view import View
from hookcli.report.report import ParameterRow, Report

_WIDEST = 1000  # characters to which lines are padded


@dataclass(slots=True)
class Branch:
    """A module with its submodules and parameters, by the last part of their names."""

    branches: dict[str, Branch] = field(default_factory=dict)
    leaves: list[tuple[str, ParameterRow]] = field(default_factory=list)
    squares: float | None = None  # of all norms below, None without a gradient
    kind: str | None = None  # the module's type, None if not known

    def add(self, parts: list[str], row: ParameterRow) -> None:
        """Add a parameter to its module."""
        norm = measured(parameters.stat(row.grad, "norm"))
        branch = self
        for part in (*parts[:-1], None):
            if norm is not None:
                branch.squares = (branch.squares or 0.0) + norm * norm
            if part is not None:
                branch = branch.branches.setdefault(part, Branch())
        branch.leaves.append((parts[-1], row))

    def find(self, parts: list[str]) -> Branch | None:
        """Return the module at this path, or None."""
        branch: Branch | None = self
        for part in parts:
            if branch is None:
                return None
            branch = branch.branches.get(part)
        return branch

    def norm(self) -> str:
        """Return the norm over all parameters below."""
        return "–" if self.squares is None else figure(math.sqrt(self.squares))


@dataclass(frozen=True, slots=True)
class GradientLine:
    """A module, or a parameter with its row."""

    label: str
    norm: str
    row: ParameterRow | None = None
    guides: int = 0  # characters of the label


def _guides(above: str) -> str:
    """Return the guides of the innermost levels: all of them would take the depth squared."""
    return above if len(above) <= 3 * DEEPEST else f"…{above[1 - 3 * DEEPEST :]}"


def _lines(root: Branch, *, unicode: bool) -> Iterator[GradientLine]:
    """Yield all lines below the root, with their guides."""
    bar, tee, end = ("│  ", "├─ ", "└─ ") if unicode else ("|  ", "|- ", "`- ")
    todo: list[tuple[str, str, ParameterRow | Branch, bool]] = []

    def push(branch: Branch, above: str) -> None:
        below: list[tuple[str, ParameterRow | Branch]] = [*branch.leaves, *branch.branches.items()]
        todo.extend((above, part, child, i == 0) for i, (part, child) in enumerate(reversed(below)))

    push(root, "")
    while todo:
        above, part, child, last = todo.pop()
        guides = above + (end if last else tee)
        start = guides + escape(part)
        if isinstance(child, Branch):
            kind = "" if child.kind is None else f" ({escape(child.kind)})"
            yield GradientLine(start + kind, child.norm(), None, len(guides))
            push(child, _guides(above + ("   " if last else bar)))
        else:
            norm = figure(parameters.stat(child.grad, "norm"))
            yield GradientLine(f"{start} {shape(child.shape)}", norm, child, len(guides))


def body(report: Report, view: View) -> list[str]:
    """Return the lines of the tree."""
    rows = parameters.select_rows(report, view).rows
    if not rows:
        return []
    root = Branch()
    types = {row.name: row.type for row in report.layers if row.name is not None}
    for row in rows:
        root.add(row.name.split("."), row)
        types.setdefault(row.name.rpartition(".")[0], row.module_type)
    for name, kind in types.items():
        module = root.find(name.split("."))
        if module is not None:
            module.kind = kind
    title = escape(report.model.type or report.model.source)
    drawn = [GradientLine(title, root.norm()), *_lines(root, unicode=view.unicode)]
    wide = min(max(len(line.label) for line in drawn), _WIDEST)
    most = max(len(line.norm) for line in drawn)
    scale = Scale.over((parameters.stat(row.grad, "norm") for row in rows), unicode=view.unicode)
    norm_style = parameters.norm_style(rows)
    out = []
    for line in drawn:
        label = _painted_label(line, wide, view)
        style = number_style(line.norm) or (None if line.row is None else norm_style(line.row))
        norm = paint(f"{line.norm:>{most}}", style, color=view.color)
        more = "" if line.row is None else _more(line.row, scale, view)
        out.append(f"{label}  {norm}  {more}".rstrip())
    return out


def build(report: Report, view: View) -> Document:
    """Return the document with the tree."""
    order = parameters.select_rows(report, view)
    return common.document(
        report,
        view,
        [TreeBlock(body(report, view))],
        totals=document.totals(report),
        notes=document.notes(report, view, order, Ordered([])),
        alarms=document.alarms(report),
    )


def _painted_label(line: GradientLine, width: int, view: View) -> str:
    """Return the label: guides are faint, a parameter without a good gradient is highlighted."""
    style = None if line.row is None else parameters.name_style(line.row)
    text = f"{line.label:<{width}}"
    guides = paint(text[: line.guides], Style.FAINT, color=view.color)
    return guides + paint(text[line.guides :], style, color=view.color)


def _more(row: ParameterRow, scale: Scale, view: View) -> str:
    """Return the bar and the status of a parameter."""
    status = paint(parameters.status(row), status_style(row.status), color=view.color)
    return f"{scale.bar(parameters.stat(row.grad, 'norm'))}  {status}"
