"""Compare the calls of A with those of B, in the order in which A computes values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from hookcli.comparison.diff import CallDiff, CallRef, ExactDiff, RowStatus, Status, TensorDiff
from hookcli.comparison.matching import Sketched, leaves, pair_tensors, traced_tensors
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
    """The start or end of a call in A."""

    row: LayerRow
    kind: Literal["enter", "leave"]


def moments(rows: Iterable[LayerRow]) -> list[CallMoment]:
    """Return the start and end of each call, in order: a call ends after those inside it."""
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
    """Return the reference to the call of a row."""
    return CallRef(row.order, row.name, row.call, row.type, row.place)


class Walk:
    """Goes through A's calls once; `rows` are in the order of A's starts, those only in B last.

    Attributes
    ----------
    inexact : the number of calls without inner calls that are not bitwise equal, so far.
    coarsest : the dtype that rounds most, so far.

    With `traced`, one side is a graph: TorchScript, which may be a trace, or an exported program.
    """

    def __init__(
        self,
        pairs: Mapping[int, LayerRow],
        values: tuple[Sketched, Sketched],
        tolerances: Tolerances,
        exact: Exact,
        *,
        cast: bool,
        traced: bool,
    ) -> None:
        self._traced = traced
        self._pairs, self._values, self._exact = pairs, values, exact
        self._tolerances, self._cast = tolerances, cast
        self._inputs: dict[int, tuple[TensorDiff, ...]] = {}
        self._outputs: dict[int, tuple[TensorDiff, ...]] = {}
        self.inexact = 0
        self.coarsest: str | None = None

    def go(self, moments_: Iterable[CallMoment], callers: set[int]) -> None:
        """Judge every tensor; `callers` are the orders of calls with inner calls."""
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
        """Return a verdict on each pair of tensors of two values."""
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
            for item, other in pair_tensors(ours, theirs)
        )

    def compare_outputs(self, ours: LayerRow, theirs: LayerRow) -> tuple[TensorDiff, ...]:
        """Return a verdict on what two calls return, which need not be counterparts."""
        paired = self._pairs.get(ours.order) is theirs
        return self.compare(
            leaves(ours, "outputs", self._values[0]),
            leaves(theirs, "outputs", self._values[1]),
            ours.name,
            self._exact.get((ours.order, "outputs"), ()) if paired else (),
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
        if self._traced and row.parent is not None:
            ours, theirs = traced_tensors(ours, theirs)
        return self.compare(ours, theirs, row.name, self._exact.get((row.order, part), ()))

    def _limit(self, name: str | None, summary: TensorSummary, other: TensorSummary) -> float:
        rounds = coarser(summary.dtype, other.dtype)
        dtype = None if rounds is None else coarser(self.coarsest, rounds)
        return self._tolerances.limit(name, dtype, self.inexact)

    def differences(self, moment: CallMoment) -> tuple[TensorDiff, ...]:
        """Return the verdicts on the tensors at a moment; none without a counterpart."""
        differences = self._inputs if moment.kind == "enter" else self._outputs
        return differences.get(moment.row.order, ())

    def at(self, moment: CallMoment) -> Status | None:
        """Return the worst status at a moment; None without a counterpart or tensors."""
        return worst(self.differences(moment))

    def largest(self, moment: CallMoment) -> TensorDiff | None:
        """Return the tensor that differs most at a moment."""
        differences = (self._inputs if moment.kind == "enter" else self._outputs)[moment.row.order]
        bad = [difference for difference in differences if difference.status == "different"]
        return max(bad, key=lambda difference: float(difference.relative or 0), default=None)

    def rows(self, a: Iterable[LayerRow], b: Iterable[LayerRow]) -> tuple[CallDiff, ...]:
        """Return a row for each call in A or B."""
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
        """Return calls whose inputs agree and output differs, except callers of such a call."""
        faults: set[int] = set()
        callers: set[int] = set()  # calls that contain such a call
        parents = {row.order: row.parent for row in rows}
        for row in reversed(rows):  # inner calls come first
            inputs, outputs = worst(self._inputs[row.order]), worst(self._outputs[row.order])
            if agrees(inputs) and not agrees(outputs) and row.order not in callers:
                faults.add(row.order)
            if row.order in faults or row.order in callers:
                parent = parents[row.order]
                if parent is not None:
                    callers.add(parent)
        return faults
