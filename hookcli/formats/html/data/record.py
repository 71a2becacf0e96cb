"""All data of one report: a record of a page."""

from __future__ import annotations

from typing import Any

from hookcli.console import escape
from hookcli.formats.html.data.edges import edges
from hookcli.formats.html.data.errors import error
from hookcli.formats.html.data.events import events
from hookcli.formats.html.data.findings import checks, diagnosis
from hookcli.formats.html.data.layers import layers
from hookcli.formats.html.data.parameters import parameters
from hookcli.formats.html.data.ranks import ranks
from hookcli.formats.html.data.references import References
from hookcli.formats.html.data.steps import training
from hookcli.formats.parts import summary
from hookcli.report.report import Report


def record(report: Report, name: str = "") -> dict[str, Any]:
    """Return the tables of a report for the scripts of a page; `name` is that of a record."""
    references = References(report)
    return {
        "name": escape(name),
        "command": report.command,
        "model": escape(report.model.type or report.model.source),
        "layers": layers(report, references),
        "parameters": parameters(report, references),
        "events": events(report, references),
        "edges": edges(report, references),
        "checks": checks(report.checks, references),
        "diagnoses": [diagnosis(row, references) for row in report.diagnoses or ()],
        "totals": summary.totals(report),
        "distributed": ranks(report, references),
        "training": training(report, references),
        "error": error(report.error, references),
    }
