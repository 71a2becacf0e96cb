"""The page of a training script: the run, and the tables of each record."""

from __future__ import annotations

from collections.abc import Sequence

from hookcli.console import escape
from hookcli.formats.check.merged import merged
from hookcli.formats.html.data.record import record
from hookcli.formats.html.data.references import NOTHING, References
from hookcli.formats.html.data.run import record_index, record_of_check, run
from hookcli.formats.html.page import Finding, Header, write_page
from hookcli.formats.html.plain_tables import plain_tables
from hookcli.formats.html.report_page import MOST, more_findings, of_check, of_diagnosis, verdict
from hookcli.formats.parts.verdict import nothing_in_steps
from hookcli.formats.training.document import head
from hookcli.formats.training.facts import training_of
from hookcli.formats.training.findings import notes
from hookcli.formats.view import View
from hookcli.report.report import Report
from hookcli.report.training import TrainingReport


def render(report: TrainingReport, view: View) -> str:
    """Return the page of a training; the view selects nothing, as the page has filters."""
    whole = merged(report)
    references = [References(row) for row in report.records]
    data = {
        "kind": "run",
        "run": run(report, whole, references),
        "records": [record(row, training_of(row).record) for row in report.records],
    }
    return write_page(
        "training.js",
        _header(report, whole, references),
        data,
        plain_tables(report),
        diagram=True,
        lines=True,
        reload=view.reload,
    )


def _header(report: TrainingReport, whole: Report, references: Sequence[References]) -> Header:
    found, total = _findings(report, whole, references)
    state, sentence = verdict(whole, total, nothing_in_steps(report))
    return Header(
        title=escape(report.script.name),
        command=whole.command,
        facts=head(report),
        state=state,
        verdict=sentence,
        findings=found,
        more=more_findings(total - len(found)),
        notes=notes(report),
    )


def _findings(
    report: TrainingReport, whole: Report, references: Sequence[References]
) -> tuple[Sequence[Finding], int]:
    """Return the worst findings, and how many there are: diagnoses, else findings of rules."""

    def of(index: int | None) -> tuple[References, Report]:
        return (NOTHING, whole) if index is None else (references[index], report.records[index])

    if report.diagnoses:
        located = [(row, record_index(report, row.record)) for row in report.diagnoses]
        found = [of_diagnosis(row, *of(at), record_index=at) for row, at in located[:MOST]]
        return found, len(located)
    checks = [(row, record_of_check(report, row)) for row in report.checks]
    checks += [(row, at) for at, record in enumerate(report.records) for row in record.checks]
    failed = [(row, at) for row, at in checks if row.status == "fail"]
    failed.sort(key=lambda pair: pair[0].severity != "error")
    return [of_check(row, *of(at), record_index=at) for row, at in failed[:MOST]], len(failed)
