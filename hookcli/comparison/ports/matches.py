"""Matches the calls of two implementations whose modules have other names, in passes.

Each pass matches calls that the ones before have left: by their weights, by equal names, by equal
values of outputs and inputs, by what they contain, and by their place between matched calls.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from hookcli.comparison.ports.calls import PortCall, inside
from hookcli.comparison.ports.maps.names import likeness
from hookcli.comparison.ports.values import ValuePrint, apart
from hookcli.comparison.tolerance import RTOL

How: TypeAlias = Literal["weights", "names", "values", "contents", "place"]
Groups: TypeAlias = Sequence[tuple[tuple[str, ...], tuple[str, ...]]]

_NEAR = 500  # times the rounding of the dtype: far below what two layers differ by
_WIDEST = 0.05


@dataclass(frozen=True, slots=True)
class CallMatch:
    """Calls of A and of B that are counterparts, by their orders; `how` is the pass.

    One side has several calls if the other has fused them, such as q, k and v.
    """

    a: tuple[int, ...]
    b: tuple[int, ...]
    how: How


def limit_of(dtypes: Iterable[str]) -> float:
    """Return the relative difference up to which values are taken for equal in matching."""
    rounding = max((RTOL.get(dtype, 0.0) for dtype in dtypes), default=0.0)
    return min(max(_NEAR * rounding, 1e-6), _WIDEST)


class CallMatcher:
    """Matches calls; `names` maps names of A to those of B, `groups` modules by their weights."""

    def __init__(
        self,
        ours: Sequence[PortCall],
        theirs: Sequence[PortCall],
        names: Mapping[str, str],
        groups: Groups,
        limit: float,
    ) -> None:
        self._ours, self._theirs = ours, theirs
        self._names, self._groups, self._limit = names, groups, limit
        self.matches: list[CallMatch] = []
        self._free_a = {call.order: call for call in ours}
        self._free_b = {call.order: call for call in theirs}
        self.pairs: dict[int, PortCall] = {}  # of single calls, by the order in A

    def run(self) -> list[CallMatch]:
        """Return all matches, in the order of A's calls."""
        self._roots()
        self._by_weights()
        self._by_names()
        self._by_values()
        self._by_contents()
        self._by_place()
        self._by_contents()
        self.matches.sort(key=lambda match: match.a[0])
        return self.matches

    def _add(self, ours: Sequence[PortCall], theirs: Sequence[PortCall], how: How) -> None:
        self.matches.append(
            CallMatch(tuple(c.order for c in ours), tuple(c.order for c in theirs), how)
        )
        for call in ours:
            self._free_a.pop(call.order, None)
        for call in theirs:
            self._free_b.pop(call.order, None)
        if len(ours) == len(theirs) == 1:
            self.pairs[ours[0].order] = theirs[0]

    def _roots(self) -> None:
        a, b = self._ours[0], self._theirs[0]
        if a.order in self._free_a and b.order in self._free_b:
            self._add((a,), (b,), "place")

    def _by_weights(self) -> None:
        by_name = (_by_module(self._ours), _by_module(self._theirs))
        for ours, theirs in self._groups:
            a = [by_name[0].get(module, []) for module in ours]
            b = [by_name[1].get(module, []) for module in theirs]
            if len(a) == len(b) == 1 and _is_loop(a[0], b[0]):
                continue
            for calls in zip(*a, *b, strict=False):
                first, rest = calls[: len(a)], calls[len(a) :]
                free = all(call.order in self._free_a for call in first)
                free = free and all(call.order in self._free_b for call in rest)
                # A module with calls inside has its few tensors anywhere: what it contains counts.
                if free and all(call.is_leaf for call in calls) and _add_up(first, rest):
                    self._add(first, rest, "weights")

    def _by_names(self) -> None:
        """Match calls of modules with one name, of one type or of equal values."""
        there = {(call.row.name, call.row.call): call for call in self._free_b.values()}
        for call in list(self._free_a.values()):
            partner = None if call.row.name is None else self._names.get(call.row.name)
            other = there.get((partner, call.row.call))
            if other is None or other.order not in self._free_b:
                continue
            if call.is_leaf == other.is_leaf and (
                call.row.type == other.row.type or self._distance(call, other) <= self._limit
            ):
                self._add((call,), (other,), "names")

    def _by_values(self) -> None:
        """Match the calls whose outputs are equal, those first that fit best in all else."""
        found = sorted(self._candidates(), key=lambda item: item[0])
        for _, a, b in found:
            if a.order in self._free_a and b.order in self._free_b:
                self._add((a,), (b,), "values")

    def _candidates(self) -> Iterator[tuple[tuple[float, ...], PortCall, PortCall]]:
        theirs = sorted(
            (call for call in self._free_b.values() if call.outputs),
            key=lambda call: call.outputs[0].norm,
        )
        norms = [call.outputs[0].norm for call in theirs]
        for a in self._free_a.values():
            if not a.outputs:
                continue
            norm = a.outputs[0].norm
            start = bisect_left(norms, norm * (1 - 2 * self._limit))
            stop = bisect_right(norms, norm * (1 + 2 * self._limit))
            for b in theirs[start:stop]:
                distance = self._distance(a, b)
                fed_alike = self._input_distance(a, b) <= self._limit
                if distance <= self._limit and (fed_alike or a.is_leaf == b.is_leaf is True):
                    yield self._rank(a, b, distance, fed_alike=fed_alike), a, b

    def _rank(
        self, a: PortCall, b: PortCall, distance: float, *, fed_alike: bool
    ) -> tuple[float, ...]:
        """Return the rank of a pair: the least is the best."""
        level = math.ceil(math.log10(max(distance, 1e-16)))
        alike = (
            2 * (a.is_leaf == b.is_leaf)
            + 2 * fed_alike
            + (a.row.type == b.row.type)
            + likeness(a.row.name or "", b.row.name or "")
        )
        return (
            a.has_tensors != b.has_tensors,
            level > math.log10(self._limit) - 1,
            -alike,
            abs(a.position - b.position),
        )

    def _distance(self, a: PortCall, b: PortCall) -> float:
        return nearest(a.outputs[:1], b.outputs)

    def _input_distance(self, a: PortCall, b: PortCall) -> float:
        return nearest(a.inputs[:1], b.inputs)

    def _by_contents(self) -> None:
        """Match the calls that contain the same matched calls."""
        within = inside(self._ours), inside(self._theirs)
        partner_of = {order: call.order for order, call in self.pairs.items()}
        for match in self.matches:
            if len(match.a) + len(match.b) > 2:
                partner_of.update(dict.fromkeys(match.a, match.b[0]))
        known = set(partner_of.values())
        there: dict[frozenset[int], list[PortCall]] = defaultdict(list)
        for call in self._free_b.values():
            content = frozenset(within[1].get(call.order, set()) & known)
            if content:
                there[content].append(call)
        for call in list(self._free_a.values()):
            content = frozenset(
                partner_of[order] for order in within[0].get(call.order, ()) if order in partner_of
            )
            fitting = [
                one
                for one in there.get(content, ())
                if one.order in self._free_b and self._has_own_tensors(call, one)
            ]
            if content and fitting:
                best = min(fitting, key=lambda one: self._container_rank(call, one))
                self._add((call,), (best,), "contents")

    def _has_own_tensors(self, a: PortCall, b: PortCall) -> bool:
        """Return whether the tensors of two modules themselves are inside the other.

        The embedding that has the positions is not the counterpart of one inside a module that has
        them.
        """
        for ours, theirs in self._groups:
            if a.row.name in ours and any(not _is_within(name, b.row.name) for name in theirs):
                return False
            if b.row.name in theirs and any(not _is_within(name, a.row.name) for name in ours):
                return False
        return True

    def _container_rank(self, a: PortCall, b: PortCall) -> tuple[float, ...]:
        return (
            min(self._distance(a, b), 1.0) > self._limit,
            -likeness(a.row.name or "", b.row.name or ""),
            abs(a.row.depth - b.row.depth),
        )

    def _by_place(self) -> None:
        """Match single calls between the same matched calls, with outputs of one size."""
        gaps = _Gaps(self._ours, self._theirs, self.pairs)
        for ours, theirs in gaps.all(self._free_a, self._free_b):
            for a in ours:
                fitting = [b for b in theirs if b.order in self._free_b and _sizes_fit(a, b)]
                fed = [b for b in fitting if self._input_distance(a, b) <= self._limit]
                rivals = [c for c in ours if c is not a and c.order in self._free_a]
                alone = len(fitting) == 1 and not any(_sizes_fit(c, fitting[0]) for c in rivals)
                one = fed if len(fed) == 1 else fitting if alone else []
                if one:
                    self._add((a,), (one[0],), "place")


