"""A check as text: a line for each rule, the message of a failed test, the passes that were run."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from hookcli.console import escape
from hookcli.formats.check import rows as check_rows
from hookcli.formats.check.rows import folded
from hookcli.formats.parts import summary
from hookcli.formats.parts.page import head, labelled, plain, verdict, wrapped
from hookcli.formats.parts.style import STATUSES, Style, paint, paint_start
from hookcli.formats.parts.text import place
from hookcli.formats.parts.verdict import shown as shown_in
from hookcli.formats.view import View
from hookcli.report.findings import PASSES, CheckRow
from hookcli.report.report import Report
from hookcli.rules.verdict import Verdict, verdict_of
from hookcli.text import pluralize

_LEAST = 40  # columns
_INDENT = 4  # of text that does not fit behind the rule


def _line(row: CheckRow, said: Collection[str], widths: tuple[int, int], view: View) -> str:
    """Return a row: the outcome, the rule, the target with what was found, and the place.

    What the verdict has `said`, by fingerprint, is not repeated.
    """
    word, rule = check_rows.word(row), escape(row.rule)
    above = row.fingerprint in said
    text = check_rows.name(row) if row.target else ""
    if not above:
        text = ": ".join(part for part in (text, check_rows.sentence(row)) if part)
        text += check_rows.figures(row)
    elif not text:
        text = "see above"
    lead = f"{word:<{widths[0]}}  {rule:<{widths[1]}}  "
    indent = len(lead) if len(lead) <= max(view.width, _LEAST) // 2 else _INDENT
    body = f"{lead}{text}" if indent == len(lead) else f"{lead.rstrip()}\n{' ' * indent}{text}"
    lines = [wrapped(line, view.width, indent=indent) for line in body.split("\n")]
    where = "" if above else check_rows.where(row)
    lines += [f"{' ' * indent}--> {where}"] if where else []
    return paint_start("\n".join(lines), len(word), check_rows.style(row), color=view.color)


def _repeated(report: Report) -> set[str]:
    """Return the fingerprints of the findings whose message the verdict shows word for word."""
    shown = {name: item.sentence for item in shown_in(report) for name in item.fingerprints}
    return {
        row.fingerprint
        for row in report.checks
        if row.message and " ".join(row.message.split()) in shown.get(row.fingerprint, "")
    }


def render(report: Report, view: View) -> str:
    """Render the page. Its last line begins with PASSED or FAILED."""
    rows = folded(check_rows.select_rows(report, view))
    widths = (
        max((len(check_rows.word(row)) for row in rows), default=0),
        max((len(escape(row.rule)) for row in rows), default=0),
    )
    said = _repeated(report)
    parts = [
        head(report, view),
        verdict(report, view),
        "\n".join(_line(row, said, widths, view) for row in rows),
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
