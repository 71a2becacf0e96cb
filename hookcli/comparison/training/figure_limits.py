"""Compare one figure of two trainings: a loss, a norm, a learning rate, a count, a shape."""

from __future__ import annotations

import math

from hookcli.comparison.diff import Status
from hookcli.comparison.tolerance import RTOL, Tolerances
from hookcli.comparison.training.training_diff import FigureDiff, FigureKind, StepPhase, Value
from hookcli.report.values import Number

PART = 0.01
"""The default limit, relative to A. Rounding errors of a training are amplified from step to step:
a limit near the precision of a dtype would be exceeded after a few steps by a different number of
threads."""

EXACT = 1e-9  # of learning rates and scales, which are computed without tensors
_LIMITS: dict[str, float] = {
    "lr": EXACT, "scale": EXACT, "skipped": 0.0, "forwards": 0.0, "backwards": 0.0, "shape": 0.0,
}  # fmt: skip
_WORDS = ("nan", "inf", "-inf")


def limit_of(
    kind: FigureKind, name: str | None, tolerances: Tolerances, *, first: float | None = None
) -> tuple[float, bool]:
    """Return the limit of a figure, and whether the user gave it.

    Globs are compared with the name of a parameter or layer, and with the kind, such as "loss".
    `first` is the limit of weights that no step has changed.
    """
    if kind in _LIMITS:
        return _LIMITS[kind], False
    given = tolerances.given_for(name if name is not None else kind)
    if given is not None:
        return given, True
    return (PART if first is None else first), False


def rounding(dtypes: tuple[str | None, ...], size: float) -> float:
    """Return the difference that is rounding only, beside figures of this size.

    A gradient that is zero except for rounding has no correct digit.
    """
    known = [RTOL[dtype] for dtype in dtypes if dtype in RTOL]
    return max(known, default=RTOL["float32"]) * size if math.isfinite(size) else 0.0


def is_number(value: Value) -> bool:
    """Return whether a value is a finite number."""
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def compare_figures(
    step: int,
    phase: StepPhase,
    kind: FigureKind,
    name: str | None,
    pair: tuple[Value, Value],
    limit: tuple[float, bool],
    least: float = 0.0,
) -> FigureDiff:
    """Return the difference of a figure. A difference of at most `least` is rounding.

    That does not count if the user gave the limit, or for learning rates, scales and counts, which
    are computed without tensors.
    """
    a, b = pair
    rtol, given = limit
    relative, status = _compared(a, b, rtol, 0.0 if given or kind in _LIMITS else least)
    return FigureDiff(step, phase, kind, name, a, b, relative, rtol, status)


def _compared(a: Value, b: Value, rtol: float, least: float) -> tuple[Number | None, Status]:
    if a is None or b is None:
        return None, "unknown"
    if a == b:
        return 0.0, "same"
    if not is_number(a) or not is_number(b):
        return None, "different"
    ours, theirs = float(a), float(b)
    distance = abs(ours - theirs)
    relative: Number = distance / abs(ours) if ours else "inf"
    if isinstance(relative, float) and math.isinf(relative):
        relative = "inf"
    close = distance <= max(rtol * abs(ours), least)
    return relative, "close" if close else "different"
