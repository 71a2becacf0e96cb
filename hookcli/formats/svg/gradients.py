"""The picture of `hookcli grads`: bars of one step, a heat map of several."""

from __future__ import annotations

from hookcli.formats.parts.color_scale import CellKind
from hookcli.formats.svg import gradient_bars, gradient_heat_map, loss_curve, module_diagram
from hookcli.formats.svg.drawing import MARGIN, Drawing, headline
from hookcli.formats.svg.gradient_rows import GradientRows, gradient_rows, what_rows_are
from hookcli.formats.svg.header import lines_of, title_of
from hookcli.formats.view import View
from hookcli.report.report import Report
from hookcli.text import counted

WIDTH = gradient_bars.WIDTH


def render(report: Report, view: View) -> str:
    """Render the gradients of the parameters, in the order of forward."""
    rows = gradient_rows(report, view)
    if report.error is not None and not _measured(rows):
        return module_diagram.render(report, view)  # it shows where the run stopped
    title = title_of(report)
    drawing = Drawing()
    top = headline(drawing, WIDTH, title, lines_of(report, view, description(rows)))
    losses = list(enumerate(report.run.losses)) if len(rows.steps) > 1 else []
    top = loss_curve.draw(drawing, losses, WIDTH, top)
    bottom = draw(drawing, rows, top)
    return drawing.render(WIDTH, bottom + MARGIN / 2, f"{title}: {description(rows)}")


def _kinds(rows: GradientRows) -> set[CellKind]:
    return {cell.kind for row in rows.rows for cell in (row.cell, *row.steps)}


def _measured(rows: GradientRows) -> bool:
    """Whether there is a gradient."""
    return bool(_kinds(rows) - {"unknown", "none", "frozen"})


def _seen(rows: GradientRows) -> bool:
    """Whether it is known of a parameter if it has a gradient."""
    return bool(_kinds(rows) - {"unknown", "frozen"})


def description(rows: GradientRows) -> str:
    """Return what the picture shows, in a sentence."""
    if not rows.rows:
        return "no parameter to show"
    if not _seen(rows):
        return f"no gradient of {what_rows_are(rows)} was measured"
    if len(rows.steps) > 1:
        return f"gradients of {what_rows_are(rows)} in {counted(len(rows.steps), 'step')}"
    return f"gradients of {what_rows_are(rows)}, in the order of forward"


def draw(drawing: Drawing, rows: GradientRows, top: float) -> float:
    """Draw the rows as a heat map, or as bars if there is one step; return the bottom."""
    if not _seen(rows):
        return top
    if len(rows.steps) > 1:
        return gradient_heat_map.draw(drawing, rows, top)
    return gradient_bars.draw(drawing, rows, top)
