"""What the rules of a request require of its run: probes, with their options."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any


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
