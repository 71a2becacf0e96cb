"""Checks, suppressions, and what checks require of a run, as plain data."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Literal


@dataclass(frozen=True, slots=True)
class CheckSpec:
    """One rule with its options. If `severity` is None, it is the rule's own.

    `place` is "hooks.yaml:14: checks[2]", or "" for a check of the safe set. Paths are absolute.
    `only_failures`: nobody asked for the rule; it judges what the run measured anyway, and has a
    row only if something is wrong.
    """

    rule: str
    options: dict[str, Any] = field(default_factory=dict)
    place: str = ""
    severity: Literal["error", "warning"] | None = None
    only_failures: bool = False


@dataclass(frozen=True, slots=True)
class Suppression:
    """Findings of a rule that do not count, at targets that a glob matches, with the reason."""

    rule: str
    at: str
    reason: str
    place: str


@dataclass(frozen=True, slots=True)
class ProbeRequest:
    """A probe by its name in `hookcli.catalogue.probes`, and (name, value) pairs of its options."""

    name: str
    options: tuple[tuple[str, Any], ...] = ()

    def given(self) -> dict[str, Any]:
        """Return the options by name."""
        return dict(self.options)


def request_probe(name: str, **options: Any) -> ProbeRequest:
    """Return a request of a probe; the values of the options must be hashable."""
    return ProbeRequest(name, tuple(options.items()))


BACKWARD = request_probe("backward")


def requests_probe(requests: Iterable[ProbeRequest], name: str) -> bool:
    """Return whether one of the requests is for this probe."""
    return any(request.name == name for request in requests)
