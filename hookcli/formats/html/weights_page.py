"""The page of a file of weights: its tensors, with filters."""

from __future__ import annotations

from hookcli.console import escape
from hookcli.formats.html.data.weights import tensors_record
from hookcli.formats.html.page import Finding, Header, write_page
from hookcli.formats.html.plain_tables import plain_tables
from hookcli.formats.view import View
from hookcli.formats.weights import document
from hookcli.report.weights.weights_report import WeightsReport
from hookcli.text import counted


def render(report: WeightsReport, view: View) -> str:
    """Return the page of weights; the view selects nothing, as the page has filters."""
    totals = [f"{label.strip()}: {text}" for label, text in document.totals(report)]
    data = {"kind": "weights", "totals": totals, "records": [tensors_record(report)]}
    return write_page("weights.js", _header(report, view), data, plain_tables(report))


def _header(report: WeightsReport, view: View) -> Header:
    problems = document.problems(report)
    read = sum(row.stats is not None for row in report.tensors)
    fine = f"No NaN and no Inf in {counted(read, 'tensor')}"
    return Header(
        title=escape(report.source),
        command="inspect",
        facts=[(fact.label, fact.text) for fact in document.facts(report)],
        state="error" if problems else "good" if read else "neutral",
        verdict="Some values are not finite" if problems else fine if read else "No values read",
        findings=[Finding(severity="error", sentence=one.text) for one in problems],
        notes=document.notes(report, view, folded=False),
    )
