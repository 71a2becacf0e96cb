"""Infers which tensors of A make those of B, from the calls, shapes, names and values of both.

Modules with tensors are aligned in the order of their calls (Needleman and Wunsch 1970, "A general
method applicable to the search for similarities", with scores of shapes and names). Those that were
left out, since the two models call them in another order, are paired by shapes and names.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from hookcli.comparison.ports.maps.fits import Made, UnitFit, fit_units, is_leaf_of
from hookcli.comparison.ports.maps.fitter import UnitFitter
from hookcli.comparison.ports.maps.left_tensors import (
    add_buffers_for,
    add_left,
    add_namesakes,
    add_shared,
)
from hookcli.comparison.ports.maps.names import likeness, rank_of_part
from hookcli.comparison.ports.maps.units import OwnTensor, Unit, units_of
from hookcli.report.report import Report
from hookcli.spec.request import MadeTensor, WeightPart

_MOST = 4_000_000  # pairs of modules that are compared
_PARTS = (2, 3)  # modules that one of the other model may stand for
_MORE = 0.1  # score that the order in which modules were added must gain
_GATE = 3  # ranks of q, k and v are less, those of gate and up are not
_LEAST = 0.3  # likeness of names of modules that are not aligned


@dataclass(frozen=True, slots=True)
class InferredMap:
    """What each tensor of B is made of, and the tensors of both that have no counterpart.

    `groups` are the modules of A and of B that were paired.
    """

    made: Made
    unused: tuple[str, ...]
    missing: tuple[str, ...]
    groups: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...] = field(default=())


def infer_map(a: Report, b: Report) -> InferredMap:
    """Return which tensors of A make those of B."""
    ours, theirs = units_of(a), units_of(b)
    fitter = UnitFitter(a, b)
    pairs = _best_aligned(ours, theirs, fitter)
    pairs = _with_left_parts(pairs, ours, theirs, fitter)
    pairs = _with_left(pairs, ours, theirs, fitter)
    made: Made = {}
    for pair in pairs:
        made.update(pair.fit.made)
    add_shared(made, a, b)
    add_namesakes(made, a, b)
    add_buffers_for(made, a, b)
    add_left(made, a, b)
    _add_buffers(made, pairs, a, b)
    used = {source.name for row in made.values() for source in row.parts}
    return InferredMap(
        made,
        unused=tuple(row.name for row in a.parameters if row.name not in used),
        missing=tuple(row.name for row in b.parameters if row.name not in made),
        groups=tuple(
            (tuple(unit.module for unit in pair.ours), tuple(unit.module for unit in pair.theirs))
            for pair in pairs
        ),
    )


@dataclass(frozen=True, slots=True)
class _Pair:
    ours: tuple[Unit, ...]
    theirs: tuple[Unit, ...]
    fit: UnitFit


class _Fits:
    """The fits of units, each computed once."""

    def __init__(self, ours: Sequence[Unit], theirs: Sequence[Unit], fitter: UnitFitter) -> None:
        self._ours, self._theirs, self._fitter = ours, theirs, fitter
        self._shapes = tuple(
            [tuple(sorted(map(_size, unit.tensors))) for unit in units] for units in (ours, theirs)
        )

    def single(self, i: int, j: int) -> UnitFit | None:
        ours, theirs = self._shapes[0][i], self._shapes[1][j]
        if len(ours) == len(theirs) and ours != theirs:
            return None
        if len(ours) != len(theirs) and not set(ours) & set(theirs):
            return None
        return self._fitter.fit((self._ours[i],), (self._theirs[j],))

    def joined(self, i: int, j: int, count: int) -> UnitFit | None:
        if i < count:
            return None
        parts = self._ours[i - count : i]
        whole = self._theirs[j - 1]
        if not _are_whole(parts, whole):
            return None
        return self._fitter.fit(parts, (whole,))

    def split(self, i: int, j: int, count: int) -> UnitFit | None:
        if j < count:
            return None
        parts = self._theirs[j - count : j]
        whole = self._ours[i - 1]
        if not _are_whole(parts, whole):
            return None
        return self._fitter.fit((whole,), parts)


def _are_whole(parts: Sequence[Unit], whole: Unit) -> bool:
    """Return whether the parts have as many elements, in tensors that all of them have."""
    for tensor in whole.tensors:
        own = [one for part in parts for one in part.tensors if is_leaf_of(one, tensor)]
        if own and (len(own) != len(parts) or sum(map(_size, own)) != _size(tensor)):
            return False
    return any(is_leaf_of(one, tensor) for one in parts[0].tensors for tensor in whole.tensors)


def _size(tensor: OwnTensor) -> int:
    total = 1
    for size in tensor.shape:
        total *= size or 0
    return total


def _best_aligned(ours: Sequence[Unit], theirs: Sequence[Unit], fitter: UnitFitter) -> list[_Pair]:
    """Return the pairs in the order of calls, or in that in which modules were added if more fit.

    Two implementations may call the layers of a block in another order, such as a shortcut before
    or after the convolutions, and still have added them to the block in the same order.
    """
    called = _aligned(ours, theirs, fitter)
    in_order = [sorted(units, key=lambda unit: unit.number) for units in (ours, theirs)]
    added = _aligned(in_order[0], in_order[1], fitter)
    scores = [sum(pair.fit.score for pair in pairs) for pairs in (called, added)]
    return added if scores[1] > scores[0] + _MORE else called


def _aligned(ours: Sequence[Unit], theirs: Sequence[Unit], fitter: UnitFitter) -> list[_Pair]:
    """Return the pairs of the best alignment in this order."""
    n, m = len(ours), len(theirs)
    if n * m > _MOST:
        return _of_equal_names(ours, theirs, fitter)
    fits = _Fits(ours, theirs, fitter)
    best = [[0.0] * (m + 1) for _ in range(n + 1)]
    step: list[list[tuple[int, int, UnitFit | None]]] = [
        [(0, 0, None)] * (m + 1) for _ in range(n + 1)
    ]
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            best[i][j], step[i][j] = _best_step(fits, best, i, j)
    pairs = []
    i, j = n, m
    while i and j:
        back, along, found = step[i][j]
        if found is not None:
            pairs.append(_Pair(tuple(ours[i - back : i]), tuple(theirs[j - along : j]), found))
        i, j = i - back, j - along
    pairs.reverse()
    return _permuted(pairs, fitter)


def _best_step(
    fits: _Fits, best: list[list[float]], i: int, j: int
) -> tuple[float, tuple[int, int, UnitFit | None]]:
    """Return the best score up to two units, and the step that leads to it."""
    choices: list[tuple[float, tuple[int, int, UnitFit | None]]] = [
        (best[i - 1][j], (1, 0, None)),
        (best[i][j - 1], (0, 1, None)),
    ]
    single = fits.single(i - 1, j - 1)
    if single is not None:
        choices.append((best[i - 1][j - 1] + single.score, (1, 1, single)))
    for count in _PARTS:
        joined = fits.joined(i, j, count)
        if joined is not None:
            choices.append((best[i - count][j - 1] + joined.score, (count, 1, joined)))
        split = fits.split(i, j, count)
        if split is not None:
            choices.append((best[i - 1][j - count] + split.score, (1, count, split)))
    return max(choices, key=lambda choice: choice[0])


def _of_equal_names(
    ours: Sequence[Unit], theirs: Sequence[Unit], fitter: UnitFitter
) -> list[_Pair]:
    there = {unit.module: unit for unit in theirs}
    pairs = []
    for unit in ours:
        other = there.get(unit.module)
        found = None if other is None else fitter.fit((unit,), (other,))
        if other is not None and found is not None:
            pairs.append(_Pair((unit,), (other,), found))
    return pairs


def _permuted(pairs: Sequence[_Pair], fitter: UnitFitter) -> list[_Pair]:
    """Exchange neighbours of one shape, such as q, k and v, if their names fit better so."""
    result: list[_Pair] = []
    for _, run in itertools.groupby(pairs, key=_kind):
        members = list(run)
        for start in range(0, len(members), 3):
            result += _best_order(members[start : start + 3], fitter)
    return result


def _kind(pair: _Pair) -> tuple[object, ...]:
    """Return what pairs that may be exchanged have in common: the callers, and the shapes."""
    if len(pair.ours) != 1 or len(pair.theirs) != 1:
        return (id(pair),)
    ours, theirs = pair.ours[0], pair.theirs[0]
    around = (ours.module.rpartition(".")[0], theirs.module.rpartition(".")[0])
    shapes = tuple((tensor.leaf, tensor.shape) for tensor in (*ours.tensors, *theirs.tensors))
    return (*around, shapes)


def _best_order(members: list[_Pair], fitter: UnitFitter) -> list[_Pair]:
    if len(members) < 2:
        return members
    best, score = members, sum(pair.fit.score for pair in members)
    for order in itertools.permutations(range(len(members))):
        found = []
        for pair, i in zip(members, order, strict=True):
            other = fitter.fit(pair.ours, members[i].theirs)
            if other is None:
                break
            found.append(_Pair(pair.ours, members[i].theirs, other))
        else:
            total = sum(pair.fit.score for pair in found)
            if total > score + 0.2:
                best, score = found, total
    return best


def _with_left_parts(
    pairs: list[_Pair], ours: Sequence[Unit], theirs: Sequence[Unit], fitter: UnitFitter
) -> list[_Pair]:
    """Add a layer that is left and its parts that are: q, k and v with norms called in between."""
    left_a, left_b = _left(pairs, ours, theirs)
    found = [
        *(_Pair((whole,), parts, fit_) for whole, parts, fit_ in _wholes(left_a, left_b, fitter)),
        *(
            _Pair(parts, (whole,), fit_)
            for whole, parts, fit_ in _wholes(left_b, left_a, fitter, back=True)
        ),
    ]
    return [*pairs, *found]


def _left(
    pairs: Sequence[_Pair], ours: Sequence[Unit], theirs: Sequence[Unit]
) -> tuple[list[Unit], list[Unit]]:
    """Return the units of both that no pair has."""
    taken_a = {unit.module for pair in pairs for unit in pair.ours}
    taken_b = {unit.module for pair in pairs for unit in pair.theirs}
    return (
        [unit for unit in ours if unit.module not in taken_a],
        [unit for unit in theirs if unit.module not in taken_b],
    )


def _wholes(
    wholes: Sequence[Unit], others: Sequence[Unit], fitter: UnitFitter, *, back: bool = False
) -> Iterator[tuple[Unit, tuple[Unit, ...], UnitFit]]:
    """Yield each unit that others of one module make, in order; `back`: they are A's."""
    groups: dict[tuple[str, bool], list[Unit]] = {}
    for unit in others:
        module, _, name = unit.module.rpartition(".")
        rank = rank_of_part(name)
        if rank is not None:
            groups.setdefault((module, rank < _GATE), []).append(unit)
    free = [tuple(group) for group in groups.values() if len(group) in _PARTS]
    for whole in wholes:
        for parts in free:
            if not _are_whole(parts, whole):
                continue
            found = fitter.fit(parts, (whole,)) if back else fitter.fit((whole,), parts)
            if found is not None:
                free.remove(parts)
                yield whole, parts, found
                break


