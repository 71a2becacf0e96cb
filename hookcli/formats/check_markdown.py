"""A check for a pull request: the verdict, what failed with its place, and what passed, folded."""

from __future__ import annotations

from hookcli.console import escape
from hookcli.formats import check_rows, summary
from hookcli.formats.markdown import grid, quote
from hookcli.formats.view import View
from hookcli.report.findings import CheckRow
from hookcli.report.model import Report


def _finding(row: CheckRow) -> str:
    where = check_rows.where(row)
    at = f" ({quote(where)})" if where else ""
    name = f"{escape(row.rule)}, {check_rows.target(row)}"
    return f"- **{check_rows.word(row)}** {quote(name)}: {quote(check_rows.sentence(row))}{at}"


def render(report: Report, view: View) -> str:
    """A heading with the verdict, the findings, and a table of all rows."""
    rows = check_rows.shown(report, view)
    told = [row for row in rows if row.status in {"fail", "error"}]
    model = quote(escape(report.model.type or report.model.source))
    parts = [
        f"### {model}: {quote(check_rows.verdict(report, view.fail_on))}",
        "\n".join(_finding(row) for row in told),
        grid(check_rows.columns(rows), rows),
        "\n".join(f"- {quote(note)}" for note in summary.run_notes(report)),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"
