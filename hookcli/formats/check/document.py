"""The report of a check: its rows, the message of a failed test, the passes that were run."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from hookcli.console import escape
from hookcli.formats.check import rows as check_rows
from hookcli.formats.document import common
from hookcli.formats.document.document import CheckOutcome, Document, LastLine, OutcomesBlock
from hookcli.formats.parts import summary
from hookcli.formats.parts.text import place
from hookcli.formats.parts.verdict import shown
from hookcli.formats.view import View
from hookcli.report.findings import PASSES, CheckRow
from hookcli.report.report import Report
from hookcli.rules.verdict import Verdict, verdict_of
from hookcli.text import pluralize


def build(report: Report, view: View, good: str | None = None) -> Document:
    """Return the document, whose last line begins with PASSED or FAILED.

    `good` is the verdict if there is no problem.
    """
    rows = check_rows.select_rows(report, view)
    return Document(
        common.title(report),
        (common.facts(report), common.verdict(report, good), outcomes(rows, _told(report))),
        summary.run_notes(report),
        last_line(report, view),
    )


def last_line(report: Report, view: View) -> LastLine:
    """Return the last line."""
    passed = verdict_of(report, view.fail_on) is Verdict.PASSED
    return LastLine(check_rows.verdict(report, view.fail_on), passed)


def outcomes(rows: Sequence[CheckRow], told: Collection[str] = (), more: str = "") -> OutcomesBlock:
    """Return rows of a check. The verdict has `told` the findings with these fingerprints."""
    rest = [row for row in rows if not check_rows.is_finding(row)]
    return OutcomesBlock(
        [_outcome(row, told) for row in rows],
        [_outcome(row, told) for row in check_rows.folded(rows)],
        check_rows.count_outcomes(rest),
        more,
    )


def _outcome(row: CheckRow, told: Collection[str]) -> CheckOutcome:
    return CheckOutcome(
        check_rows.word(row),
        check_rows.style(row),
        escape(row.rule),
        check_rows.target(row),
        check_rows.sentence(row),
        figures=check_rows.figures(row),
        place=check_rows.where(row),
        advice=check_rows.mend(row) if row.status == "fail" else "",
        has_target=bool(row.target),
        is_finding=check_rows.is_finding(row),
        is_told=row.fingerprint in told,
    )


def _told(report: Report) -> set[str]:
    """Return the fingerprints of the findings whose message the verdict shows word for word."""
    told = {name: item.sentence for item in shown(report) for name in item.fingerprints}
    return {
        row.fingerprint
        for row in report.checks
        if row.message and " ".join(row.message.split()) in told.get(row.fingerprint, "")
    }


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
    for row in check_rows.folded(check_rows.select_rows(report, view)):
        if not check_rows.is_finding(row):
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