def _with_left(
    pairs: list[_Pair], ours: Sequence[Unit], theirs: Sequence[Unit], fitter: UnitFitter
) -> list[_Pair]:
    """Add pairs of the units that the alignment left out: in another order of calls."""
    left_a, left_b = _left(pairs, ours, theirs)
    taken_a: set[str] = set()
    taken_b: set[str] = set()
    found = []
    for (i, a), (j, b) in itertools.product(enumerate(left_a), enumerate(left_b)):
        one = fitter.fit((a,), (b,))
        if one is not None:
            place = abs(i / max(len(left_a), 1) - j / max(len(left_b), 1))
            found.append((one.score - place, -i, _Pair((a,), (b,), one)))
    found.sort(key=lambda item: item[:2], reverse=True)
    added = list(pairs)
    for _, _, pair in found:
        a, b = pair.ours[0], pair.theirs[0]
        if a.module in taken_a or b.module in taken_b:
            continue
        alone = _is_only(pair, left_a, left_b)
        if alone or likeness(a.module, b.module) >= _LEAST:
            added.append(pair)
            taken_a.add(a.module)
            taken_b.add(b.module)
    return added


def _is_only(pair: _Pair, left_a: Sequence[Unit], left_b: Sequence[Unit]) -> bool:
    """Return whether no other unit that is left fits."""
    a, b = pair.ours[0], pair.theirs[0]
    return (
        sum(fit_units((a,), (other,)) is not None for other in left_b) == 1
        and sum(fit_units((other,), (b,)) is not None for other in left_a) == 1
    )


def _add_buffers(made: Made, pairs: Iterable[_Pair], a: Report, b: Report) -> None:
    """Add buffers of paired modules that have the same name and shape."""
    ours = {row.name: row for row in a.buffers}
    theirs: dict[str, list[str]] = {}
    shapes = {row.name: row.shape for row in b.buffers}
    for name in shapes:
        theirs.setdefault(name.rpartition(".")[0], []).append(name)
    for pair in pairs:
        if len(pair.ours) != 1 or len(pair.theirs) != 1:
            continue
        for name in theirs.get(pair.theirs[0].module, ()):
            own = ours.get(f"{pair.ours[0].module}.{name.rpartition('.')[2]}")
            if own is not None and own.shape == shapes[name]:
                made[name] = MadeTensor(name, (WeightPart(own.name),))
