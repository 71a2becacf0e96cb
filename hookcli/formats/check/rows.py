"""The rows of a check as text, and the folding of rows that say the same."""

from __future__ import annotations

import dataclasses
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from typing import Any

from hookcli.console import escape
from hookcli.formats.check.merged import COMMAND
from hookcli.formats.parts.style import Style, status_style
from hookcli.formats.parts.text import figure, place
from hookcli.formats.view import View
from hookcli.report.findings import CheckRow
from hookcli.report.report import Report
from hookcli.rules.catalogue import CATALOGUE
from hookcli.rules.verdict import FailOn, Verdict, verdict_of
from hookcli.text import join_names

_ORDER = {"error": 0, "fail": 1, "skip": 4, "pass": 5}
_FAILED = {"error": 1, "warning": 2, "note": 3}


def rank(row: CheckRow) -> int:
    """Return a sort key, worst first: not judged, errors, warnings, notes, skipped, passed."""
    return _FAILED.get(row.severity, 1) if row.status == "fail" else _ORDER[row.status]


def word(row: CheckRow) -> str:
    """Return the outcome of a row in a word."""
    if row.status == "fail":
        return {"error": "fail", "note": "note"}.get(row.severity, "warning")
    return "not judged" if row.status == "error" else row.status


def style(row: CheckRow) -> Style | None:
    """The style of a row: a finding has that of its severity."""
    return status_style(row.severity if row.status == "fail" else word(row))


def picked(report: Report, view: View) -> list[CheckRow]:
    """Return the rows of a view in the report's order; `only` is a glob on targets."""
    return [
        row
        for row in report.checks
        if view.only is None or row.status == "error" or fnmatchcase(row.target, view.only)
    ]


def select_rows(report: Report, view: View) -> list[CheckRow]:
    """Return the rows of a view, the worst first."""
    return sorted(picked(report, view), key=rank)


def by_cause(report: Report, rows: Iterable[CheckRow]) -> list[CheckRow]:
    """Return the rows, the worst first, with one finding for each cause of the verdict.

    It stands in place of the rows of this cause: see `causes`. Findings of one rank are in the
    order of the verdict.
    """
    left = list(rows)
    found = causes(report, left)
    known = {id(row) for _, own in found for row in own}
    return sorted([*(row for row, _ in found), *(r for r in left if id(r) not in known)], key=rank)


def causes(report: Report, rows: Iterable[CheckRow]) -> list[tuple[CheckRow, list[CheckRow]]]:
    """Return a finding for each cause of the verdict, with the rows that the cause explains.

    The finding is the first of these, with the sentence, the place and the advice of the cause, and
    the worst severity.
    """
    failed: dict[str, list[CheckRow]] = {}
    for row in rows:
        if row.status == "fail":
            failed.setdefault(row.fingerprint, []).append(row)
    found: list[tuple[CheckRow, list[CheckRow]]] = []
    for cause in report.diagnoses or ():
        own = [row for name in cause.fingerprints for row in failed.pop(name, ())]
        if not own:
            continue
        worst = min(own, key=rank)
        row = dataclasses.replace(
            own[0],
            message=cause.sentence,
            severity=worst.severity,
            place=cause.place or own[0].place,
            advice=cause.advice or own[0].advice,
        )
        found.append((row, own))
    return found


def named_sentence(row: CheckRow) -> str:
    """Return the message of a row after its target, unless the message begins with it."""
    text = sentence(row)
    return text if text.startswith(f"'{escape(row.target)}'") else f"{name(row)}: {text}"


def is_finding(row: CheckRow) -> bool:
    """Return whether a row failed or could not be judged."""
    return row.status in {"fail", "error"}


def sentence(row: CheckRow) -> str:
    """Return the message of a row on one line."""
    return escape(" ".join(row.message.split()))


def name(row: CheckRow) -> str:
    """Return the target of a row in a sentence."""
    return escape(row.target) or "the model"


