"""The colours of figures that differ by powers of ten, and the kinds of cells without a figure.

Pictures and the page use the same scale, so that they show the same colours.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any, Literal, TypeAlias

from hookcli.formats.order import measured
from hookcli.formats.parts.bars import positive

Color: TypeAlias = tuple[int, int, int]

# Viridis at nine equal distances (van der Walt and Smith, 2015, released as CC0): equal steps look
# equal, also to people who do not tell red from green, and in grey.
PALETTE: tuple[Color, ...] = (
    (0x44, 0x01, 0x54),
    (0x47, 0x2D, 0x7B),
    (0x3B, 0x52, 0x8B),
    (0x2C, 0x72, 0x8E),
    (0x21, 0x91, 0x8C),
    (0x28, 0xAE, 0x80),
    (0x5E, 0xC9, 0x62),
    (0xAD, 0xDC, 0x30),
    (0xFD, 0xE7, 0x25),
)
LOW, HIGH = 0.02, 0.98  # the quantiles at the ends of a robust range
_LEAST = 1.0  # powers of ten that a range spans: noise must not fill the palette
_SMALLEST, _LARGEST = -323.0, 308.0  # powers of ten of a float

CellKind: TypeAlias = Literal["value", "nan", "inf", "zero", "none", "frozen", "unknown"]


def robust_range(values: Iterable[object]) -> tuple[float, float] | None:
    """Return the values at the ends of the palette; None if no value has a logarithm.

    They are the quantiles 0.02 and 0.98 of the finite values above 0, so that a few outliers do not
    take the colours of the others; values beyond them have the colour of the end. Quantiles of
    log10(value) are interpolated linearly between the two nearest values, at (n - 1) * q of n
    sorted values (Hyndman and Fan, "Sample Quantiles in Statistical Packages", 1996, definition 7,
    the default of NumPy and R). A range of less than a power of ten is widened to one, around its
    middle.
    """
    logs = sorted(math.log10(number) for value in values if (number := positive(value)) is not None)
    if not logs:
        return None
    low, high = _quantile(logs, LOW), _quantile(logs, HIGH)
    if high - low < _LEAST:
        middle = (low + high) / 2
        low, high = middle - _LEAST / 2, middle + _LEAST / 2
    return 10.0 ** max(low, _SMALLEST), 10.0 ** min(high, _LARGEST)


def _quantile(ordered: list[float], part: float) -> float:
    place = (len(ordered) - 1) * part
    below = math.floor(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (place - below)


def position(value: float, span: tuple[float, float]) -> float:
    """Return where a value above 0 is on the palette, on a log scale: 0 is its start, 1 its end."""
    low, high = math.log10(span[0]), math.log10(span[1])
    return min(max((math.log10(value) - low) / (high - low), 0.0), 1.0) if high > low else 0.5


def color_at(part: float) -> Color:
    """Return the colour at a position of the palette from 0 to 1, between two of its colours."""
    place = min(max(part, 0.0), 1.0) * (len(PALETTE) - 1)
    below = min(int(place), len(PALETTE) - 2)
    rest = place - below
    pairs = zip(PALETTE[below], PALETTE[below + 1], strict=True)
    red, green, blue = (round(a + (b - a) * rest) for a, b in pairs)
    return red, green, blue


def cell_kind(grad: Mapping[str, Any] | None, status: str | None) -> CellKind:
    """Return what a cell shows of a gradient: its norm as a colour, or a mark of its own.

    `grad` are the statistics of the gradient, None without one. NaN comes before infinity: a
    tensor that has both is NaN. "unknown" is a gradient whose norm was not measured.
    """
    if status == "frozen":
        return "frozen"
    if grad is None:
        return "none" if status == "none" else "unknown"
    if grad.get("nans"):
        return "nan"
    norm = measured(grad.get("norm"))
    if norm is not None and math.isnan(norm):
        return "nan"
    if grad.get("infs") or (norm is not None and math.isinf(norm)):
        return "inf"
    if norm is None:
        return "unknown"
    return "value" if norm > 0 else "zero"
