"""A check as text: the table, the message of a failed test, and the passes that were run."""

from __future__ import annotations

from typing import Any

from hookcli.console import escape
from hookcli.formats.check import rows as check_rows
from hookcli.formats.check.rows import folded
from hookcli.formats.parts import summary
from hookcli.formats.parts.grid import draw
from hookcli.formats.parts.page import head, labelled, plain, wrapped
from hookcli.formats.parts.style import STATUSES, Style, paint, paint_start
from hookcli.formats.parts.text import place
from hookcli.formats.view import View
from hookcli.report.findings import PASSES, CheckRow
from hookcli.report.report import Report
from hookcli.rules.verdict import Verdict, verdict_of
from hookcli.text import pluralize


def _finding(row: CheckRow, view: View) -> str:
    """Return one finding over several lines: what it is, and where in the source."""
    label = f"{check_rows.word(row)}: {row.rule}"
    text = wrapped(f"{label}, {check_rows.target(row)}: {check_rows.sentence(row)}", view.width)
    style = check_rows.style(row)
    text = paint_start(text, len(check_rows.word(row)) + 1, style, color=view.color)
    where = check_rows.where(row)
    return f"{text}\n  --> {where}" if where else text


def render(report: Report, view: View) -> str:
    """Render the page. Its last line begins with PASSED or FAILED."""
    rows = folded(check_rows.select_rows(report, view))
    failed = [row for row in rows if row.status in {"fail", "error"}]
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
        "\n".join(_finding(row, view) for row in failed),
        "\n".join(
            labelled(
                row.status, f"{row.rule}: {check_rows.sentence(row)}", view, check_rows.style(row)
            )
            for row in quiet
        ),
        "\n".join(
            labelled("note", note, view, STATUSES["note"]) for note in summary.run_notes(report)
        ),
        _last(report, view),
    ]
    return plain("\n\n".join(part for part in parts if part), view) + "\n"


def _last(report: Report, view: View) -> str:
    text = check_rows.verdict(report, view.fail_on)
    passed = verdict_of(report, view.fail_on) is Verdict.PASSED
    return paint(text, Style.PASSED if passed else Style.FAILED, color=view.color)


def message(report: Report, view: View) -> str:
    """Return a line with the verdict, then each finding with its place, the worst first."""
    kind = escape(report.model.type or report.model.source)
    lines = [f"{kind}: {check_rows.verdict(report, view.fail_on)}"]
    if report.error is not None:
        error = report.error
        where = f"in {escape(error.phase)}" + (f", in {escape(error.layer)}" if error.layer else "")
        text = escape(" ".join(error.message.split()))
        lines += ["", f"error: {escape(error.type)} {where}: {text}"]
        lines += [f"  --> {place(error.place)}"] if error.place else []
    for row in folded(check_rows.select_rows(report, view)):
        if row.status not in {"fail", "error"}:
            continue
        label = f"{check_rows.word(row)}: {escape(row.rule)}, {check_rows.name(row)}"
        lines += ["", f"{label}: {check_rows.sentence(row)}"]
        where = check_rows.where(row)
        lines += [f"  --> {where}"] if where else []
    return "\n".join(lines)


def _passes(value: dict[str, Any]) -> str:
    forwards, backwards = value["forwards"], value["backwards"]
    passes = f"{forwards} {pluralize(forwards, 'forward')}"
    if backwards == forwards:
        passes += f" and {pluralize(backwards, 'backward')}"
    elif backwards:
        passes += f" and {backwards} {pluralize(backwards, 'backward')}"
    rules = ", ".join(map(escape, value["rules"]))
    mode = value["mode"].replace("as-is", "its own")
    return f"{passes} in {mode} mode" + (f" ({rules})" if rules else "")


def performed(report: Report) -> str:
    """Return "check ran 1 forward and backward in train mode (finite)", or "" if not known."""
    groups = [
        _passes(measurement.value)
        for measurement in report.measurements
        if measurement.probe == PASSES
    ]
    return f"check ran {', '.join(groups)}" if groups else ""
