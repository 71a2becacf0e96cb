"""The page of a training script: the run, and the tables of each record."""

from __future__ import annotations

from collections.abc import Sequence

from hookcli.console import escape
from hookcli.formats.check.merged import merged
from hookcli.formats.html.data.record import record
from hookcli.formats.html.data.references import References
from hookcli.formats.html.data.run import record_index, run
from hookcli.formats.html.page import Finding, Header, write_page
from hookcli.formats.html.report_page import MOST, more_findings, of_check, of_diagnosis, verdict
from hookcli.formats.run.facts import training_of
from hookcli.formats.run.findings import notes
from hookcli.formats.run.table import head
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
        "training.js", _header(report, whole, references), data, diagram=True, lines=True
    )


def _header(report: TrainingReport, whole: Report, references: Sequence[References]) -> Header:
    found, total = _findings(report, whole, references)
    state, sentence = verdict(whole, total)
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
    diagnoses = report.diagnoses or ()
    if diagnoses:
        found = []
        for row in diagnoses[:MOST]:
            index = record_index(report, row.record)
            if index is None:
                found.append(of_diagnosis(row, References(whole), whole))
            else:
                of = report.records[index]
                found.append(of_diagnosis(row, references[index], of, record_index=index))
        return found, len(diagnoses)
    failed = [(row, None) for row in report.checks if row.status == "fail"]
    failed += [
        (row, index)
        for index, of in enumerate(report.records)
        for row in of.checks
        if row.status == "fail"
    ]
    failed.sort(key=lambda pair: pair[0].severity != "error")
    found = [
        of_check(row, References(whole), whole)
        if index is None
        else of_check(row, references[index], report.records[index], record_index=index)
        for row, index in failed[:MOST]
    ]
    return found, len(failed)
