"""A check as the message of a failed test: how it went, and what was found."""

from __future__ import annotations

from hookcli.console import escape
from hookcli.formats import check_rows
from hookcli.formats.check_fold import folded
from hookcli.formats.text import place
from hookcli.formats.view import View
from hookcli.report.model import Report


def message(report: Report, view: View) -> str:
    """A line with the verdict, then each finding with its place, the worst first."""
    kind = escape(report.model.type or report.model.source)
    lines = [f"{kind}: {check_rows.verdict(report, view.fail_on)}"]
    if report.error is not None:
        error = report.error
        where = f"in {escape(error.phase)}" + (f", in {escape(error.layer)}" if error.layer else "")
        said = escape(" ".join(error.message.split()))
        lines += ["", f"error: {escape(error.type)} {where}: {said}"]
        lines += [f"  --> {place(error.place)}"] if error.place else []
    for row in folded(check_rows.shown(report, view)):
        if row.status not in {"fail", "error"}:
            continue
        label = f"{check_rows.word(row)}: {escape(row.rule)}, {check_rows.name(row)}"
        lines += ["", f"{label}: {check_rows.sentence(row)}"]
        where = check_rows.where(row)
        lines += [f"  --> {where}"] if where else []
    return "\n".join(lines)
