"""A series of figures as one line of small bars."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

_BARS, _ASCII = "▁▂▃▄▅▆▇█", "_.-=+*#@"
_BAD = "!"  # where a value is not finite


def sparkline(values: Sequence[float | None], width: int, *, unicode: bool = True) -> str:
    """Return at most `width` characters, each for the mean of as many successive values.

    The smallest mean has the lowest bar and the largest the highest; None is a space. A bar with a
    value that is not finite is "!".
    """
    means = _means(values, width)
    known = [mean for mean in means if mean is not None and math.isfinite(mean)]
    if not known:
        return "".join(" " if mean is None else _BAD for mean in means)
    bars = _BARS if unicode else _ASCII
    low, high = min(known), max(known)
    scale = (len(bars) - 1) / (high - low) if high > low else 0.0
    scale = scale if math.isfinite(scale) else 0.0  # figures that differ by rounding only
    return "".join(_bar(mean, low, scale, bars) for mean in means)


def _bar(mean: float | None, low: float, scale: float, bars: str) -> str:
    if mean is None:
        return " "
    if not math.isfinite(mean):
        return _BAD
    return bars[min(len(bars) - 1, round((mean - low) * scale))]


def _means(values: Sequence[float | None], width: int) -> list[float | None]:
    """Return the means of `width` successive parts; the values if there are not more."""
    if len(values) <= width:
        return list(values)
    ends = [len(values) * i // width for i in range(width + 1)]
    parts = [values[start:end] for start, end in pairwise(ends)]
    return [_mean([value for value in part if value is not None]) for part in parts]


def _mean(values: Sequence[float]) -> float | None:
    return sum(value / len(values) for value in values) if values else None
