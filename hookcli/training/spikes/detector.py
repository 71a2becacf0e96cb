"""Whether a figure of a step leaves what the steps before it were: a robust limit over a window.

The figures are the gradient norm and the loss. Both are compared by their logarithms, as their
healthy changes are factors. Of the last 64 values, the line through the medians of both halves is
the trend; m is its level at the step, s = 1.4826 · median(|log x - trend|) is the deviation from
it. A value is a spike if

    log(value) > m + max(log(5), 6 · s),
    value > 3 · the largest of the last 32 values,
    value > the largest of the first 5 values.

The deviation is that of Hampel 1974 (1.4826 · MAD estimates the standard deviation of a normal
distribution). The trend matters where a loss falls fast: else its fall would count as deviation.
The factor of 5 is a floor for steady trainings, whose deviation is nearly 0. The second condition
holds for figures of single steps that differ by orders of magnitude, as those of small batches do;
the third for models that fit nearly all of their data, whose gradients are tiny until a hard sample
gives them the size of the first steps again.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

WINDOW = 64  # values that a value is compared with
LEAST = 20  # of them that are needed: the first steps of a training are not judged
FACTOR = 5.0
DEVIATIONS = 6.0
ABOVE = 3.0  # times the largest of the last values
_LAST = 32
_FIRST = 5
_LASTS = 8  # spikes in a row that are a new level: the window begins again
_NORMAL = 1.4826  # from a median absolute deviation to a standard deviation
_LARGEST = 709.0  # the logarithm of the largest number


@dataclass(frozen=True, slots=True)
class Excess:
    """A value above the limit. `usual` is the trend of the `window` values before it."""

    value: float
    usual: float
    limit: float
    window: int


class SpikeDetector:
    """Judges one figure of successive steps; see the formula above."""

    def __init__(self) -> None:
        self._window: deque[float] = deque(maxlen=WINDOW)
        self._last: deque[float] = deque(maxlen=_LAST)
        self._first = 0.0
        self._seen = 0
        self._in_row = 0
        self.has_judged = False  # a value was compared with enough others

    def judge(self, value: float) -> Excess | None:
        """Return the excess of the next value if it is a spike; None if it is not.

        Spikes do not become part of the window, unless 8 in a row are a new level. Values that are
        not finite are not judged, and neither are those at or below 0, whose logarithm says
        nothing: a window that has one is not compared with, as of a loss that crosses 0.
        """
        if not math.isfinite(value):
            return None
        excess = self._excess(value)
        if self._seen < _FIRST:
            self._first = max(self._first, value)
        self._seen += 1
        if excess is None:
            self._in_row = 0
            self._window.append(value)
            self._last.append(value)
            return None
        self._in_row += 1
        if self._in_row == _LASTS:
            self._in_row = 0
            self._window.clear()
            self._last.clear()
        return excess

    def _excess(self, value: float) -> Excess | None:
        window = self._window
        if len(window) < LEAST:
            return None
        self.has_judged = True
        if value <= self._first or value <= ABOVE * max(self._last):
            return None  # nearly all steps end here
        if min(window) <= 0:
            return None
        usual, limit = limit_of(window)
        limit = max(limit, ABOVE * max(self._last), self._first)
        return Excess(value, usual, limit, len(window)) if value > limit else None


def limit_of(values: Sequence[float]) -> tuple[float, float]:
    """Return the level of the trend of positive values at the next one, and the limit above it."""
    logarithms = [math.log(value) for value in values]
    half = len(logarithms) // 2
    change = median(logarithms[half:]) - median(logarithms[:half])
    slope = change / (len(logarithms) - half)
    flat = [value - slope * i for i, value in enumerate(logarithms)]
    middle = median(flat)
    deviation = _NORMAL * median(abs(value - middle) for value in flat)
    level = min(middle + slope * len(logarithms), _LARGEST)
    rise = max(math.log(FACTOR), DEVIATIONS * deviation)
    return math.exp(level), math.exp(min(level + rise, _LARGEST))