def nearest(ours: Sequence[ValuePrint], theirs: Sequence[ValuePrint]) -> float:
    """Return the least distance of a print of one side to one of the other."""
    return min((apart(a, b) for a in ours for b in theirs), default=math.inf)


def _add_up(ours: Sequence[PortCall], theirs: Sequence[PortCall]) -> bool:
    """Return whether two groups of calls return as many elements, as far as that is known.

    A module that has the weights of q, k and v may return what attention makes of them.
    """
    if len(ours) == len(theirs) == 1:
        return True
    sizes = [
        sum(call.outputs[0].numel for call in calls if call.outputs) for calls in (ours, theirs)
    ]
    return not all(sizes) or sizes[0] == sizes[1]


def _is_within(name: str, module: str | None) -> bool:
    """Return whether a module is this one, or inside it."""
    return not module or name == module or name.startswith(f"{module}.")


def _is_loop(ours: Sequence[PortCall], theirs: Sequence[PortCall]) -> bool:
    """Return whether one side calls a cell for each step, where the other has one call."""
    if len(ours) == len(theirs) or not ours or not theirs:
        return False
    return min(len(ours), len(theirs)) == 1 and not _sizes_fit(ours[0], theirs[0])


def _by_module(calls: Iterable[PortCall]) -> dict[str, list[PortCall]]:
    found: dict[str, list[PortCall]] = defaultdict(list)
    for call in calls:
        for name in dict.fromkeys((call.row.name, *call.row.aliases)):
            if name is not None and not call.row.recomputed:
                found[name].append(call)
    return found


