"""Findings of rules and measurements, in addition to the rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from hookcli.report.values import absent

PASSES = "passes"  # the probe with the forwards and backwards, and the rules they were for


@dataclass(frozen=True, slots=True)
class PassedOver:
    """Why a finding does not count: a suppression with its reason, or the baseline."""

    by: Literal["suppression", "baseline"]
    reason: str | None = None
    place: str | None = None


@dataclass(frozen=True, slots=True)
class CheckRow:
    """The result of one rule for one target. `fingerprint` identifies a finding across runs.

    `passed_over` is present if a finding does not count: `status` is then "skip".
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
    """A measured figure in addition to the rows."""

    probe: str
    target: str
    call: int | None
    value: Any
    limit_unit: str | None
