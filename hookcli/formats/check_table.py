"""A check for a terminal: what failed and why, what passed, and PASSED or FAILED at the end."""

from __future__ import annotations

from hookcli.formats import check_rows, summary
from hookcli.formats.check_fold import folded
from hookcli.formats.grid import draw
from hookcli.formats.page import bold, head, plain, wrapped
from hookcli.formats.view import View
from hookcli.report.findings import CheckRow
from hookcli.report.model import Report

_GREEN, _RED = 32, 31


def _finding(row: CheckRow, view: View) -> str:
    """One finding over several lines: what, and where in the source."""
    label = f"{check_rows.word(row)}: {row.rule}"
    text = wrapped(f"{label}, {check_rows.target(row)}: {check_rows.sentence(row)}", view.width)
    where = check_rows.where(row)
    return f"{text}\n  --> {where}" if where else text


def render(report: Report, view: View) -> str:
    """The page. Its last line begins with PASSED or FAILED."""
    rows = folded(check_rows.shown(report, view))
    told = [row for row in rows if row.status in {"fail", "error"}]
    quiet = [row for row in rows if row.status in {"pass", "skip"}]
    table = draw(
        check_rows.columns(rows),
        rows,
        width=max(view.width, 40),
        give_way=("limit", "value"),
        color=view.color,
    )
    parts = [
        head(report, view),
        table,
        "\n".join(_finding(row, view) for row in told),
        "\n".join(
            wrapped(f"{row.status}: {row.rule}: {check_rows.sentence(row)}", view.width)
            for row in quiet
        ),
        "\n".join(wrapped(f"note: {note}", view.width) for note in summary.run_notes(report)),
        _last(report, view),
    ]
    return plain("\n\n".join(part for part in parts if part), view) + "\n"


def _last(report: Report, view: View) -> str:
    text = check_rows.verdict(report, view.fail_on)
    if not view.color:
        return text
    color = _RED if check_rows.has_failed(report, view.fail_on) else _GREEN
    return f"\x1b[{color}m{bold(text)}"
