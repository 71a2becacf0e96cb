"""A training as a tree: all steps of the report, one per line, then the tree of each record."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from hookcli.formats.check.merged import merged
from hookcli.formats.grads import tree as grads_tree
from hookcli.formats.inspect import tree as inspect_tree
from hookcli.formats.parts import page
from hookcli.formats.parts.grid import draw
from hookcli.formats.run import details, facts, findings, table
from hookcli.formats.run.selection import shown_records
from hookcli.formats.run.steps import columns, select_steps
from hookcli.formats.run.summary import non_finite_lines, record_line
from hookcli.formats.trace import tree as trace_tree
from hookcli.formats.view import View
from hookcli.report.report import Report
from hookcli.report.training import TrainingReport

_WIDE = 10_000  # columns: lines are not cut
_BODIES: Mapping[str, Callable[[Report, View], list[str]]] = {
    "grads": grads_tree.body,
    "trace": trace_tree.body,
    "inspect": inspect_tree.body,
}


def render(report: TrainingReport, view: View) -> str:
    """Render the script, the verdict, the records, the findings and the notes."""
    records, inner = shown_records(report, view)
    out = [f"{label}: {text}" for label, text in table.head(report)]
    if text := page.verdict(merged(report), view, width=0):
        out += ["", text]
    for record in records:
        out += ["", *_record(record, inner)]
    out.append("")
    out += non_finite_lines(report, view, width=_WIDE)
    out += page.long_alarms(table.failed(report), view)
    notes = [*findings.notes(report), *table.view_notes(records, inner, every=True)]
    out += page.long_notes(notes, view)
    return page.plain("\n".join(out), view) + "\n"


def _record(record: Report, view: View) -> list[str]:
    rows = select_steps(facts.training_of(record), view, every=True).rows
    steps = draw(columns(rows, view), rows, width=_WIDE, color=view.color)
    body = _BODIES.get(record.command, grads_tree.body)(record, details.own_view(record, view))
    parts = [record_line(record, view, width=_WIDE), steps, "\n".join(body).strip("\n")]
    return "\n\n".join(part for part in parts if part).split("\n")
