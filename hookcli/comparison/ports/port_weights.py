"""Compares the parameters of B with what of A makes them: the rows of a comparison of ports."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from hookcli.comparison.diff import RowStatus, StateDiff, TensorDiff
from hookcli.comparison.matching import Sketched, gradient, state
from hookcli.comparison.ports.maps.fits import Made
from hookcli.comparison.ports.maps.weight_map import text_of
from hookcli.comparison.ports.port_walk import PortWalk
from hookcli.comparison.ports.values import apart, parts_apart, print_of
from hookcli.comparison.state import least_norm
from hookcli.comparison.tolerance import TensorSummary, coarser, judge_tensors, worst
from hookcli.report.report import ParameterRow, Report
from hookcli.spec.request import MadeTensor

_SUMS = 1e-9  # of the norm: sums in another order


def weight_rows(
    a: Report,
    b: Report,
    values: tuple[Sketched, Sketched],
    made_of: Made,
    walk: PortWalk,
    *,
    cast: bool,
    graded: bool,
) -> Iterator[StateDiff]:
    """Yield a row for each parameter of B with what it is made of, and those of A that are left.

    Gradients are compared too if `graded`.
    """
    judge = _WeightJudge(a, values, walk, cast=cast)
    used: set[str] = set()
    for row in b.parameters:
        made = made_of.get(row.name)
        if made is None:
            yield StateDiff("parameter", None, row.name, "only_b")
            continue
        used.update(part.name for part in made.parts)
        value = judge.judged(made, row)
        names = ", ".join(text_of(part) for part in made.parts)
        slope = judge.gradient(made, row) if graded else None
        known = [one for one in (value, slope) if one is not None]
        status: RowStatus = worst(known) or "unknown"
        yield StateDiff("parameter", names, row.name, status, value, slope)
    for row in a.parameters:
        if row.name not in used:
            yield StateDiff("parameter", row.name, None, "only_a")


class _WeightJudge:
    """Compares a parameter of B with what of A makes it."""

    def __init__(
        self,
        a: Report,
        values: tuple[Sketched, Sketched],
        walk: PortWalk,
        *,
        cast: bool,
    ) -> None:
        self._ours = {row.name: row for row in a.parameters}
        self._values, self._walk, self._cast = values, walk, cast
        self._least = least_norm(gradient(row, values[0]) for row in a.parameters)

    def judged(self, made: MadeTensor, row: ParameterRow) -> TensorDiff | None:
        """Return the difference; None for rows of a tensor, which have no sketch of their own.

        In another layout, the difference is at least so large.
        """
        parts = [self._ours.get(part.name) for part in made.parts]
        known = [state(part, self._values[0]) for part in parts if part is not None]
        if len(known) < len(parts):
            return None
        other = state(row, self._values[1])
        rounds = None if known[0].dtype == other.dtype else coarser(known[0].dtype, other.dtype)
        limit = self._walk.tolerances.limit(made.parts[0].name, rounds, 0)
        return self._compared(made, known, other, limit, 0.0)

    def gradient(self, made: MadeTensor, row: ParameterRow) -> TensorDiff | None:
        """Return the difference of the gradients; None without them, and for rows of a tensor."""
        parts = [self._ours.get(part.name) for part in made.parts]
        found = [None if part is None else gradient(part, self._values[0]) for part in parts]
        known = [one for one in found if one is not None]
        other = gradient(row, self._values[1])
        if len(known) < len(parts) or other is None:
            return None
        limit = self._walk.gradient_limit(made.parts[0].name, known[0].dtype, other.dtype)
        return self._compared(made, known, other, limit, self._least)

    def _compared(
        self,
        made: MadeTensor,
        known: Sequence[TensorSummary],
        other: TensorSummary,
        limit: float,
        least: float,
    ) -> TensorDiff | None:
        if any(part.rows is not None for part in made.parts):
            return None
        first = known[0]
        if len(known) == 1 and not (made.parts[0].turned or made.turned):
            same = replace(other, shape=first.shape)
            found = judge_tensors(first, same, limit, cast=self._cast, least=least)
            return replace(found, shapes=(first.shape, other.shape))
        prints = [print_of(one.shape, one.values) for one in known]
        whole = print_of(other.shape, other.values)
        ours = [one for one in prints if one is not None]
        if whole is None or len(ours) < len(prints):
            return None
        far = apart(ours[0], whole) if len(ours) == 1 else parts_apart(whole, ours)
        norm = ours[0].norm if len(ours) == 1 else whole.norm
        if norm and norm < least:
            far *= norm / least
        return TensorDiff(
            path=made.parts[0].name,
            other_path=made.target,
            shapes=(first.shape, other.shape),
            dtypes=(first.dtype, other.dtype),
            relative=far if far < float("inf") else "inf",
            limit=limit,
            how="values",
            status="close" if far <= max(limit, _SUMS) else "different",
        )
