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


class _Moments:
    """Sums over the finite elements so far. `spread` is the sum of squared deviations."""

    def __init__(self) -> None:
        self.count = self.zeros = self.nans = self.above = self.below = 0
        self.mean = self.spread = 0.0
        self.norm = 0.0  # the 2-norm, which stays in range where its square does not
        self.low: Any = None
        self.high: Any = None

    def add(self, piece: Array) -> None:
        """Add the elements of a piece: numbers, or the moduli of complex ones."""
        if piece.dtype.kind == "f":
            with np.errstate(over="ignore", invalid="ignore"):
                total = piece.sum(dtype=np.float64)
            if not math.isfinite(total):
                piece = self._finite(piece)
        if not piece.size:
            return
        self.zeros += piece.size - int(np.count_nonzero(piece))
        low, high = piece.min(), piece.max()
        self.low = low if self.low is None else min(self.low, low)
        self.high = high if self.high is None else max(self.high, high)
        wide = piece if piece.dtype == np.float64 else piece.astype(np.float64)
        self._add_norm(wide, max(abs(float(low)), abs(float(high))))
        self._add_mean(wide)

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
        self.norm = math.hypot(self.norm, math.sqrt(float(np.dot(wide, wide))) * unit)

    def _add_mean(self, wide: Array) -> None:
        """Join the mean and the spread (Chan, Golub and LeVeque, 1979)."""
        size = wide.size
        with np.errstate(over="ignore", invalid="ignore"):
            mean = float(wide.mean())
            away = wide - mean
            spread = float(np.dot(away, away))
        total = self.count + size
        apart = mean - self.mean
        self.mean += apart * size / total
        self.spread += spread + apart * apart * self.count * size / total
        self.count = total


def statistics(pieces: Iterable[Array], numel: int) -> dict[str, Any]:
    """Return the statistics of the elements in `pieces`.

    Returns
    -------
    dict
        `numel`; `norm` (the 2-norm), `mean`, `std` (unbiased), `min`, `max`, `abs_max`; and the
        counts `zeros`, `nans`, `infs`. NaN and infinities are the strings "nan", "inf" and "-inf".
        With them the six statistics follow IEEE, and `finite` has those of the finite elements.
        Of complex elements the moduli are used: `mean`, `std`, `min` and `max` are None.
    """
    moments = _Moments()
    is_complex = is_integer = False
    for piece in pieces:
        is_complex = piece.dtype.kind == "c"
        is_integer = piece.dtype.kind in "iub"
        moments.add(_moduli(piece) if is_complex else piece)
    row = {"numel": numel, **_row(moments, integers=is_integer)}
    if is_complex:
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


def _row(m: _Moments, *, integers: bool) -> dict[str, Any]:
    infs = m.above + m.below
    row: dict[str, Any] = {}
    plain = _figures(m, integers=integers)
    if m.nans or infs:
        row = {**_ieee(m), "zeros": m.zeros, "nans": m.nans, "infs": infs}
        row["finite"] = plain if m.count else dict.fromkeys(_FIGURES)
        return row
    return {**plain, "zeros": m.zeros, "nans": 0, "infs": 0}


def _figures(m: _Moments, *, integers: bool) -> dict[str, Any]:
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


def _ieee(m: _Moments) -> dict[str, Any]:
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
