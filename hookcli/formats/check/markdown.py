"""A check as Markdown: the verdict, the findings with their places, and the rest folded."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from hookcli.console import escape
from hookcli.formats.check import rows as check_rows
from hookcli.formats.check.gradient_extremes import gradient_table
from hookcli.formats.markdown import verdict
from hookcli.formats.parts import summary
from hookcli.formats.view import View
from hookcli.outputs.escapes import markdown as quote
from hookcli.report.findings import CheckRow
from hookcli.report.report import Report
from hookcli.text import pluralize, shorten

_MOST = 50  # findings in a summary, and as many other rows
_LONGEST = 1000  # characters of a target or message in a summary
_LIMIT = 1_000_000  # bytes: GitHub refuses summaries of more than a mebibyte


def _finding(row: CheckRow) -> str:
    where = check_rows.where(row)
    at = f" ({quote(where)})" if where else ""
    name = f"{escape(row.rule)}, {check_rows.target(row)}"
    return f"- **{check_rows.word(row)}** {quote(name)}: {quote(check_rows.sentence(row))}{at}"


def _findings(rows: Sequence[CheckRow]) -> str:
    """Return the findings as a list; the first one of each rule has the advice how to fix it."""
    lines, advised = [], set[str]()
    for row in rows:
        lines.append(_finding(row))
        mend = check_rows.mend(row) if row.status == "fail" and row.rule not in advised else ""
        if mend:
            advised.add(row.rule)
            lines.append(f"  - {check_rows.FIX}: {quote(mend)}")
    return "\n".join(lines)


def _folded(rows: Sequence[CheckRow]) -> str:
    """Return what passed and what was skipped, as a list that opens on a click."""
    if not rows:
        return ""
    lines = "\n".join(_finding(row) for row in rows)
    return f"<details><summary>{check_rows.count_outcomes(rows)}</summary>\n\n{lines}\n\n</details>"


def _page(report: Report, view: View, rows: Sequence[CheckRow], more: str = "") -> str:
    failed = [row for row in rows if row.status in {"fail", "error"}]
    model = quote(escape(report.model.type or report.model.source))
    parts = [
        f"### {model}: {quote(check_rows.verdict(report, view.fail_on))}",
        verdict(report),
        _findings(failed),
        more,
        _folded([row for row in rows if row.status in {"pass", "skip"}]),
        "\n".join(f"- {quote(note)}" for note in summary.run_notes(report)),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def render(report: Report, view: View) -> str:
    """Render a heading with the verdict, the findings, and what passed."""
    return _page(report, view, check_rows.select_rows(report, view))


def brief(report: Report, view: View) -> str:
    """Render the worst rows for the summary of a CI step, whose size is limited."""
    rows = [_cut(row) for row in check_rows.select_rows(report, view)]
    failed = [row for row in rows if row.status in {"fail", "error"}]
    quiet = [row for row in rows if row.status in {"pass", "skip"}]
    left = len(failed[_MOST:])
    more = f"{left:,} more {pluralize(left, 'finding is', 'findings are')} in the log."
    table = gradient_table(report)
    after = "\n\n".join(part for part in (more if left else "", table) if part)
    text = _page(report, view, [*failed[:_MOST], *quiet[:_MOST]], after)
    return text if len(text.encode()) <= _LIMIT else _page(report, view, ())[:_LONGEST]


def _cut(row: CheckRow) -> CheckRow:
    target, message = (shorten(text, _LONGEST) for text in (row.target, row.message))
    return dataclasses.replace(row, target=target, message=message)
