"""Compare one tensor of A and B: the difference, and whether it is more than rounding.

Rounding errors add up like a random walk: after n calls that are not bitwise equal, the limit is
`rtol * sqrt(1 + n)` (Higham and Mary 2019, "A new approach to probabilistic rounding error
analysis": errors grow with the square root of the number of operations, not with the number).
"""

from __future__ import annotations

import fnmatch
import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, TypeAlias

from hookcli.comparison.diff import ExactDiff, How, Status, TensorDiff
from hookcli.report.values import Number, Shape

RTOL: dict[str, float] = {
    "float64": 1e-14, "float32": 2e-6, "float16": 2e-3, "bfloat16": 1e-2,
    "float8_e4m3fn": 0.1, "float8_e4m3fnuz": 0.1, "float8_e5m2": 0.2, "float8_e5m2fnuz": 0.2,
    "complex128": 1e-14, "complex64": 2e-6, "complex32": 2e-3,
}  # fmt: skip
"""The limit for one call, relative to the norm: about ten times the differences observed between
algorithms for the same layer, or after a cast to the dtype. Integers and Booleans must be equal."""

_RANK: dict[Status, int] = {"same": 0, "close": 1, "unknown": 2, "different": 3}


@dataclass(frozen=True, slots=True)
class Tolerances:
    """The user's limits by globs on names; the last glob that matches applies."""

    given: tuple[tuple[str, float], ...] = ()

    def limit(self, name: str | None, dtype: str | None, inexact: int) -> float:
        """Return the limit for a tensor of a call or parameter, after `inexact` unequal calls."""
        given = self.given_for(name)
        return RTOL.get(dtype or "", 0.0) * math.sqrt(1 + inexact) if given is None else given

    def given_for(self, name: str | None) -> float | None:
        """Return the user's limit for a name; None if no glob matches."""
        for glob, rtol in reversed(self.given):
            if fnmatch.fnmatchcase(name or "", glob):
                return rtol
        return None


@dataclass(frozen=True, slots=True)
class TensorSummary:
    """A tensor in A or B. `values` is its sketch, `norm` the norm from its statistics."""

    path: str
    shape: Shape
    dtype: str
    values: dict[str, Any] | None = None
    norm: Number | None = None


def coarser(first: str | None, other: str | None) -> str | None:
    """Return the dtype that rounds more; None if neither rounds."""
    known = [dtype for dtype in (first, other) if dtype in RTOL]
    return max(known, key=lambda dtype: RTOL[dtype], default=None)


def worst(differences: Iterable[TensorDiff]) -> Status | None:
    """Return the worst status; None without differences."""
    return max(
        (difference.status for difference in differences),
        key=lambda status: _RANK[status],
        default=None,
    )


def agrees(status: Status | None) -> bool:
    """Return whether no difference is known."""
    return status != "different"


def lone(summary: TensorSummary | None, other: TensorSummary | None) -> TensorDiff:
    """Return the difference of a tensor that exists only in A or only in B."""
    return TensorDiff(
        path=summary.path if summary else None,
        other_path=other.path if other else None,
        shapes=(summary.shape if summary else None, other.shape if other else None),
        dtypes=(summary.dtype if summary else None, other.dtype if other else None),
        relative=None,
        limit=None,
        how="structure",
        status="different",
    )


def judge_tensors(
    summary: TensorSummary,
    other: TensorSummary,
    limit: float,
    *,
    cast: bool,
    exact: ExactDiff | None = None,
    least: float = 0.0,
) -> TensorDiff:
    """Judge a pair of tensors. A norm of A below `least` counts as `least`.

    With `cast`, a different dtype is intended, and not a difference.
    """
    relative, how, status = _compared(summary, other, limit, exact, least)
    if summary.shape != other.shape:
        relative, how, status = None, "shape", "different"
    elif summary.dtype != other.dtype and not cast and status != "different":
        how, status = "dtype", "different"
    return TensorDiff(
        path=summary.path,
        other_path=other.path,
        shapes=(summary.shape, other.shape),
        dtypes=(summary.dtype, other.dtype),
        relative=relative,
        limit=limit,
        how=how,
        status=status,
    )


_How: TypeAlias = How | None


def _compared(
    summary: TensorSummary,
    other: TensorSummary,
    limit: float,
    exact: ExactDiff | None,
    least: float,
) -> tuple[Number | None, _How, Status]:
    if exact is not None:
        relative = exact.relative
        if not exact.differ and summary.dtype == other.dtype:
            return 0.0, "bits", "same"
        over = isinstance(relative, str) or relative > limit
        return relative, "exact", "different" if over else "close"
    if (
        summary.values is None
        or other.values is None
        or not _are_comparable(summary.values, other.values)
    ):
        return _by_norm(summary, other, limit, least)
    a, b = summary.values, other.values
    if a["digest"] == b["digest"]:
        return 0.0, "bits", "same"
    if a["nonfinite"] != b["nonfinite"]:
        return None, "nonfinite", "different"
    return _relative(_distance(a, b), max(_float(a["norm"]), least), limit, "sketch")


def _relative(
    distance: float, norm: float, limit: float, how: _How
) -> tuple[Number | None, _How, Status]:
    if not math.isfinite(distance) or not math.isfinite(norm):
        return None, how, "unknown"
    if distance == 0:
        return 0.0, how, "close"
    relative = distance / norm if norm else math.inf
    return (
        "inf" if math.isinf(relative) else relative,
        how,
        "close" if relative <= limit else "different",
    )


def _by_norm(
    summary: TensorSummary, other: TensorSummary, limit: float, least: float
) -> tuple[Number | None, _How, Status]:
    """Compare by norms: the norm of the difference is at least the difference of the norms."""
    if summary.norm is None or other.norm is None:
        return None, None, "unknown"
    if summary.norm == other.norm:
        return 0.0, "norm", "close"
    a, b = _float(summary.norm), _float(other.norm)
    if math.isfinite(a) != math.isfinite(b):
        return None, "nonfinite", "different"
    return _relative(abs(a - b), max(a, least), limit, "norm")


def distance(summary: TensorSummary, other: TensorSummary) -> float:
    """Estimate the norm of the difference of two tensors; infinite if it is not known."""
    a, b = summary.values, other.values
    if a is None or b is None or not _are_comparable(a, b):
        return math.inf
    if a["digest"] == b["digest"]:
        return 0.0
    estimate = _distance(a, b)
    return math.inf if math.isnan(estimate) else estimate


def _are_comparable(a: dict[str, Any], b: dict[str, Any]) -> bool:
    """Return whether two sketches have the same number of vectors."""
    return len(a["projections"]) == len(b["projections"]) > 0


def _distance(a: dict[str, Any], b: dict[str, Any]) -> float:
    """Estimate the norm of the difference: see `hookcli.engine.statistics.sketch`."""
    ours, theirs = a["projections"], b["projections"]
    differences = [_float(x) - _float(y) for x, y in zip(ours, theirs, strict=True)]
    # Not `**`, which raises if it overflows.
    squares = sum(difference * difference for difference in differences)
    return math.sqrt(squares / len(differences))


def _float(value: Number) -> float:
    return float(value)
