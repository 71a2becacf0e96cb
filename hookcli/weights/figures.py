"""The statistics of a stored tensor, computed in pieces in float64. Torch-free.

They have the keys and the meaning of those of a tensor in a run (engine/statistics).
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from hookcli.report.values import Number
from hookcli.weights.dtypes import Array

_FIGURES = ("norm", "mean", "std", "min", "max", "abs_max")


def sum_of_squares(values: Array) -> float:
    """Return the sum of the squares of float64.

    BLAS gets few at a time: of more than 10,000 OpenBLAS gives a part to each of its threads, which
    wait by spinning for a processor that others use.
    """
    total = 0.0
    for at in range(0, values.size, _OF_ONE_THREAD):
        part = values[at : at + _OF_ONE_THREAD]
        total += float(np.dot(part, part))
    return total


_OF_ONE_THREAD = 1 << 13


class PowerSums:
    """Sums over the finite elements so far. `spread` is the sum of squared deviations.

    `zeros`, `nans`, `above` and `below` count zeros, NaN, inf and -inf.
    """

    def __init__(self) -> None:
        self.count = self.zeros = self.nans = self.above = self.below = 0
        self.mean = self.spread = 0.0
        self.norm = 0.0  # the 2-norm, which stays in range where its square does not
        self.low: Any = None
        self.high: Any = None
        self.kinds: set[str] = set()  # of NumPy's dtypes: "f", "i", "u", "b" or "c"
        self._room = np.empty(0)

    def add(self, piece: Array) -> None:
        """Add the elements of a piece: numbers, or the moduli of complex ones."""
        if not piece.size:
            return
        low, high = piece.min(), piece.max()
        if piece.dtype.kind == "f" and not (math.isfinite(low) and math.isfinite(high)):
            piece = self._finite(piece)  # NaN is the smallest and the largest, if there is one
            if not piece.size:
                return
            low, high = piece.min(), piece.max()
        self.zeros += int(np.count_nonzero(piece == 0)) if low <= 0 <= high else 0
        self.low = low if self.low is None else min(self.low, low)
        self.high = high if self.high is None else max(self.high, high)
        largest = max(abs(float(low)), abs(float(high)))
        if piece.dtype == np.float32 and (largest == 0 or largest > 1e-30):
            self._add_float32(piece)
            return
        wide = piece if piece.dtype == np.float64 else piece.astype(np.float64)
        self._add_norm(wide, largest)
        self._add_mean(wide)

    def _add_float32(self, piece: Array) -> None:
        """Add finite elements whose squares are far within the range of float64.

        They are moved by about their mean, so that one pass gives the norm, the mean and the
        spread without a difference of large numbers.
        """
        size = piece.size
        if len(self._room) < size:
            self._room = np.empty(size)
        with np.errstate(over="ignore", invalid="ignore"):
            about = float(piece.sum()) / size  # in float32
        if not math.isfinite(about):
            about = 0.0
        away = np.subtract(piece, about, out=self._room[:size], dtype=np.float64)
        moved, squares = float(away.sum()), sum_of_squares(away)
        total = squares + about * (2 * moved + about * size)
        self.norm = math.hypot(self.norm, math.sqrt(max(total, 0.0)))
        spread = max(squares - moved * moved / size, 0.0)
        self._join(size, about + moved / size, spread)

    def join(self, other: PowerSums) -> None:
        """Add the elements that `other` was given."""
        self.zeros += other.zeros
        self.nans += other.nans
        self.above += other.above
        self.below += other.below
        self.kinds |= other.kinds
        if not other.count:
            return
        self.low = other.low if self.low is None else min(self.low, other.low)
        self.high = other.high if self.high is None else max(self.high, other.high)
        self.norm = math.hypot(self.norm, other.norm)
        self._join(other.count, other.mean, other.spread)

    def _join(self, size: int, mean: float, spread: float) -> None:
        """Join the mean and the spread of more elements (Chan, Golub and LeVeque, 1979)."""
        total = self.count + size
        apart = mean - self.mean
        self.mean += apart * size / total
        self.spread += spread + apart * apart * self.count * size / total
        self.count = total

    def _finite(self, piece: Array) -> Array:
        nan, above, below = np.isnan(piece), piece == np.inf, piece == -np.inf
        self.nans += int(nan.sum())
        self.above += int(above.sum())
        self.below += int(below.sum())
        finite: Array = piece[~(nan | above | below)]
        return finite

    def _add_norm(self, wide: Array, largest: float) -> None:
        if largest == 0:
            return
        unit = 1.0
        if not 1e-100 < largest < 1e100:  # the squares would leave the range of float64
            unit = largest
            wide = wide / unit
        self.norm = math.hypot(self.norm, math.sqrt(sum_of_squares(wide)) * unit)

    def _add_mean(self, wide: Array) -> None:
        with np.errstate(over="ignore", invalid="ignore"):
            mean = float(wide.mean())
            away = wide - mean
            spread = sum_of_squares(away)
        self._join(wide.size, mean, spread)


def moments(pieces: Iterable[Array]) -> PowerSums:
    """Return the sums over the elements in `pieces`."""
    found = PowerSums()
    for piece in pieces:
        found.kinds.add(piece.dtype.kind)
        found.add(_moduli(piece) if piece.dtype.kind == "c" else piece)
    return found


def statistics(found: PowerSums, numel: int) -> dict[str, Any]:
    """Return the statistics of a tensor from the sums over its elements.

    Returns
    -------
    dict
        `numel`; `norm` (the 2-norm), `mean`, `std` (unbiased), `min`, `max`, `abs_max`; and the
        counts `zeros`, `nans`, `infs`. NaN and infinities are the strings "nan", "inf" and "-inf".
        With them the six statistics follow IEEE, and `finite` has those of the finite elements.
        Of complex elements the moduli are used: `mean`, `std`, `min` and `max` are None.
    """
    is_integer = bool(found.kinds) and found.kinds <= set("iub")
    row = {"numel": numel, **_row(found, integers=is_integer)}
    if "c" in found.kinds:
        for part in (row, row.get("finite", {})):
            part.update(dict.fromkeys(("mean", "std", "min", "max")))
    return row


def _moduli(piece: Array) -> Array:
    wide = piece.astype(np.complex128)
    moduli: Array = np.abs(wide)
    if not np.isfinite(moduli).all():
        # abs returns inf if a part is infinite, even if the other is NaN
        moduli[np.isnan(wide.real) | np.isnan(wide.imag)] = np.nan
    return moduli


def _row(m: PowerSums, *, integers: bool) -> dict[str, Any]:
    infs = m.above + m.below
    row: dict[str, Any] = {}
    plain = _figures(m, integers=integers)
    if m.nans or infs:
        row = {**_ieee(m), "zeros": m.zeros, "nans": m.nans, "infs": infs}
        row["finite"] = plain if m.count else dict.fromkeys(_FIGURES)
        return row
    return {**plain, "zeros": m.zeros, "nans": 0, "infs": 0}


def _figures(m: PowerSums, *, integers: bool) -> dict[str, Any]:
    if not m.count:
        return {**dict.fromkeys(_FIGURES), "norm": 0.0}
    exact = int if integers else float
    low, high = exact(m.low), exact(m.high)
    return {
        "norm": known(m.norm),
        "mean": known(m.mean),
        "std": known(math.sqrt(m.spread / (m.count - 1))) if m.count > 1 else None,
        "min": low,
        "max": high,
        "abs_max": max(abs(low), abs(high)),
    }


def _ieee(m: PowerSums) -> dict[str, Any]:
    std = "nan" if m.count + m.nans + m.above + m.below > 1 else None
    if m.nans:
        return {**dict.fromkeys(_FIGURES, "nan"), "std": std}
    mean = "nan" if m.above and m.below else "inf" if m.above else "-inf"
    low = "-inf" if m.below else "inf" if m.low is None else float(m.low)
    high = "inf" if m.above else "-inf" if m.high is None else float(m.high)
    return {"norm": "inf", "mean": mean, "std": std, "min": low, "max": high, "abs_max": "inf"}


def known(value: float) -> Number:
    """Return a number as reports have it: NaN and infinities are strings."""
    if math.isfinite(value):
        return value
    return "nan" if math.isnan(value) else "inf" if value > 0 else "-inf"
