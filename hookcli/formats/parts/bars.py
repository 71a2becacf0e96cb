"""Bars on a log scale: gradients differ by powers of ten."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

WIDTH = 20  # cells of a bar where there is room


def positive(value: object) -> float | None:
    """The value where it has a logarithm."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if value > 0 and math.isfinite(value) else None


@dataclass(frozen=True, slots=True)
class Scale:
    """From 10**low, which has no bar to speak of, to 10**high, which has a full one."""

    low: int
    high: int
    unicode: bool

    @classmethod
    def over(cls, values: Iterable[object], *, unicode: bool) -> Scale:
        """The scale of whole powers of ten that holds all values; those without one count not."""
        logs = [math.log10(v) for value in values if (v := positive(value)) is not None]
        low = math.floor(min(logs, default=0))
        return cls(low, max(math.ceil(max(logs, default=1)), low + 1), unicode)

    def title(self) -> str:
        """What both ends stand for."""
        return f"1e{self.low}..1e{self.high}"

    def bar(self, value: object, width: int = WIDTH) -> str:
        """A bar, padded to `width`: at least one cell where the value is above 0."""
        known = positive(value)
        if known is None:
            return " " * width
        part = (math.log10(known) - self.low) / (self.high - self.low)
        # The heavy line stands in every character set that has the tree's glyphs.
        return ("━" if self.unicode else "#") * max(1, round(part * width)) + " " * (
            width - max(1, round(part * width))
        )
