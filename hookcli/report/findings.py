"""What was judged and measured beside the rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal


@dataclass(frozen=True, slots=True)
class CheckRow:
    """One judgement. `fingerprint` is the same for the same finding in every run."""

    rule: str
    target: str
    status: Literal["pass", "fail", "skip", "error"]
    severity: Literal["error", "warning"]
    value: Any
    limit: Any
    message: str
    place: str | None
    fingerprint: str


@dataclass(frozen=True, slots=True)
class Measurement:
    """A figure that was asked for beside the rows."""

    probe: str
    target: str
    call: int | None
    value: Any
    limit_unit: str | None
