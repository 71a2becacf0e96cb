"""Compares the parameters of B with what of A makes them: the rows of a comparison of ports."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from hookcli.comparison.diff import RowStatus, StateDiff, TensorDiff
from hookcli.comparison.matching import Sketched, state
from hookcli.comparison.ports.maps.fits import Made
from hookcli.comparison.ports.maps.weight_map import text_of
from hookcli.comparison.ports.values import apart, parts_apart, print_of
from hookcli.comparison.tolerance import Tolerances, coarser, judge_tensors
from hookcli.report.report import ParameterRow, Report
from hookcli.spec.request import MadeTensor

_SUMS = 1e-9  # of the norm: sums in another order


def weight_rows(
    a: Report,
    b: Report,
    values: tuple[Sketched, Sketched],
    made_of: Made,
    tolerances: Tolerances,
    *,
    cast: bool,
) -> Iterator[StateDiff]:
    """Yield a row for each parameter of B with what it is made of, and those of A that are left."""
    judge = _WeightJudge(a, values, tolerances, cast=cast)
    used: set[str] = set()
    for row in b.parameters:
        made = made_of.get(row.name)
        if made is None:
            yield StateDiff("parameter", None, row.name, "only_b")
            continue
        used.update(part.name for part in made.parts)
        value = judge.judged(made, row)
        names = ", ".join(text_of(part) for part in made.parts)
        status: RowStatus = "unknown" if value is None else value.status
        yield StateDiff("parameter", names, row.name, status, value)
    for row in a.parameters:
        if row.name not in used:
            yield StateDiff("parameter", row.name, None, "only_a")


class _WeightJudge:
    """Compares a parameter of B with what of A makes it."""

    def __init__(
        self,
        a: Report,
        values: tuple[Sketched, Sketched],
        tolerances: Tolerances,
        *,
        cast: bool,
    ) -> None:
        self._ours = {row.name: row for row in a.parameters}
        self._values, self._tolerances, self._cast = values, tolerances, cast

    def judged(self, made: MadeTensor, row: ParameterRow) -> TensorDiff | None:
        """Return the difference; None for rows of a tensor, which have no sketch of their own.

        In another layout, the difference is at least so large.
        """
        parts = [self._ours.get(part.name) for part in made.parts]
        known = [state(part, self._values[0]) for part in parts if part is not None]
        if len(known) < len(parts) or any(part.rows is not None for part in made.parts):
            return None
        other = state(row, self._values[1])
        first = known[0]
        rounds = None if first.dtype == other.dtype else coarser(first.dtype, other.dtype)
        limit = self._tolerances.limit(made.parts[0].name, rounds, 0)
        if len(known) == 1 and not (made.parts[0].turned or made.turned):
            same = replace(other, shape=first.shape)
            found = judge_tensors(first, same, limit, cast=self._cast)
            return replace(found, shapes=(first.shape, other.shape))
        prints = [print_of(one.shape, one.values) for one in known]
        whole = print_of(other.shape, other.values)
        ours = [one for one in prints if one is not None]
        if whole is None or len(ours) < len(prints):
            return None
        far = apart(ours[0], whole) if len(ours) == 1 else parts_apart(whole, ours)
        return TensorDiff(
            path=made.parts[0].name,
            other_path=row.name,
            shapes=(first.shape, other.shape),
            dtypes=(first.dtype, other.dtype),
            relative=far if far < float("inf") else "inf",
            limit=limit,
            how="values",
            status="close" if far <= max(limit, _SUMS) else "different",
        )
