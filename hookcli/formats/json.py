"""The report itself."""

from __future__ import annotations

from hookcli.formats.view import View
from hookcli.report.encode import to_json
from hookcli.report.model import Report


def render(report: Report, view: View) -> str:  # a view never changes the JSON
    """hookcli.report/1."""
    return to_json(report)
