"""A check as workflow commands of GitHub Actions: annotations on the lines, the worst first.

The runner keeps the first ten annotations of each kind for a step, and 4,096 characters of each:
the last command gives the number of those that are only in the log.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from hookcli.console import escape
from hookcli.formats.check import rows as check_rows
from hookcli.formats.parts.source import Source, finding_source, model_source, source_of
from hookcli.formats.parts.text import place
from hookcli.formats.parts.verdict import FIX
from hookcli.formats.training.selection import shown_checks
from hookcli.formats.view import View
from hookcli.outputs.escapes import github_data, github_property
from hookcli.report.findings import CheckRow
from hookcli.report.report import Report
from hookcli.report.training import TrainingReport
from hookcli.text import counted, shorten

_KEPT = 10  # annotations of a kind: actions/runner, ExecutionContext._maxCountPerIssueType
_COMMANDS = {"warning": "warning", "note": "notice"}  # by severity; others are errors
_LONGEST = 4000  # characters


def command(name: str, message: str, **properties: object) -> str:
    """Return `::name file=…,line=…::message`, escaped as actions/toolkit does."""
    given = ((key, str(value)) for key, value in properties.items() if value is not None)
    parameters = ",".join(f"{key}={github_property(text)}" for key, text in given if text)
    text = github_data(shorten(message, _LONGEST))
    return f"::{name} {parameters}::{text}" if parameters else f"::{name}::{text}"


def _annotation(name: str, title: str, message: str, source: Source | None) -> str:
    """Return an annotation on a line; without one if the file is outside the repository."""
    at = source if source is not None and source.inside else None
    return command(
        name,
        message,
        file=None if at is None else escape(at.file),
        line=None if at is None else at.line,
        title=title,
    )


def _finding(row: CheckRow, report: Report, view: View) -> str:
    source = finding_source(row, report, view)
    message = check_rows.named_sentence(row)
    where = "" if source.inside or not row.place else f"\nat {place(row.place)}"
    mend = check_rows.mend(row) if row.status == "fail" else ""
    more = f"{where}\n{FIX}: {mend}" if mend else where
    word = "not judged" if row.status == "error" else row.severity
    title = f"hookcli: {escape(row.rule)}" + (", not judged" if word == "not judged" else "")
    name = _COMMANDS.get(word, "error")
    return _annotation(name, title, message + more, source)


def _raised(report: Report, view: View) -> Iterator[str]:
    error = report.error
    if error is None:
        return
    source = source_of(error.place, view) or model_source(report, view)
    layer = f", in {escape(error.layer)}" if error.layer else ""
    message = escape(" ".join(error.message.split()))
    text = f"{escape(error.type)} in {escape(error.phase)}{layer}: {message}"
    yield _annotation("error", f"hookcli: {check_rows.failure(report)}", text, source)


def _more(lines: list[str]) -> Iterator[str]:
    """Yield a notice with the number of annotations that GitHub does not show."""
    counts = Counter(re.split("[ :]", line[2:], maxsplit=1)[0] for line in lines)
    left = [
        counted(count - _KEPT, f"more {name}")
        for name, count in sorted(counts.items())
        if count > _KEPT
    ]
    if left:
        message = f"GitHub shows {_KEPT} of a kind per step: see the log for {' and '.join(left)}"
        yield command("notice", message, title="hookcli")


def _folded(rows: list[CheckRow]) -> Iterator[str]:
    """Yield what passed and what was skipped, in a group that opens on a click."""
    if not rows:
        return
    yield command("group", f"hookcli: {check_rows.count_outcomes(rows)}")
    for row in rows:
        at = f", {escape(row.target)}" if row.target else ""
        yield f"{row.status}: {escape(row.rule)}{at}: {check_rows.sentence(row)}"
    yield "::endgroup::"


def render(result: Report | TrainingReport, view: View) -> str:
    """Render commands for the stdout of a step. The last line begins with PASSED or FAILED."""
    report, view = shown_checks(result, view)
    rows = check_rows.by_cause(report, check_rows.select_rows(report, view))
    failed = [row for row in rows if row.status in {"fail", "error"}]
    lines = [*_raised(report, view), *(_finding(row, report, view) for row in failed)]
    lines += _more(lines)
    lines += _folded([row for row in rows if row.status in {"pass", "skip"}])
    return "\n".join([*lines, check_rows.verdict(report, view.fail_on), ""])
