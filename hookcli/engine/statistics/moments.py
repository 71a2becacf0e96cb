"""The moments from which statistics are computed, and the moments of a few Python numbers."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any


@dataclass(slots=True)
class Moments:
    """The moments of finite elements. If `count` is 0, the other fields have no meaning.

    `spread` is the 2-norm of the distances from the mean.
    """

    count: int = 0
    zeros: int = 0
    low: float = math.inf
    high: float = -math.inf
    norm: float = 0.0
    mean: float = 0.0
    spread: float = 0.0

    def merge(self, other: Moments) -> None:
        """Add the elements of another."""
        count = self.count + other.count
        if not other.count:
            return
        step = other.mean - self.mean if self.count else 0.0
        weight = math.sqrt(self.count * other.count / count)
        self.spread = math.hypot(self.spread, other.spread, step * weight)
        self.mean = self.mean + step * (other.count / count) if self.count else other.mean
        self.count = count
        self.zeros += other.zeros
        self.low, self.high = min(self.low, other.low), max(self.high, other.high)
        self.norm = math.hypot(self.norm, other.norm)


@dataclass(slots=True)
class Elements:
    """The moments of a tensor's finite elements, and the counts of NaN, inf and -inf."""

    finite: Moments
    nans: int = 0
    above: int = 0
    below: int = 0

    def repeat(self, times: int) -> None:
        """Count every element this many times."""
        root = math.sqrt(times)
        self.finite.count *= times
        self.finite.zeros *= times
        self.finite.norm *= root
        self.finite.spread *= root
        self.nans *= times
        self.above *= times
        self.below *= times


def of_list(values: list[Any]) -> Elements:
    """Return the moments of a few Python numbers."""
    total = sum(values)
    if total - total == 0:  # no NaN, no inf, and no overflow of the sum
        count = len(values)
        return Elements(_of_finite(values, total / count))
    finite = [v for v in values if math.isfinite(v)]
    nans = sum(v != v for v in values)
    above = values.count(math.inf)
    count = len(finite)
    moments = _of_finite(finite, math.fsum(v / count for v in finite)) if finite else Moments()
    return Elements(moments, nans, above, len(values) - count - nans - above)


def _of_finite(values: list[Any], mean: float) -> Moments:
    low, high, count = min(values), max(values), len(values)
    if low == high:
        return constant(count, low)
    # hypot and dist scale their arguments, so nothing overflows
    spread = math.dist(values, [mean] * count)
    return Moments(count, values.count(0), low, high, math.hypot(*values), mean, spread)


def constant(count: int, value: float) -> Moments:
    """Return the moments of `count` equal numbers."""
    norm = abs(float(value)) * math.sqrt(count)
    return Moments(count, 0 if value else count, value, value, norm, float(value))
