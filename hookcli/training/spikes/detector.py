"""Whether a figure of a step leaves what the steps before it were: a robust limit over a window.

The figures are the gradient norm and the loss. Both are compared by their logarithms, as their
healthy changes are factors: with the median m of the last 64 values and their deviation
s = 1.4826 · median(|log x - m|), a value is a spike if

    log(value) > m + max(log(5), 8 · s)   and   value > 2 · the largest of the last 64 values
    and   value > half of the largest of the first 5 values.

The deviation is that of Hampel 1974 (1.4826 · MAD estimates the standard deviation of a normal
distribution). The factor of 5 is a floor for steady trainings, whose deviation is nearly 0. The
second condition holds for figures of single steps that differ by orders of magnitude, as those of
small batches do; the third for models that fit nearly all of their data, whose gradients are tiny
until a hard sample gives them the size of the first steps again.
"""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass
from statistics import median

WINDOW = 64  # values that a value is compared with
LEAST = 20  # of them that are needed: the first steps of a training are not judged
FACTOR = 5.0
DEVIATIONS = 8.0
ABOVE = 2.0  # times the largest value of the window
_START = 0.5  # of the largest of the first values
_FIRST = 5
_LASTS = 8  # spikes in a row that are a new level: the window begins again
_NORMAL = 1.4826  # from a median absolute deviation to a standard deviation


@dataclass(frozen=True, slots=True)
class Excess:
    """A value above the limit. `usual` is the median of the `window` values before it."""

    value: float
    usual: float
    limit: float
    window: int


class SpikeDetector:
    """Judges one figure of successive steps; see the formula above."""

    def __init__(self) -> None:
        self._window: deque[float] = deque(maxlen=WINDOW)
        self._first = 0.0
        self._seen = 0
        self._in_row = 0

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
            return None
        self._in_row += 1
        if self._in_row == _LASTS:
            self._in_row = 0
            self._window.clear()
        return excess

    def _excess(self, value: float) -> Excess | None:
        window = self._window
        if len(window) < LEAST or value <= ABOVE * max(window) or value <= _START * self._first:
            return None  # nearly all steps end here
        if min(window) <= 0:
            return None
        usual, limit = limit_of(window)
        return Excess(value, usual, limit, len(window)) if value > limit else None


def limit_of(window: deque[float]) -> tuple[float, float]:
    """Return the median of positive values, and the limit that a value after them may not exceed.

    The limit is at least twice the largest of them.
    """
    logarithms = [math.log(value) for value in window]
    middle = median(logarithms)
    deviation = _NORMAL * median(abs(value - middle) for value in logarithms)
    rise = min(max(math.log(FACTOR), DEVIATIONS * deviation), 700.0 - middle)
    return math.exp(middle), max(math.exp(middle + rise), ABOVE * max(window))
