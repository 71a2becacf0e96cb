"""The picture of `hookcli run`: for each record the loss by step, and a heat map of gradients."""

from __future__ import annotations

from hookcli.formats.check.merged import merged
from hookcli.formats.svg import gradients, loss_curve
from hookcli.formats.svg.drawing import MARGIN, NORMAL, Drawing, fitting, headline
from hookcli.formats.svg.gradient_rows import gradient_rows
from hookcli.formats.svg.header import lines_of
from hookcli.formats.training import facts
from hookcli.formats.training.selection import shown_records
from hookcli.formats.view import View
from hookcli.report.report import Report
from hookcli.report.training import TrainingReport
from hookcli.text import counted

_MOST = 8  # records
_WIDTH = gradients.WIDTH


def render(report: TrainingReport, view: View) -> str:
    """Render the records that a view shows, below each other."""
    records, inner = shown_records(report, view)
    title = facts.command_line(report.script)
    what = f"{facts.observed(report)}; {facts.ending(report)}"
    drawing = Drawing()
    y = headline(drawing, _WIDTH, title, lines_of(merged(report), view, what))
    for record in records[:_MOST]:
        y = _record(drawing, record, inner, y)
    if len(records) > _MOST:
        more = counted(len(records) - _MOST, "more record")
        drawing.text(MARGIN, y + 12, f"{more} in the report", "muted")
        y += 24
    return drawing.render(_WIDTH, y + MARGIN / 2, f"{title}: {what}")


def _record(drawing: Drawing, record: Report, view: View, top: float) -> float:
    """Draw the name of a record, its figures, its loss and its gradients; return the bottom."""
    room = _WIDTH - 2 * MARGIN
    drawing.line(MARGIN, top, _WIDTH - MARGIN, top, "grid")
    drawing.text(MARGIN, top + 26, fitting(facts.title(record), room), "bold ink")
    rows = gradient_rows(record, view)
    lines = [", ".join(facts.figures(record)), gradients.description(rows)]
    y = top + 26
    for line in lines:
        y += 18
        drawing.text(MARGIN, y, fitting(line, room * NORMAL / 11), "muted")
    steps = facts.training_of(record).steps
    y = loss_curve.draw(drawing, [(row.step, row.loss) for row in steps], _WIDTH, y + 14)
    return gradients.draw(drawing, rows, y + 6) + 12
