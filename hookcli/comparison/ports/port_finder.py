"""Finds where two implementations first differ, and names the calls of both, or the code between.

The rows of A tell the order. Calls of one side that the other has fused are judged together, when
the last of them ends.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hookcli.comparison.diff import Fault, First, PortMatch, StateDiff
from hookcli.comparison.first_difference import by_how_much, figure, named
from hookcli.comparison.matching import Sketched, leaves
from hookcli.comparison.ports.fused import FusedCalls
from hookcli.comparison.ports.port_walk import PortWalk
from hookcli.comparison.ports.values import ValuePrint, apart, is_telling, print_of
from hookcli.comparison.walk import CallMoment, Exact, ref
from hookcli.report.report import LayerRow
from hookcli.text import join_names

_SHOWN = 3
_NEXT = 3  # calls after one whose output the code between may change
Stretch = tuple[tuple[str | None, str | None], tuple[str | None, str | None]]


@dataclass(frozen=True, slots=True)
class PortFinding:
    """The first difference, and the lines of both models between which it arises."""

    first: First
    stretch: Stretch | None = None


class PortFinder:
    """Finds the first difference among matched calls.

    `pairs` are single counterparts by the order in A, `matches` those and the `fused` ones, and
    `weights` the rows of parameters. `exact` has the calls that were compared element by element.
    `agree`: the models return the same, so that calls whose shapes differ do the same elsewhere.
    """

    def __init__(
        self,
        walk: PortWalk,
        moments: Sequence[CallMoment],
        pairs: Mapping[int, LayerRow],
        matches: Sequence[PortMatch],
        fused: Sequence[FusedCalls],
        rows: tuple[Sequence[LayerRow], Sequence[LayerRow]],
        values: tuple[Sketched, Sketched],
        weights: Sequence[StateDiff],
        exact: Exact,
        *,
        agree: bool,
    ) -> None:
        self._agree = agree
        self._walk, self._moments, self._pairs = walk, moments, pairs
        self._rows, self._values = rows, values
        self._by_order = tuple({row.order: row for row in side} for side in rows)
        self._fused, self._exact = fused, exact
        self._weights = [row.b for row in weights if row.status == "different" and row.b]
        self._callers = {row.parent for row in rows[0] if row.parent is not None}
        self._matched_b = {order for match in matches for order in match.b}
        self._matched_a = {order for match in matches for order in match.a}

    def first(self) -> PortFinding | None:
        """Return the first difference among the calls."""
        ends = {max(fused.match.a): fused for fused in self._fused}
        for index, moment in enumerate(self._moments):
            row = moment.row
            if self._walk.at(moment) == "different" and not self._is_aside(index):
                return self._at(index, moment)
            if moment.kind == "leave" and row.order in ends:
                found = self._of_fused(ends[row.order])
                if found is not None:
                    return found
        return None

    def _is_aside(self, index: int) -> bool:
        """Return whether the next call agrees, so that a call around others has no counterpart.

        What it contains is that of the other, but one of the two does more: the embedding that adds
        positions beside one that does not. A fault would reach the next call.
        """
        moment = self._moments[index]
        if self._agree and self._differs_in_shape(moment):
            return True
        if moment.row.order not in self._callers:
            return moment.kind == "leave" and self._is_moved(moment.row)
        for later in self._moments[index + 1 :]:
            if later.row.order not in self._callers and self._walk.differences(later):
                return later.kind == "enter" and self._walk.at(later) != "different"
        return False

    def _differs_in_shape(self, moment: CallMoment) -> bool:
        bad = [one for one in self._walk.differences(moment) if one.status == "different"]
        return all(one.how == "shape" for one in bad)

    def _is_moved(self, row: LayerRow) -> bool:
        """Return whether what one side returns here soon goes into a call of the other.

        The code between does in one model what the layer does in the other: an embedding that
        scales beside one that does not. After a fault, the values do not meet again.
        """
        both = row, self._pairs[row.order]
        limit = self._walk.limit_of(row)
        for side in (0, 1):
            own = self._prints(1 - side, both[1 - side], "outputs")[:1]
            later = [one for one in self._rows[side] if one.order > both[side].order][:_NEXT]
            fed = [known for one in later for known in self._prints(side, one, "inputs")]
            if own and any(apart(own[0], known) <= limit for known in fed):
                return True
        return False

    def _prints(self, side: int, row: LayerRow, part: str) -> list[ValuePrint]:
        found = (print_of(one.shape, one.values) for one in leaves(row, part, self._values[side]))
        return [one for one in found if one is not None and is_telling(one)]

    def _of_fused(self, fused: FusedCalls) -> PortFinding | None:
        """Return the difference of fused calls: of their inputs, or of what they return."""
        ours = join_names([named(ref(row)) for row in fused.ours], _SHOWN)
        theirs = join_names([named(ref(row)) for row in fused.theirs], _SHOWN)
        if fused.inputs is not None and fused.inputs.status == "different":
            worst, fault = fused.inputs, "code"
            sentence = (
                f"all earlier calls agree, but the input of {ours} and {theirs} differs by at "
                f"least {figure(worst.relative)} of its norm"
            )
        elif fused.outputs is not None and fused.outputs.status == "different":
            worst, fault = fused.outputs, "output"
            sentence = (
                f"{ours} and {theirs} get equal inputs, but what they return together differs by "
                f"at least {figure(worst.relative)} of its norm: the cause is in one of them, or "
                "in its weights"
            )
        else:
            return None
        a, b = ref(fused.ours[-1]), ref(fused.theirs[-1])
        kind: Fault = "code" if fault == "code" else "output"
        return PortFinding(First(kind, a, b, None, None, sentence, worst.relative, worst.limit))

    def _at(self, index: int, moment: CallMoment) -> PortFinding:
        row, partner = moment.row, self._pairs[moment.row.order]
        worst = self._walk.largest(moment)
        size = "differs" if worst is None else by_how_much(worst)
        both = both_named(row, partner)
        within = self._caller(row) if moment.kind == "enter" else None
        inside = moment.kind == "leave" and self._moments[index - 1].row is not row
        around = row if within is None else within
        after = self._before(index, around)
        stretch = None
        if moment.kind == "leave" and not inside:
            sentence = (
                f"the inputs of {both} agree, but their output {size}: the cause is in one of them"
                f"{self._settings(row, partner)}"
            )
        elif moment.kind == "enter" and within is None:
            sentence = f"the inputs of {both} already differ: the input {size}"
        else:
            stretch = self._stretch(row if moment.kind == "enter" else None, after)
            what = "the output" if moment.kind == "leave" else "the input"
            place = both_named(around, self._pairs[around.order])
            past = "" if after is None else f" after {self._both(after)}"
            lines = _of_lines(stretch)
            sentence = (
                f"all earlier calls agree, but {what} of {both} {size}: the cause is in the code "
                f"of {place}{past}{lines}"
            )
            alone = self._alone(index, around, after, moment)
            if alone:
                sentence += f"; calls in between without a counterpart: {join_names(alone, _SHOWN)}"
        return PortFinding(
            First(
                fault="output" if moment.kind == "leave" else "code" if within else "inputs",
                a=ref(row),
                b=ref(partner),
                within=None if within is None else ref(within),
                after=None if after is None else ref(after),
                sentence=sentence,
                relative=None if worst is None else worst.relative,
                limit=None if worst is None else worst.limit,
                inputs=self._exact.get((row.order, "inputs")) or None,
                outputs=self._exact.get((row.order, "outputs")) or None,
            ),
            stretch,
        )

    def _settings(self, a: LayerRow, b: LayerRow) -> str:
        """Return settings and weights of two modules that differ: "eps=1e-05 in A, 1e-06 in B"."""
        ours, theirs = (
            _parts_of(self._values[side].calls.get(row.order, {}).get("settings"))
            for side, row in enumerate((a, b))
        )
        names = [name for name in ours if name in theirs and ours[name] != theirs[name]]
        told = [f"{name}={ours[name]} in A and {theirs[name]} in B" for name in names]
        told += [f"{name} differs" for name in self._weights if name.rpartition(".")[0] == b.name]
        return f" ({'; '.join(told)})" if told else ""

    def _both(self, row: LayerRow) -> str:
        for match in (fused.match for fused in self._fused):
            if row.order in match.a:
                names = [named(ref(self._by_order[1][order])) for order in match.b]
                return f"{named(ref(row))} and {join_names(names, _SHOWN)}"
        return both_named(row, self._pairs[row.order])

    def _stretch(self, row: LayerRow | None, after: LayerRow | None) -> Stretch:
        """Return the lines that call the last call before and this one, in A and in B."""
        return (
            (self._line(0, after), self._line(0, row)),
            (self._line(1, self._partner(after)), self._line(1, self._partner(row))),
        )

    def _partner(self, row: LayerRow | None) -> LayerRow | None:
        if row is None:
            return None
        for match in (fused.match for fused in self._fused):
            if row.order in match.a:
                return self._by_order[1][max(match.b)]
        return self._pairs.get(row.order)

    def _line(self, side: int, row: LayerRow | None) -> str | None:
        if row is None:
            return None
        line: str | None = self._values[side].calls.get(row.order, {}).get("line")
        return line

    def _caller(self, row: LayerRow) -> LayerRow | None:
        """Return the innermost enclosing call that has a counterpart."""
        parent = row.parent
        while parent is not None and parent not in self._pairs:
            parent = self._by_order[0][parent].parent
        return None if parent is None else self._by_order[0][parent]

    def _before(self, index: int, around: LayerRow) -> LayerRow | None:
        """Return the last matched call inside `around` that ended before."""
        for moment in reversed(self._moments[:index]):
            if moment.row is around:
                return None
            if moment.kind == "leave" and moment.row.order in self._matched_a:
                return moment.row
        return None

    def _alone(
        self, index: int, around: LayerRow, after: LayerRow | None, moment: CallMoment
    ) -> list[str]:
        """Return the calls of both sides without a counterpart since `after`."""
        names = []
        for earlier in reversed(self._moments[:index]):
            if earlier.row is (around if after is None else after):
                break
            if earlier.kind == "leave" and earlier.row.order not in self._matched_a:
                names.append(f"{named(ref(earlier.row))} in A")
        names.reverse()
        outer = self._pairs[around.order]
        start = self._partner(after) or outer
        here = self._pairs[moment.row.order]
        end = here.order if moment.kind == "enter" else self._last_in(here) + 1
        rows = [row for row in self._rows[1] if row.order not in self._matched_b]
        return names + [
            f"{named(ref(row))} in B"
            for row in rows
            if (start.order < row.order < end and not self._is_inside(row, start))
            or (outer.order < row.order < start.order and self._is_unused(row, outer, end))
        ]

    def _is_unused(self, row: LayerRow, outer: LayerRow, end: int) -> bool:
        """Return whether what a call in `outer` returns is no input of a call before `end`.

        The code before `end` uses it then, although B calls other modules in between: an activation
        of a gate, before the other layer that has the same input.
        """
        own = self._prints(1, row, "outputs")[:1]
        if not own or not self._is_inside(row, outer):
            return False
        limit = self._walk.limit_of(self._by_order[0][max(self._pairs)])
        later = [one for one in self._rows[1] if row.order <= one.order < end]
        fed = [known for one in later for known in self._prints(1, one, "inputs")]
        return all(apart(own[0], known) > limit for known in fed)

    def _is_inside(self, row: LayerRow, call: LayerRow) -> bool:
        parent = row.parent
        while parent is not None:
            if parent == call.order and call.parent is not None:
                return True
            parent = self._by_order[1][parent].parent
        return False

    def _last_in(self, row: LayerRow) -> int:
        last = row.order
        for call in self._rows[1]:
            if call.order > row.order:
                if call.depth <= row.depth:
                    break
                last = call.order
        return last


def both_named(a: LayerRow, b: LayerRow) -> str:
    """Return the names of two counterparts; one name if they are equal."""
    ours, theirs = named(ref(a)), named(ref(b))
    return ours if ours == theirs else f"{ours} and {theirs}"


_SETTING = re.compile(r"(\w+)=((?:\([^)]*\)|[^,])+)")


def _parts_of(settings: str | None) -> dict[str, str]:
    """Return the named settings of a module, from what it shows of itself."""
    return dict(_SETTING.findall(settings or ""))


def _of_lines(stretch: Stretch) -> str:
    told = []
    for name, (start, end) in zip("AB", stretch, strict=True):
        if start and end and start != end:
            told.append(f"from {start} to {end} in {name}")
        elif start or end:
            told.append(f"at {start or end} in {name}")
    return f" ({'; '.join(told)})" if told else ""