def _sizes_fit(a: PortCall, b: PortCall) -> bool:
    """Return whether two calls return tensors of one size."""
    ours, theirs = ([one.numel for one in call.outputs[:1]] for call in (a, b))
    return bool(ours) and ours == theirs


class _Gaps:
    """The calls without calls inside that lie between two neighbouring matched ones."""

    def __init__(
        self,
        ours: Sequence[PortCall],
        theirs: Sequence[PortCall],
        pairs: Mapping[int, PortCall],
    ) -> None:
        self._pairs = pairs
        self._ours = [call for call in ours if call.is_leaf and not call.passes_on]
        self._theirs = [call for call in theirs if call.is_leaf and not call.passes_on]

    def all(
        self, free_a: Mapping[int, PortCall], free_b: Mapping[int, PortCall]
    ) -> Iterator[tuple[list[PortCall], list[PortCall]]]:
        """Yield the calls of A and of B that lie between the same two matched calls."""
        place = {call.order: i for i, call in enumerate(self._theirs)}
        before: int | None = -1
        gap: list[PortCall] = []
        for call in [*self._ours, None]:
            if call is not None and call.order in free_a:
                gap.append(call)
                continue
            partner = None if call is None else self._pairs.get(call.order)
            end = len(self._theirs) if call is None else None
            if partner is not None:
                end = place.get(partner.order)
            if gap and before is not None and end is not None and before < end:
                theirs = [one for one in self._theirs[before + 1 : end] if one.order in free_b]
                if theirs:
                    yield gap, theirs
            gap, before = [], end
