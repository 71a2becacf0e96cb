"""The calls of A in the order in which values come to be, each held against B's."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from hookcli.comparison.diff import CallDiff, CallRef, ExactDiff, RowStatus, Status, TensorDiff
from hookcli.comparison.matching import Sketched, beside, leaves
from hookcli.comparison.tolerance import (
    TensorSummary,
    Tolerances,
    agrees,
    coarser,
    judge_tensors,
    lone,
    worst,
)
from hookcli.report.report import LayerRow

Exact: TypeAlias = Mapping[tuple[int, str], tuple[ExactDiff, ...]]  # by A's order and the part


@dataclass(frozen=True, slots=True)
class CallMoment:
    """A call starts or ends, on A."""

    row: LayerRow
    kind: Literal["enter", "leave"]


def moments(rows: Iterable[LayerRow]) -> list[CallMoment]:
    """Each call's start and end, in order: a call ends after those inside it."""
    found: list[CallMoment] = []
    open_: list[LayerRow] = []
    for row in rows:
        while open_ and open_[-1].order != row.parent:
            found.append(CallMoment(open_.pop(), "leave"))
        found.append(CallMoment(row, "enter"))
        open_.append(row)
    found += [CallMoment(row, "leave") for row in reversed(open_)]
    return found


def ref(row: LayerRow) -> CallRef:
    """A row's call, by its name."""
    return CallRef(row.order, row.name, row.call, row.type, row.place)


class Walk:
    """Goes through A's calls once; `rows` are then in the order of A's starts, B's lone ones last.

    Attributes
    ----------
    inexact : the calls without calls inside that are not bit for bit the same, so far.
    coarsest : the dtype that rounds most, of those that were seen so far.

    """

    def __init__(
        self,
        pairs: Mapping[int, LayerRow],
        values: tuple[Sketched, Sketched],
        tolerances: Tolerances,
        exact: Exact,
        *,
        cast: bool,
    ) -> None:
        self._pairs, self._values, self._exact = pairs, values, exact
        self._tolerances, self._cast = tolerances, cast
        self._inputs: dict[int, tuple[TensorDiff, ...]] = {}
        self._outputs: dict[int, tuple[TensorDiff, ...]] = {}
        self.inexact = 0
        self.coarsest: str | None = None

    def go(self, moments_: Iterable[CallMoment], callers: set[int]) -> None:
        """Judge every tensor; `callers` are the orders of calls with calls inside."""
        for moment in moments_:
            row = moment.row
            part = "inputs" if moment.kind == "enter" else "outputs"
            found = self._part(row, part)
            (self._inputs if moment.kind == "enter" else self._outputs)[row.order] = found
            if moment.kind == "leave" and row.order not in callers:
                self.inexact += row.order not in self._pairs or worst(found) not in {None, "same"}

    def compare(
        self,
        ours: list[TensorSummary],
        theirs: list[TensorSummary],
        name: str | None,
        exact: tuple[ExactDiff, ...] = (),
    ) -> tuple[TensorDiff, ...]:
        """A verdict on each tensor of two values."""
        known = {one.path: one for one in exact}
        return tuple(
            lone(one, other)
            if one is None or other is None
            else judge_tensors(
                one,
                other,
                self._limit(name, one, other),
                cast=self._cast,
                exact=known.get(one.path),
            )
            for one, other in beside(ours, theirs)
        )

    def _part(self, row: LayerRow, part: str) -> tuple[TensorDiff, ...]:
        partner = self._pairs.get(row.order)
        ours = leaves(row, part, self._values[0])
        for one in ours:
            self.coarsest = coarser(self.coarsest, one.dtype)
        if partner is None:
            return ()
        theirs = leaves(partner, part, self._values[1])
        for one in theirs:
            self.coarsest = coarser(self.coarsest, one.dtype)
        return self.compare(ours, theirs, row.name, self._exact.get((row.order, part), ()))

    def _limit(self, name: str | None, one: TensorSummary, other: TensorSummary) -> float:
        rounds = coarser(one.dtype, other.dtype)
        dtype = None if rounds is None else coarser(self.coarsest, rounds)
        return self._tolerances.limit(name, dtype, self.inexact)

    def at(self, moment: CallMoment) -> Status | None:
        """How the tensors of a moment compare; None where there is no partner, or no tensor."""
        found = self._inputs if moment.kind == "enter" else self._outputs
        return worst(found.get(moment.row.order, ()))

    def largest(self, moment: CallMoment) -> TensorDiff | None:
        """The tensor that differs most at a moment."""
        found = (self._inputs if moment.kind == "enter" else self._outputs)[moment.row.order]
        bad = [one for one in found if one.status == "different"]
        return max(bad, key=lambda one: float(one.relative or 0), default=None)

    def rows(self, a: Iterable[LayerRow], b: Iterable[LayerRow]) -> tuple[CallDiff, ...]:
        """A row for each call of either side."""
        ours = list(a)
        faults = self._faults(ours)
        found = [self._row(row, fault=row.order in faults) for row in ours]
        taken = {row.order for row in self._pairs.values()}
        found += [
            CallDiff(None, ref(row), "only_b", None, None, fault=False)
            for row in b
            if row.order not in taken
        ]
        return tuple(found)

    def _row(self, row: LayerRow, *, fault: bool) -> CallDiff:
        partner = self._pairs.get(row.order)
        if partner is None:
            return CallDiff(ref(row), None, "only_a", None, None, fault=False)
        inputs, outputs = self._inputs[row.order], self._outputs[row.order]
        status: RowStatus = worst((*inputs, *outputs)) or "same"
        return CallDiff(
            ref(row), ref(partner), status, worst(inputs), worst(outputs), fault, inputs, outputs
        )

    def _faults(self, rows: list[LayerRow]) -> set[int]:
        """Calls whose inputs agree and output differs, but for those that such a call made so."""
        found: set[int] = set()
        blamed: set[int] = set()  # calls with such a one inside
        parents = {row.order: row.parent for row in rows}
        for row in reversed(rows):  # those inside come first
            inputs, outputs = worst(self._inputs[row.order]), worst(self._outputs[row.order])
            if agrees(inputs) and not agrees(outputs) and row.order not in blamed:
                found.add(row.order)
            if row.order in found or row.order in blamed:
                parent = parents[row.order]
                if parent is not None:
                    blamed.add(parent)
        return found
