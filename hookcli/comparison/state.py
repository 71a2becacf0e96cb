"""Compare the parameters, buffers and gradients of two reports."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from hookcli.comparison.align import Alignment
from hookcli.comparison.diff import RowStatus, StateDiff, TensorDiff
from hookcli.comparison.matching import Sketched, gradient, state
from hookcli.comparison.tolerance import (
    RTOL,
    TensorSummary,
    Tolerances,
    coarser,
    judge_tensors,
    lone,
    worst,
)
from hookcli.comparison.walk import Walk
from hookcli.report.report import BufferRow, ParameterRow, Report

_LEAST = 0.1
"""The least norm, relative to the largest gradient, that an error of a gradient is divided by. The
error comes from larger gradients: one that is zero except for rounding has no correct digit."""


def casts_of(a: Report, b: Report, names: Alignment) -> dict[str, str]:
    """Return a mapping from A's dtypes to B's if the whole model was cast.

    It is empty if dtypes are the same, or if only a part of the model differs.
    """
    theirs = {row.name: row for row in b.parameters}
    pairs = names.pairs((row.name for row in a.parameters), theirs)
    casts: dict[str, str] = {}
    for row in a.parameters:
        if row.name in pairs and row.dtype in RTOL:
            other = theirs[pairs[row.name]].dtype
            if casts.setdefault(row.dtype, other) != other:
                return {}
    return {dtype: other for dtype, other in casts.items() if dtype != other}


def states(
    a: Report,
    b: Report,
    names: Alignment,
    values: tuple[Sketched, Sketched],
    tolerances: Tolerances,
    *,
    walk: Walk,
    cast: dict[str, str],
) -> tuple[StateDiff, ...]:
    """Return a row for each parameter and buffer in A or B, those in A first."""
    least = least_norm(gradient(row, values[0]) for row in a.parameters)
    make = _Maker(values, tolerances, walk, least, cast=bool(cast))
    parameters = make.rows("parameter", a.parameters, b.parameters, names)
    return (*parameters, *make.rows("buffer", a.buffers, b.buffers, names))


class _Maker:
    def __init__(
        self,
        values: tuple[Sketched, Sketched],
        tolerances: Tolerances,
        walk: Walk,
        least: float,
        *,
        cast: bool,
    ) -> None:
        self._values, self._tolerances = values, tolerances
        self._walk, self._least, self._cast = walk, least, cast

    def rows(
        self,
        kind: str,
        ours: Sequence[ParameterRow] | Sequence[BufferRow],
        theirs: Sequence[ParameterRow] | Sequence[BufferRow],
        names: Alignment,
    ) -> list[StateDiff]:
        there: Mapping[str, ParameterRow | BufferRow] = {row.name: row for row in theirs}
        pairs = names.pairs([row.name for row in ours], there)
        rows = [self._row(kind, row, there.get(pairs.get(row.name, ""))) for row in ours]
        taken = set(pairs.values())
        left = [name for name in there if name not in taken]
        return [*rows, *(StateDiff(kind, None, name, "only_b") for name in left)]  # type: ignore[arg-type]

    def _row(
        self, kind: str, row: ParameterRow | BufferRow, other: ParameterRow | BufferRow | None
    ) -> StateDiff:
        if other is None:
            return StateDiff(kind, row.name, None, "only_a")  # type: ignore[arg-type]
        first, two = state(row, self._values[0]), state(other, self._values[1])
        rounds = None if first.dtype == two.dtype else coarser(first.dtype, two.dtype)
        limit = self._tolerances.limit(row.name, rounds, 0)  # stored values have no rounding errors
        value = judge_tensors(first, two, limit, cast=self._cast)
        graded = self._gradient(row, other)
        status: RowStatus = worst([value] if graded is None else [value, graded]) or "unknown"
        return StateDiff(kind, row.name, other.name, status, value, graded)  # type: ignore[arg-type]

    def _gradient(
        self, row: ParameterRow | BufferRow, other: ParameterRow | BufferRow
    ) -> TensorDiff | None:
        if isinstance(row, BufferRow) or isinstance(other, BufferRow):
            return None
        first, two = gradient(row, self._values[0]), gradient(other, self._values[1])
        if first is None and two is None:
            return None
        if first is None or two is None:
            return lone(first, two)
        rounds = coarser(first.dtype, two.dtype)
        dtype = None if rounds is None else coarser(self._walk.coarsest, rounds)
        limit = self._tolerances.limit(row.name, dtype, 2 * self._walk.inexact)
        return judge_tensors(first, two, limit, cast=self._cast, least=self._least)


def least_norm(gradients: Iterable[TensorSummary | None]) -> float:
    """Return the least norm that an error of a gradient is divided by."""
    norms = [_norm(summary) for summary in gradients if summary is not None]
    return _LEAST * max((n for n in norms if n < float("inf")), default=0.0)


def _norm(summary: TensorSummary) -> float:
    if summary.values is not None:
        return float(summary.values["norm"])
    return float(summary.norm or 0.0)
