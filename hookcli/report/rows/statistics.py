"""Collect the statistics of `stats` hooks at inputs and outputs of each call from the events."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from hookcli.catalogue.kinds import CATALOGUE
from hookcli.report.recording import EventNote
from hookcli.report.rows.events import figures

_FIGURES = {kind.name: kind.layer for kind in CATALOGUE.values() if kind.layer is not None}
_VALUES = {name: layer.part for name, layer in _FIGURES.items() if layer.of == "value"}
_GRADS = {name: layer.part for name, layer in _FIGURES.items() if layer.of == "gradient"}


@dataclass(slots=True)
class CallStatistics:
    """Figures of one call's tensors by part and path: of values, and of gradients."""

    values: dict[tuple[str, str], dict[str, Any]] = field(default_factory=dict)
    grads: dict[tuple[str, str], dict[str, Any]] = field(default_factory=dict)

    @property
    def is_empty(self) -> bool:
        """Whether there are no figures."""
        return not self.values and not self.grads

    def leaf(self, part: str, path: str, *, grad: bool) -> dict[str, Any] | None:
        """Return the figures of one tensor."""
        return figures((self.grads if grad else self.values).get((part, path)))

    def whole(self, part: str, *, grad: bool) -> dict[str, Any] | None:
        """Return the combined figures of all tensors of a part."""
        table = self.grads if grad else self.values
        return figures(combined([stats for (p, _), stats in table.items() if p == part]))


def observed(events: Iterable[EventNote]) -> dict[int, CallStatistics]:
    """Return the statistics by order of the call; of several hooks at a tensor, the last counts."""
    by_order: dict[int, CallStatistics] = {}
    for event in events:
        if event.stats is None or event.order is None:
            continue
        seen = by_order.setdefault(event.order, CallStatistics())
        for (path, *_), stats in zip(event.values, event.stats, strict=True):
            if stats is None:
                continue
            if event.kind in _VALUES:
                seen.values[_VALUES[event.kind], path] = stats
            elif _GRADS.get(event.kind) == event.part and event.part is not None:
                seen.grads[event.part, event.path + path] = stats
    return by_order


def combined(parts: list[dict[str, Any]]) -> dict[str, Any] | None:
    """Return the figures of several tensors as if they were one: counts and squares of norms add.

    Mean and deviation are pooled (Chan, Golub, LeVeque 1979).
    """
    parts = [part for part in parts if part["numel"]] or parts[:1]
    if len(parts) < 2:
        return parts[0] if parts else None
    whole = _pooled(parts)
    whole.update({name: _sum(parts, name) for name in ("zeros", "nans", "infs")})
    if any("finite" in p for p in parts):
        inner = [{**p.get("finite", p), "numel": p["numel"] - p["nans"] - p["infs"]} for p in parts]
        known = [p for p in inner if p["numel"]]
        whole["finite"] = (
            {n: v for n, v in _pooled(known).items() if n != "numel"}
            if known
            else (dict.fromkeys(("norm", "mean", "std", "min", "max", "abs_max")))
        )
    return whole


def _sum(parts: list[dict[str, Any]], name: str) -> int | None:
    """Return the sum of counts, or None if one is not known."""
    counts = [p[name] for p in parts]
    return None if None in counts else sum(counts)


def _pooled(parts: list[dict[str, Any]]) -> dict[str, Any]:
    count = sum(p["numel"] for p in parts)
    mean = deviation = None
    if all(p["mean"] is not None for p in parts):
        mean = sum(p["mean"] * (p["numel"] / count) for p in parts)
        spreads = [(p["std"] or 0.0) * math.sqrt(p["numel"] - 1) for p in parts]
        spreads += [(p["mean"] - mean) * math.sqrt(p["numel"]) for p in parts]
        deviation = math.hypot(*spreads) / math.sqrt(count - 1) if count > 1 else None
        deviation = math.nan if any(map(math.isnan, spreads)) else deviation
    return {
        "numel": count,
        "norm": math.hypot(*(p["norm"] for p in parts)),
        "mean": mean,
        "std": deviation,
        "min": _extreme(parts, "min", min),
        "max": _extreme(parts, "max", max),
        "abs_max": _extreme(parts, "abs_max", max),
    }


def _extreme(parts: list[dict[str, Any]], name: str, pick: Any) -> Any:
    """Return the least or largest; NaN if one is NaN, None if one is not known."""
    values = [p[name] for p in parts]
    if any(v is None for v in values):
        return None
    return math.nan if any(isinstance(v, float) and math.isnan(v) for v in values) else pick(values)
