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
    call_moments: list[CallMoment] = []
    open_: list[LayerRow] = []
    for row in rows:
        while open_ and open_[-1].order != row.parent:
            call_moments.append(CallMoment(open_.pop(), "leave"))
        call_moments.append(CallMoment(row, "enter"))
        open_.append(row)
    call_moments += [CallMoment(row, "leave") for row in reversed(open_)]
    return call_moments


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
            differences = self._part(row, part)
            (self._inputs if moment.kind == "enter" else self._outputs)[row.order] = differences
            if moment.kind == "leave" and row.order not in callers:
                self.inexact += row.order not in self._pairs or worst(differences) not in {
                    None,
                    "same",
                }

    def compare(
        self,
        ours: list[TensorSummary],
        theirs: list[TensorSummary],
        name: str | None,
        exact: tuple[ExactDiff, ...] = (),
    ) -> tuple[TensorDiff, ...]:
        """A verdict on each tensor of two values."""
        known = {item.path: item for item in exact}
        return tuple(
            lone(item, other)
            if item is None or other is None
            else judge_tensors(
                item,
                other,
                self._limit(name, item, other),
                cast=self._cast,
                exact=known.get(item.path),
            )
            for item, other in beside(ours, theirs)
        )

    def _part(self, row: LayerRow, part: str) -> tuple[TensorDiff, ...]:
        partner = self._pairs.get(row.order)
        ours = leaves(row, part, self._values[0])
        for summary in ours:
            self.coarsest = coarser(self.coarsest, summary.dtype)
        if partner is None:
            return ()
        theirs = leaves(partner, part, self._values[1])
        for summary in theirs:
            self.coarsest = coarser(self.coarsest, summary.dtype)
        return self.compare(ours, theirs, row.name, self._exact.get((row.order, part), ()))

    def _limit(self, name: str | None, summary: TensorSummary, other: TensorSummary) -> float:
        rounds = coarser(summary.dtype, other.dtype)
        dtype = None if rounds is None else coarser(self.coarsest, rounds)
        return self._tolerances.limit(name, dtype, self.inexact)

    def at(self, moment: CallMoment) -> Status | None:
        """How the tensors of a moment compare; None where there is no partner, or no tensor."""
        differences = self._inputs if moment.kind == "enter" else self._outputs
        return worst(differences.get(moment.row.order, ()))

    def largest(self, moment: CallMoment) -> TensorDiff | None:
        """The tensor that differs most at a moment."""
        differences = (self._inputs if moment.kind == "enter" else self._outputs)[moment.row.order]
        bad = [difference for difference in differences if difference.status == "different"]
        return max(bad, key=lambda difference: float(difference.relative or 0), default=None)

    def rows(self, a: Iterable[LayerRow], b: Iterable[LayerRow]) -> tuple[CallDiff, ...]:
        """A row for each call of either side."""
        ours = list(a)
        faults = self._faults(ours)
        rows = [self._row(row, fault=row.order in faults) for row in ours]
        taken = {row.order for row in self._pairs.values()}
        rows += [
            CallDiff(None, ref(row), "only_b", None, None, fault=False)
            for row in b
            if row.order not in taken
        ]
        return tuple(rows)

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
        faults: set[int] = set()
        blamed: set[int] = set()  # calls with such a one inside
        parents = {row.order: row.parent for row in rows}
        for row in reversed(rows):  # those inside come first
            inputs, outputs = worst(self._inputs[row.order]), worst(self._outputs[row.order])
            if agrees(inputs) and not agrees(outputs) and row.order not in blamed:
                faults.add(row.order)
            if row.order in faults or row.order in blamed:
                parent = parents[row.order]
                if parent is not None:
                    blamed.add(parent)
        return faults
