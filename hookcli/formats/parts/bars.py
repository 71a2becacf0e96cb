"""Bars: on a log scale, as gradients differ by powers of ten, and on a linear one for losses."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

WIDTH = 20  # cells of a bar, if there is room


def positive(value: object) -> float | None:
    """Return the value if it has a logarithm, else None."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if value > 0 and math.isfinite(value) else None


@dataclass(frozen=True, slots=True)
class Scale:
    """A log scale: 10**low has the shortest bar, 10**high has a full one."""

    low: int
    high: int
    unicode: bool

    @classmethod
    def over(cls, values: Iterable[object], *, unicode: bool) -> Scale:
        """Return the scale from the powers of ten around all values that have a logarithm."""
        logs = [math.log10(v) for value in values if (v := positive(value)) is not None]
        low = math.floor(min(logs, default=0))
        return cls(low, max(math.ceil(max(logs, default=1)), low + 1), unicode)

    def title(self) -> str:
        """Return the values at both ends."""
        return f"1e{self.low}..1e{self.high}"

    def bar(self, value: object, width: int = WIDTH) -> str:
        """Return a bar, padded to `width`: at least one cell if the value is above 0."""
        known = positive(value)
        if known is None:
            return " " * width
        part = (math.log10(known) - self.low) / (self.high - self.low)
        return _drawn(part, width, unicode=self.unicode)


@dataclass(frozen=True, slots=True)
class LinearScale:
    """A linear scale: `high` has a full bar, `low` none. It contains 0."""

    low: float
    high: float
    unicode: bool

    @classmethod
    def over(cls, values: Iterable[float], *, unicode: bool) -> LinearScale:
        """Return the scale from 0 to the largest of the values, or from the smallest one below."""
        known = list(values)
        low, high = min(known, default=0.0), max(known, default=0.0)
        return cls(min(low, 0.0), max(high, 0.0), unicode)

    def title(self) -> str:
        """Return the values at both ends."""
        return f"{self.low:.3g}..{self.high:.3g}"

    def bar(self, value: float | None, width: int = WIDTH) -> str:
        """Return a bar, padded to `width`: at least one cell if the value is known."""
        extent = self.high - self.low
        if value is None or not extent > 0 or not math.isfinite(extent):
            return " " * width
        return _drawn((value - self.low) / extent, width, unicode=self.unicode)


def _drawn(part: float, width: int, *, unicode: bool) -> str:
    """Return a bar of a part of the width, of at least one cell."""
    cells = min(max(1, round(part * width)), width)
    # Every character set with the glyphs of the tree has the heavy line.
    return ("━" if unicode else "#") * cells + " " * (width - cells)
