"""The verdict on a judged report: passed, findings, a rule that was not judged, a failed model.

`fail_on` decides which findings count. The command line turns the verdict into an exit status.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Literal, TypeAlias

if TYPE_CHECKING:
    from hookcli.report.findings import CheckRow
    from hookcli.report.report import Report

FailOn: TypeAlias = Literal["error", "warning", "never"]

# The severities that count, by `fail_on`.
_COUNTED: dict[FailOn, tuple[str, ...]] = {
    "error": ("error",),
    "warning": ("error", "warning"),
    "never": (),
}


class Verdict(Enum):
    """The verdict on a report. If several apply, the one that is listed last."""

    PASSED = "passed"
    FINDINGS = "findings"
    NOT_JUDGED = "not judged"
    MODEL_FAILED = "model failed"


def is_counted(row: CheckRow, fail_on: FailOn) -> bool:
    """Return whether a row is a finding that makes a check fail."""
    return row.status == "fail" and row.severity in _COUNTED[fail_on]


def verdict_of(report: Report, fail_on: FailOn) -> Verdict:
    """Return the verdict on a report if the findings of `fail_on` count."""
    if report.error is not None:
        return Verdict.MODEL_FAILED
    if any(row.status == "error" for row in report.checks):
        return Verdict.NOT_JUDGED
    failed = any(is_counted(row, fail_on) for row in report.checks)
    return Verdict.FINDINGS if failed else Verdict.PASSED