def mend(row: CheckRow) -> str:
    """Return the advice on how to fix a finding: its own, else that of its rule; "" for a note."""
    if row.advice or row.severity == "note":
        return escape(row.advice or "")
    rule = CATALOGUE.get(row.rule)
    return "" if rule is None else rule.mend


def target(row: CheckRow) -> str:
    """Return the target of a row in a list."""
    return name(row) if row.target or row.status in {"fail", "error"} else "–"


def value_text(value: Any) -> str:
    """Return a value or a limit as text."""
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    if isinstance(value, list | tuple):
        return escape(", ".join(map(str, value)))
    if isinstance(value, str):
        return escape(value)
    return figure(value)


def figures(row: CheckRow) -> str:
    """Return the value and the limit of a finding whose message has no figures, in brackets."""
    if row.status != "fail" or not isinstance(row.value, float):
        return ""
    value = figure(row.value)
    limit = "" if row.limit is None else f", limit {figure(row.limit)}"
    return "" if value in row.message else f" ({value}{limit})"


def where(row: CheckRow) -> str:
    """Return the place of a row in the user's source, or ""."""
    return place(row.place) if row.place else ""


_OUTCOMES = (
    ("fail", "failed"), ("warning", "warned"), ("not judged", "not judged"), ("note", "noted"),
    ("skip", "skipped"), ("pass", "passed"),
)  # fmt: skip


def count_outcomes(rows: Iterable[CheckRow]) -> str:
    """Return the counts of outcomes: "1 failed, 2 warned, 3 passed"."""
    counts = Counter(word(row) for row in rows)
    return ", ".join(f"{counts[key]:,} {text}" for key, text in _OUTCOMES if counts[key])


def failure(report: Report) -> str:
    """Return what failed, if the report has an error: the model, or a training script."""
    return "the script failed" if report.command == COMMAND else "the model failed"


def verdict(report: Report, fail_on: FailOn) -> str:
    """Return the last line: PASSED or FAILED, with counts."""
    outcome = verdict_of(report, fail_on)
    why = f"; {failure(report)}" if outcome is Verdict.MODEL_FAILED else ""
    counted = count_outcomes(report.checks) or "nothing was judged"
    return f"{'PASSED' if outcome is Verdict.PASSED else 'FAILED'}: {counted}{why}"


_APART = 3  # rows of one kind that are not folded
_DIGITS = re.compile(r"[0-9]+")


def _kind(row: CheckRow) -> tuple[object, ...]:
    """Return the key of rows that are folded into one; names may differ in their numbers."""
    if row.status == "pass":
        return (row.status, row.rule)
    if row.status not in {"fail", "skip"} or not row.target:
        return (id(row),)
    same = _DIGITS.sub("0", row.target)
    message = row.message.replace(row.target, same)
    return (row.status, row.rule, row.severity, row.place, same, message)


def folded(rows: Sequence[CheckRow]) -> list[CheckRow]:
    """Return the rows in order, with more than three of a kind folded into one."""
    kinds: dict[tuple[object, ...], list[CheckRow]] = {}
    for row in rows:
        kinds.setdefault(_kind(row), []).append(row)
    result: list[CheckRow] = []
    for row in rows:
        group = kinds[_kind(row)]
        if len(group) <= _APART:
            result.append(row)
        elif row is group[0]:
            result.append(_fold(group))
    return result


def _fold(rows: list[CheckRow]) -> CheckRow:
    """Return one row that represents all of these."""
    first, more = rows[0], len(rows) - 1
    if first.status == "pass":
        many = f"{len(rows):,} checks"
        return dataclasses.replace(
            first, target=many, value=None, limit=None, message=f"{many} passed"
        )
    others = join_names([row.target for row in rows[1:]])
    return dataclasses.replace(
        first,
        target=f"{first.target} and {more:,} more",
        message=f"{first.message}; also at {others}",
    )
