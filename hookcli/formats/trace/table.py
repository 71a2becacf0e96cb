"""The table of a trace: one row per event, in the order in which the hooks fired."""

from __future__ import annotations

from hookcli.formats.parts import page
from hookcli.formats.parts.grid import draw
from hookcli.formats.trace import events as trace_rows
from hookcli.formats.view import View
from hookcli.report.events import EventRow
from hookcli.report.report import Report

_LONG = 60  # events: more than a screen


def render(report: Report, view: View) -> str:
    """Render the model, every event of the view, the totals and the notes, without folding."""
    order = trace_rows.ordered_events(report, view)
    events = order.rows
    dropped: list[str] = []
    table = draw_events(report, view, events, dropped)
    return page.assemble(
        report,
        view,
        [table],
        totals=trace_rows.totals(report, len(events)),
        notes=[
            *trace_rows.notes(report, view, order, dropped=dropped),
            *_shorter(len(events)),
        ],
    )


def draw_events(report: Report, view: View, events: list[EventRow], dropped: list[str]) -> str:
    """Return the table of these events; the columns that do not fit are added to `dropped`."""
    return draw(
        trace_rows.columns(report, view, events),
        events,
        width=view.width,
        give_way=trace_rows.give_way(view, events),
        color=view.color,
        dropped=dropped,
    )


def _shorter(count: int) -> list[str]:
    """Return the note that recommends a tree for a long table."""
    return ["`-f tree` shows the events inside the calls of their modules"] if count > _LONG else []
