"""Compares matched calls of two implementations: tensors are paired by size and values."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from math import inf, prod

from hookcli.comparison.diff import ExactDiff, Status, TensorDiff
from hookcli.comparison.matching import leaves
from hookcli.comparison.ports.values import apart, print_of, repeated_apart
from hookcli.comparison.tolerance import (
    TensorSummary,
    Tolerances,
    agrees,
    coarser,
    distance,
    judge_tensors,
    lone,
    worst,
)
from hookcli.comparison.walk import CallMoment, Walk
from hookcli.report.report import LayerRow
from hookcli.report.values import Shape


class PortWalk(Walk):
    """Goes through A's calls. A tensor that the counterpart does not have is passed over.

    `by_output` are calls that were matched since they return the same: what goes into them need not
    be the same, if one of the two does the work of several calls of the other. If any two calls
    return the same, their inputs may have other shapes: one of the two pads or slices them itself.

    Two implementations of a module may take and return other things beside the values that count,
    such as masks and caches. Only if no tensor of a call without inner calls has a counterpart do
    the shapes differ.
    """

    by_output: frozenset[int] = frozenset()

    def go(self, moments_: Iterable[CallMoment], callers: set[int]) -> None:
        """Judge every tensor; `callers` are the orders of calls with inner calls."""
        self._callers = callers
        super().go(moments_, callers)

    def _part(self, row: LayerRow, part: str) -> tuple[TensorDiff, ...]:
        partner = self._pairs.get(row.order)
        ours = leaves(row, part, self._values[0])
        theirs = [] if partner is None else leaves(partner, part, self._values[1])
        for summary in (*ours, *theirs):
            self.coarsest = coarser(self.coarsest, summary.dtype)
        if partner is None:
            return ()
        outermost = row.parent is None and part == "outputs"
        strict = row.order not in self._callers or outermost
        exact = self._exact.get((row.order, part), ())
        return self._judged(ours, theirs, row.name, exact, strict=strict)

    def at(self, moment: CallMoment) -> Status | None:
        """Return the worst status at a moment; None without a counterpart or tensors."""
        order = moment.row.order
        outputs = self._outputs.get(order, ())
        if moment.kind == "enter" and agrees(worst(outputs)):
            by_shape = outputs and {
                one.how for one in self._inputs.get(order, ()) if one.status == "different"
            } == {"shape"}
            if by_shape or order in self.by_output:
                return None
        return super().at(moment)

    def compare_outputs(self, ours: LayerRow, theirs: LayerRow) -> tuple[TensorDiff, ...]:
        """Return a verdict on what two calls return."""
        a = leaves(ours, "outputs", self._values[0])
        b = leaves(theirs, "outputs", self._values[1])
        return self._judged(a, b, ours.name, (), strict=True)

    @property
    def tolerances(self) -> Tolerances:
        """The limits of the comparison."""
        return self._tolerances

    def gradient_limit(self, name: str, dtype: str, other: str) -> float:
        """Return the largest allowed difference of a gradient, which passed all calls twice."""
        rounds = coarser(dtype, other)
        whole = None if rounds is None else coarser(self.coarsest, rounds)
        return self._tolerances.limit(name, whole, 2 * self.inexact)

    def limit_of(self, row: LayerRow) -> float:
        """Return the largest allowed difference at a call, after all calls that are not equal."""
        return self._tolerances.limit(row.name, self.coarsest, self.inexact)

    def _judged(
        self,
        ours: Sequence[TensorSummary],
        theirs: Sequence[TensorSummary],
        name: str | None,
        exact: Sequence[ExactDiff],
        *,
        strict: bool,
    ) -> tuple[TensorDiff, ...]:
        """Return the verdicts; only if `strict`, values without any counterpart are different."""
        pairs = paired(ours, theirs)
        if not pairs and ours and theirs and strict:
            repeated = self._repeated(ours, theirs, name)
            return (_of_shapes(ours[0], theirs[0]) if repeated is None else repeated,)
        known = {(one.path, one.other_path): one for one in exact}
        return tuple(
            self._judge(a, b, self._limit(name, a, b), known.get((a.path, b.path)))
            for a, b in pairs
        )

    def _repeated(
        self, ours: Sequence[TensorSummary], theirs: Sequence[TensorSummary], name: str | None
    ) -> TensorDiff | None:
        """Return the verdict on a tensor that repeats one of the other: positions of each sample.

        None if no tensor has the sums of another, times the number of repetitions.
        """
        for a in ours:
            for b in theirs:
                one, other = print_of(a.shape, a.values), print_of(b.shape, b.values)
                limit = self._limit(name, a, b)
                far = inf if one is None or other is None else repeated_apart(one, other)
                if _are_alike(a, b) and _may_repeat(a.shape, b.shape) and far <= limit:
                    found = lone(a, b)
                    return replace(found, relative=far, limit=limit, how="values", status="close")
        return None

    def _judge(
        self, a: TensorSummary, b: TensorSummary, limit: float, exact: ExactDiff | None
    ) -> TensorDiff:
        shapes = a.shape, b.shape
        flat = judge_tensors(a, replace(b, shape=a.shape), limit, cast=self._cast, exact=exact)
        flat = replace(flat, shapes=shapes)
        one, other = print_of(a.shape, a.values), print_of(b.shape, b.values)
        if flat.status == "different" and _may_be_permuted(*shapes) and one and other:
            far = apart(one, other)
            status: Status = "different" if far > limit else "close"
            return replace(flat, relative=far, how="values", status=status)
        return flat


def _may_be_permuted(a: Shape, b: Shape) -> bool:
    """Return whether two values may have one layout each: dimensions in another order.

    Of equal shapes, that is so only if two dimensions have one size.
    """
    ours, theirs = ([size for size in shape if size != 1] for shape in (a, b))
    return ours != theirs or len(set(ours)) < len(ours)


def _may_repeat(a: Shape, b: Shape) -> bool:
    """Return whether one shape is the other with sizes of 1 in place of some, or without them."""
    small, large = sorted((a, b), key=lambda shape: prod(size or 0 for size in shape))
    small = (1,) * (len(large) - len(small)) + small
    return len(small) == len(large) and all(x in {1, y} for x, y in zip(small, large, strict=True))


def _of_shapes(a: TensorSummary, b: TensorSummary) -> TensorDiff:
    return replace(lone(a, b), relative=None, how="shape", status="different")


def paired(
    ours: Iterable[TensorSummary], theirs: Iterable[TensorSummary]
) -> list[tuple[TensorSummary, TensorSummary]]:
    """Return the tensors of two values that are counterparts: of one size, the nearest first."""
    rows, others = list(ours), [one for one in theirs if _numel(one)]
    fitting = [
        (far, i, j)
        for i, a in enumerate(rows)
        for j, b in enumerate(others)
        if _numel(a) == _numel(b) and _are_alike(a, b)
        for far in [_far(a, b)]
    ]
    fitting.sort(key=lambda item: (item[0] if item[0] == item[0] else inf, *item[1:]))
    found: dict[int, int] = {}
    for _, i, j in fitting:
        if i not in found and j not in found.values():
            found[i] = j
    return [(rows[i], others[found[i]]) for i in sorted(found)]


def _far(a: TensorSummary, b: TensorSummary) -> float:
    if a.shape == b.shape:
        return distance(a, b)
    one, other = print_of(a.shape, a.values), print_of(b.shape, b.values)
    return distance(a, b) if one is None or other is None else apart(one, other) * one.norm


def _are_alike(a: TensorSummary, b: TensorSummary) -> bool:
    """Return whether both are floating-point or neither is."""
    return (coarser(a.dtype, None) is None) == (coarser(b.dtype, None) is None)


def _numel(summary: TensorSummary) -> int:
    total = 1
    for size in summary.shape:
        total *= size or 0
    return total
