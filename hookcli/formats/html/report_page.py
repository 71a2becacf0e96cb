"""The page of one report: of inspect, grads, trace, check and several ranks."""

from __future__ import annotations

from collections.abc import Sequence

from hookcli.console import escape
from hookcli.formats.html.data.record import record
from hookcli.formats.html.data.references import References
from hookcli.formats.html.page import Finding, Header, link, write_page
from hookcli.formats.html.plain_tables import plain_tables
from hookcli.formats.parts import summary
from hookcli.formats.parts.text import place, sentence
from hookcli.formats.parts.verdict import has_problem, nothing_found
from hookcli.formats.view import View
from hookcli.report.findings import CheckRow, Diagnosis
from hookcli.report.report import Report
from hookcli.text import counted

MOST = 3  # findings in the header


def render(report: Report, view: View) -> str:
    """Return the page of a report; the view selects nothing, as the page has filters."""
    data = {"kind": "report", "records": [record(report)]}
    return write_page("report.js", header(report), data, plain_tables(report), diagram=True)


def header(report: Report) -> Header:
    """Return the header: model, batch, run, the verdict, and the worst findings."""
    name = escape(report.model.type or report.model.source)
    facts = [(label, text) for label, text in summary.head(report) if text]
    facts += [(label.strip(), text) for label, text in summary.totals(report)[:1]]
    found, total = findings(report)
    state, line = verdict(report, total)
    return Header(
        title=name,
        command=report.command,
        facts=facts,
        state=state,
        verdict=line,
        findings=found,
        more=more_findings(total - len(found)),
        notes=summary.notes(report),
    )


def more_findings(left: int) -> str:
    """Return how many findings the header does not show, "" if none."""
    return f"{counted(left, 'more finding')} in Checks" if left > 0 else ""


def verdict(report: Report, total: int, good: str | None = None) -> tuple[str, str]:
    """Return the state of the verdict and its sentence; `total` is the number of findings.

    `good` is the sentence if there is no problem.
    """
    if report.error is not None:
        return "error", f"The run failed: {summary.failure(report.error)}"
    if total and (report.diagnoses is None or has_problem(report.diagnoses) or good == ""):
        worst = any(row.status == "fail" and row.severity == "error" for row in report.checks)
        worst = worst or any(row.severity == "error" for row in report.diagnoses or ())
        return ("error" if worst else "warning"), f"{counted(total, 'finding')}, the worst first:"
    text = nothing_found(report) if good is None else good
    if text:
        return "good", sentence(text)
    return "neutral", "No rule was evaluated"


def findings(report: Report) -> tuple[Sequence[Finding], int]:
    """Return the worst findings as sentences with links, and how many there are in all.

    They are the diagnoses; without any, the findings of rules.
    """
    references = References(report)
    diagnoses = report.diagnoses or ()
    if diagnoses:
        return [of_diagnosis(row, references, report) for row in diagnoses[:MOST]], len(diagnoses)
    failed = [row for row in report.checks if row.status == "fail"]
    failed.sort(key=lambda row: row.severity != "error")
    return [of_check(row, references, report) for row in failed[:MOST]], len(failed)


def of_diagnosis(
    row: Diagnosis, references: References, report: Report, *, record_index: int | None = None
) -> Finding:
    """Return a diagnosis as a finding of the header, with a link to what it is about."""
    return Finding(
        severity=row.severity,
        sentence=escape(row.sentence),
        advice="" if row.advice is None else escape(row.advice),
        link=link_to(row.target, references, report, step=row.step, record_index=record_index),
        label=escape(row.target) or "the model",
        place="" if row.place is None else place(row.place),
    )


def of_check(
    row: CheckRow, references: References, report: Report, *, record_index: int | None = None
) -> Finding:
    """Return the finding of a rule as one of the header; see `of_diagnosis`."""
    return Finding(
        severity=row.severity,
        sentence=escape(" ".join(row.message.split())),
        advice=escape(row.advice or ""),
        link=link_to(row.target, references, report, step=row.step, record_index=record_index),
        label=escape(row.target) or "the model",
        place="" if row.place is None else place(row.place),
    )


def link_to(
    target: str,
    references: References,
    report: Report,
    *,
    step: int | None = None,
    record_index: int | None = None,
) -> str:
    """Return the fragment that selects the layer or parameter that a target names, "" if none."""
    at = references.of(target)
    if at.parameter >= 0:
        parameter = escape(report.parameters[at.parameter].name)
        return link(tab="gradients", record=record_index, parameter=parameter, step=step)
    if at.layer < 0:
        return ""
    name: str | None
    if at.layer < len(report.layers):
        row = report.layers[at.layer]
        name = None if row.name is None else escape(row.name)
        call = row.call
    else:
        name, call = escape(report.uncalled[at.layer - len(report.layers)].name), 0
    layer = f"@{at.layer}" if name is None else name if not call else f"{name}~{call}"
    return link(tab="layers", record=record_index, layer=layer, step=step)
