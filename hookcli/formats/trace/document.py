"""The report of a trace: a table with one row per event, in the order in which the hooks fired."""

from __future__ import annotations

from hookcli.formats.document import common
from hookcli.formats.document.document import Document, TableBlock
from hookcli.formats.trace import events as trace_rows
from hookcli.formats.view import View
from hookcli.report.events import EventRow
from hookcli.report.report import Report


def table(
    report: Report, view: View, events: list[EventRow], *, advice: str = ""
) -> TableBlock[EventRow]:
    """Return the table of these events."""
    return TableBlock(
        trace_rows.columns(report, view, events),
        events,
        "event",
        give_way=trace_rows.give_way(view, events),
        selectable=True,
        advice=advice,
    )


def build(report: Report, view: View) -> Document:
    """Return the document with every event of the view, without folding."""
    order = trace_rows.ordered_events(report, view)
    advice = "`-f tree` shows the events inside the calls of their modules"
    return common.document(
        report,
        view,
        [table(report, view, order.rows, advice=advice)],
        totals=trace_rows.totals(report, len(order.rows)),
        notes=trace_rows.notes(report, view, order),
    )
