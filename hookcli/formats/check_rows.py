"""The rows of a check: what failed first, what passed last, and the line that says how it went."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any

from hookcli.console import escape
from hookcli.formats.grid import Column
from hookcli.formats.text import cut_end, figure, place
from hookcli.formats.view import View
from hookcli.report.findings import CheckRow
from hookcli.report.model import Report

_ORDER = {"error": 0, "fail": 1, "skip": 3, "pass": 4}
_COUNTS = {"never": (), "error": ("error",), "warning": ("error", "warning")}
_COLORS = {"fail": 31, "warning": 33, "pass": 32, "not judged": 31}


def rank(row: CheckRow) -> int:
    """Worst first: what could not be judged, errors, warnings, what was passed over, the rest."""
    return 2 if (row.status, row.severity) == ("fail", "warning") else _ORDER[row.status]


def word(row: CheckRow) -> str:
    """How it went, in a word."""
    if row.status == "fail":
        return "fail" if row.severity == "error" else "warning"
    return "not judged" if row.status == "error" else row.status


def shown(report: Report, view: View) -> list[CheckRow]:
    """The rows of a view, the worst first; `only` is a glob on targets."""
    rows = [
        row
        for row in report.checks
        if view.only is None or row.status == "error" or fnmatchcase(row.target, view.only)
    ]
    return sorted(rows, key=rank)


def sentence(row: CheckRow) -> str:
    """What was found, on one line."""
    return escape(" ".join(row.message.split()))


def target(row: CheckRow) -> str:
    """What it is about."""
    return escape(row.target) or ("the model" if row.status in {"fail", "error"} else "–")


def value_text(value: Any) -> str:
    """A value, or a limit, in a cell."""
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    if isinstance(value, list | tuple):
        return escape(", ".join(map(str, value)))
    if isinstance(value, str):
        return escape(value)
    return figure(value)


def columns(rows: Sequence[CheckRow]) -> dict[str, Column[CheckRow]]:
    """The columns of the table: values where a row has one."""
    found: dict[str, Column[CheckRow]] = {
        "word": Column("", word, color=lambda row: _COLORS.get(word(row))),
        "rule": Column("Rule", lambda row: escape(row.rule)),
        "target": Column("Target", target, least=12),
    }
    if any(row.value is not None for row in rows):
        found["value"] = _short("Value", lambda row: row.value)
    if any(row.limit is not None for row in rows):
        found["limit"] = _short("Limit", lambda row: row.limit)
    return found


def _short(title: str, pick: Any) -> Column[CheckRow]:
    return Column(
        title,
        lambda row: value_text(pick(row)),
        right=True,
        least=8,
        spare=True,
        fit=lambda row, width: cut_end(value_text(pick(row)), width),
    )


def where(row: CheckRow) -> str:
    """Its place in the user's source, or ""."""
    return place(row.place) if row.place else ""


def counts(report: Report) -> Mapping[str, int]:
    """How many rows there are of each word."""
    found = dict.fromkeys(("fail", "warning", "not judged", "skip", "pass"), 0)
    for row in report.checks:
        found[word(row)] += 1
    return found


def has_failed(report: Report, fail_on: str) -> bool:
    """Whether the command's status is not 0."""
    if report.error is not None:
        return True
    return any(
        row.status == "error" or (row.status == "fail" and row.severity in _COUNTS[fail_on])
        for row in report.checks
    )


_SAID = (
    ("fail", "failed"), ("warning", "warned"), ("not judged", "not judged"), ("skip", "skipped"),
    ("pass", "passed"),
)  # fmt: skip


def verdict(report: Report, fail_on: str) -> str:
    """The last line: PASSED or FAILED, with counts."""
    found = counts(report)
    said = ", ".join(f"{found[key]:,} {text}" for key, text in _SAID if found[key])
    failed = has_failed(report, fail_on)
    why = "; the model failed" if report.error is not None else ""
    return f"{'FAILED' if failed else 'PASSED'}: {said or 'nothing was judged'}{why}"
