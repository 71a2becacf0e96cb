"""The table of a trace: one row per event, in the order in which the hooks fired."""

from __future__ import annotations

from hookcli.formats.parts import page
from hookcli.formats.parts.grid import draw
from hookcli.formats.trace import events as trace_rows
from hookcli.formats.view import View
from hookcli.report.report import Report


def render(report: Report, view: View) -> str:
    """Render the model, every event of the view, the totals and the notes, without folding."""
    events = trace_rows.shown_events(report, view)
    table = draw(
        trace_rows.columns(report, view, events),
        events,
        width=view.width,
        give_way=trace_rows.give_way(view, events),
        color=view.color,
    )
    return page.assemble(
        report,
        view,
        [table],
        totals=trace_rows.totals(report, len(events)),
        notes=trace_rows.notes(report, view, len(events)),
    )
