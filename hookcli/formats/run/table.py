"""The table of a training: for each record its figures, its steps and its parameters."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence

from hookcli.formats.check.merged import merged
from hookcli.formats.order import notes as order_notes
from hookcli.formats.parts import page, summary
from hookcli.formats.parts.grid import draw
from hookcli.formats.parts.style import Style, paint
from hookcli.formats.parts.text import place
from hookcli.formats.parts.verdict import shown
from hookcli.formats.run import details, facts, findings
from hookcli.formats.run.selection import shown_records
from hookcli.formats.run.steps import GIVE_WAY, columns, select_steps
from hookcli.formats.run.summary import non_finite_lines, note_line, record_line
from hookcli.formats.view import View
from hookcli.report.report import Report
from hookcli.report.training import TrainingReport


def head(report: TrainingReport) -> list[tuple[str, str]]:
    """Return (label, text) lines about the script and what was observed of it."""
    lines = [
        ("script", f"{facts.command_line(report.script)}  ({facts.ending(report)})"),
        ("steps", facts.observed(report)),
    ]
    if (python := summary.interpreter(report.environment)) is not None:
        lines.append(("python", python))
    return lines


def view_notes(records: Sequence[Report], view: View, *, every: bool = False) -> list[str]:
    """Return the notes about the rows that a view shows and leaves out; each names its record.

    A note that holds for all records names none. `every`: all steps of the report are shown.
    """
    named: dict[str, list[str]] = {}
    for record in records:
        for note in _record_notes(record, view, every=every):
            named.setdefault(note, []).append(facts.title(record))
    return [
        note if len(names) == len(records) else f"{', '.join(names)}: {note}"
        for note, names in named.items()
    ]


def _record_notes(record: Report, view: View, *, every: bool) -> list[str]:
    steps = select_steps(facts.training_of(record), view, every=every)
    rows, flow = details.parameters(record, view), details.layers(record, view)
    lines = [] if every else details.step_notes(record, view)
    if steps.rows:
        lines += summary.hidden_rows(len(steps.rows), facts.training_of(record).total, "step")
    if view.only is not None and record.command == "grads":
        if rows.rows:
            lines += summary.hidden_rows(len(rows.rows), len(record.parameters), "parameter")
        elif not flow.rows:
            lines.append(summary.no_match("name", "--only", view.only))
    lines += order_notes(view.sort, steps, rows, flow)
    return [*lines, *details.event_notes(record, view, every=every)]


def failed(report: TrainingReport) -> list[tuple[str, str]]:
    """Return the checks that failed or were not judged, without those that the verdict tells."""
    whole = merged(report)
    told = {name for diagnosis in shown(whole) for name in diagnosis.fingerprints}
    rest = tuple(row for row in whole.checks if row.fingerprint not in told)
    return summary.failed(dataclasses.replace(whole, checks=rest))


def render(report: TrainingReport, view: View) -> str:
    """Render the script, the verdict, the records, the findings and the notes."""
    records, inner = shown_records(report, view)
    dropped: list[str] = []
    parts = ["\n".join(_head(report, view)), page.verdict(merged(report), view)]
    for record in records:
        parts += _record(record, inner, dropped)
    wrong = [page.labelled(a, b, view, page.alarm_style(a)) for a, b in failed(report)]
    parts += ["\n".join(non_finite_lines(report, view)), "\n".join(wrong)]
    notes = [
        *findings.notes(report), *view_notes(records, inner), *summary.unfit(dropped)
    ]  # fmt: skip
    parts.append("\n".join(note_line(note, view) for note in notes))
    return page.plain("\n\n".join(part for part in parts if part), view) + "\n"


def _head(report: TrainingReport, view: View) -> Iterator[str]:
    for i, (label, text) in enumerate(head(report)):
        line = page.wrapped(f"{label:<7}{text}", view.width, indent=7)
        yield paint(line, Style.TITLE, color=view.color) if i == 0 else line


def _record(record: Report, view: View, dropped: list[str]) -> list[str]:
    """Return the parts of a record: its figures, its steps, and the tables of its preset."""
    where = f"\n  --> {place(record.model.place)}" if record.model.place else ""
    rows = select_steps(facts.training_of(record), view).rows
    steps = draw(
        columns(rows, view),
        rows,
        width=view.width,
        give_way=GIVE_WAY if view.asked is None else (),
        color=view.color,
        dropped=dropped,
    )
    return [record_line(record, view) + where, steps, *details.tables(record, view, dropped)]
