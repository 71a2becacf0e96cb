"""What was judged and measured beside the rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from hookcli.report.values import absent

PASSES = "passes"  # the probe that tells which forwards and backwards there were, and for whom


@dataclass(frozen=True, slots=True)
class PassedOver:
    """Why a finding does not count: a suppression with its reason, or the baseline knows it."""

    by: Literal["suppression", "baseline"]
    reason: str | None = None
    place: str | None = None


@dataclass(frozen=True, slots=True)
class CheckRow:
    """One judgement. `fingerprint` is the same for the same finding in every run.

    `passed_over` stands where a finding was made and does not count: `status` is "skip" then.
    """

    rule: str
    target: str
    status: Literal["pass", "fail", "skip", "error"]
    severity: Literal["error", "warning"]
    value: Any
    limit: Any
    message: str
    place: str | None
    fingerprint: str
    passed_over: PassedOver | None = absent()  # noqa: RUF009  # it is a field()


@dataclass(frozen=True, slots=True)
class Measurement:
    """A figure that was asked for beside the rows."""

    probe: str
    target: str
    call: int | None
    value: Any
    limit_unit: str | None
