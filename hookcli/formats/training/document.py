"""The report of a training: for each record its figures, its steps and its parameters."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from hookcli.formats.check import document as check
from hookcli.formats.check.merged import merged
from hookcli.formats.document import common
from hookcli.formats.document.document import Block, Document, Fact, FactsBlock, TableBlock
from hookcli.formats.order import notes as order_notes
from hookcli.formats.parts import compiler, summary
from hookcli.formats.parts.verdict import nothing_in_steps, shown
from hookcli.formats.training import details, facts, findings
from hookcli.formats.training.selection import shown_records
from hookcli.formats.training.steps import GIVE_WAY, columns, select_steps
from hookcli.formats.view import View
from hookcli.report.report import Report
from hookcli.report.steps import StepRow
from hookcli.report.training import TrainingReport


def head(report: TrainingReport) -> list[tuple[str, str]]:
    """Return (label, text) lines about the script and what was observed of it."""
    lines = [
        ("script", f"{facts.command_line(report.script)}  ({facts.ending(report)})"),
        ("steps", facts.observed(report)),
    ]
    if (python := summary.interpreter(report.environment)) is not None:
        lines.append(("python", python))
    if report.compiler is not None:
        lines.append(("compile", compiler.graphs(report.compiler)))
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
        hidden = summary.hidden_rows(len(steps.rows), facts.training_of(record).total, "step")
        lines += [f"{text}: pass `-f json` to see all" for text in hidden]
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


def build(report: TrainingReport, view: View) -> Document:
    """Return the document with the figures, the steps and the tables of each record."""
    if view.only_findings:
        return check.build(merged(report), view, nothing_in_steps(report))
    records, inner = shown_records(report, view)
    blocks: list[Block] = []
    for record in records:
        rows = select_steps(facts.training_of(record), inner).rows
        blocks += [
            facts.section(record),
            steps_table(rows, inner),
            *details.tables(record, inner),
        ]
    return document(report, blocks, view_notes(records, inner))


def document(report: TrainingReport, records: Sequence[Block], notes: Sequence[str]) -> Document:
    """Return the document of a training with the parts of its records and the notes of a view."""
    return Document(
        facts.command_line(report.script),
        (
            FactsBlock([
                Fact(label, text, is_title=i == 0, wraps=True)
                for i, (label, text) in enumerate(head(report))
            ]),
            common.verdict(merged(report), nothing_in_steps(report)),
            *records,
            findings.problems(report),
            common.problems(failed(report)),
        ),
        [*findings.notes(report), *notes],
    )  # fmt: skip


def steps_table(rows: Sequence[StepRow], view: View) -> TableBlock[StepRow]:
    """Return the table of steps."""
    give_way = GIVE_WAY if view.asked is None else ()
    return TableBlock(columns(rows, view), rows, "step", give_way=give_way, selectable=True)
