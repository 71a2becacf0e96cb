"""What is written above a picture: the model, what is drawn, and what is wrong."""

from __future__ import annotations

from hookcli.console import escape
from hookcli.formats.check import rows as check_rows
from hookcli.formats.parts.verdict import nothing_found, shown
from hookcli.formats.view import View
from hookcli.report.report import Report
from hookcli.rules.verdict import Verdict, verdict_of

_MOST = 2  # problems above a picture
_STYLES = {"error": "wrong", "warning": "mind", "note": "muted"}


def title_of(report: Report) -> str:
    """Return the name of the model."""
    return escape(report.model.type or report.model.source)


def lines_of(report: Report, view: View, what: str) -> list[tuple[str, str]]:
    """Return (text, style) lines below the title: what is drawn, why the run ended, the verdict.

    The last line of a check tells whether it passed.
    """
    lines = [(what, "muted"), *_failure(report)]
    lines += [
        (f"{item.severity}: {escape(item.sentence)}", _STYLES[item.severity])
        for item in shown(report)[:_MOST]
    ]
    more = len(report.diagnoses or ()) - _MOST
    if more > 0:
        lines.append((f"{more} more in the report", "muted"))
    if good := nothing_found(report):
        lines.append((good, "good"))
    if report.command == "check":
        passed = verdict_of(report, view.fail_on) is Verdict.PASSED
        lines.append((check_rows.verdict(report, view.fail_on), "good" if passed else "wrong"))
    return lines


def _failure(report: Report) -> list[tuple[str, str]]:
    """Return a line about the exception that ended the run, if one did."""
    error = report.error
    if error is None:
        return []
    layer = f", in {escape(error.layer)}" if error.layer else ""
    message = escape(" ".join(error.message.split()))
    text = f"partial: {escape(error.type)} in {escape(error.phase)}{layer}: {message}"
    return [(text, "wrong")]
