"""What is asked to be judged, as plain data: checks, and what is not to count."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal


@dataclass(frozen=True, slots=True)
class CheckSpec:
    """One rule with its options. Without a severity, the rule's own.

    `place` is "hooks.yaml:14: checks[2]", or "" for a check of the safe set. Paths are absolute.
    """

    rule: str
    options: dict[str, Any] = field(default_factory=dict)
    place: str = ""
    severity: Literal["error", "warning"] | None = None


@dataclass(frozen=True, slots=True)
class Suppression:
    """Findings of a rule, at targets that a glob matches, do not count, for a stated reason."""

    rule: str
    at: str
    reason: str
    place: str
