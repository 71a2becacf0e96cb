"""Where ranks that should agree part: parameters, gradients, learning rates, steps, modes, losses.

Of several ranks, the one that differs from most others is the one that parted; of two, the higher.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from hookcli.report.distributed import JoinedRanks, RankParting, StepDigests
from hookcli.report.ranks.pieces import piece_of, value_of
from hookcli.report.report import ParameterRow, Report
from hookcli.report.steps import StepRow, TrainingInfo

_LENGTH = 8  # characters of the digest of a parameter
_UNKNOWN = "-" * _LENGTH
_EQUAL = 1e-6  # relative difference of norms that machines may sum up in another order
_RATE = 1e-9
_EVENTS = 3  # steps that show that ranks had the same losses

Key: TypeAlias = tuple[Hashable, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class _Rank:
    """What is compared of one rank. `keys` tell of each parameter which ranks have the same one."""

    info: TrainingInfo
    complete: bool
    keys: dict[str, Key]
    steps: dict[int, StepRow]
    digests: StepDigests | None


def compare_ranks(
    reports: Mapping[int, Report], ranks: JoinedRanks
) -> tuple[list[RankParting], JoinedRanks]:
    """Return the first difference of each kind and rank, and the ranks with what was compared."""
    known = {
        rank: _rank(report, report.training)
        for rank, report in sorted(reports.items())
        if report.training is not None
    }
    first = next(iter(known.values()), None)
    if first is not None:  # others may train something else, such as another stage
        known = {rank: one for rank, one in known.items() if one.keys.keys() & first.keys.keys()}
    if len(known) < 2:
        return [], ranks
    groups = _alike(known)
    averaged = _averaged(groups)
    partings = [
        *_parameters(known, groups),
        *_rates(known),
        *_backwards(known),
        *_modes(known),
        *(_gradients(groups) if averaged else ()),
        *_losses(known),
    ]
    compared = [
        one.digests.steps.keys() for group in groups for one in group.values() if one.digests
    ]
    ranks = dataclasses.replace(
        ranks,
        steps=len(set.intersection(*map(set, compared))) if compared else 0,
        compared=sum(len(group) for group in groups),
        averaged=averaged,
    )
    return partings, ranks


def _rank(report: Report, info: TrainingInfo) -> _Rank:
    trained = {row.name for row in info.updates} or {row.name for row in report.parameters}
    return _Rank(
        info=info,
        complete=report.status == "complete",
        keys={row.name: _key(row) for row in report.parameters if row.name in trained},
        steps={row.step: row for row in info.steps},
        digests=info.step_digests,
    )


def _key(row: ParameterRow) -> Key:
    """Return what two ranks must have in common if their parts of a parameter are copies."""
    if row.placements is None or row.mesh is None or row.local is None:
        return row.shape, row.dtype
    piece = piece_of(row.placements, row.mesh)
    return row.shape, row.dtype, row.placements, row.mesh.names, row.local.shape, piece


def _alike(ranks: Mapping[int, _Rank]) -> list[dict[int, _Rank]]:
    """Return the groups of ranks, of at least two, whose parameters are all copies."""
    groups: dict[Key, dict[int, _Rank]] = {}
    for rank, one in ranks.items():
        groups.setdefault(tuple(one.keys.items()), {})[rank] = one
    return [group for group in groups.values() if len(group) > 1]


def _odd(values: Mapping[int, Any]) -> Iterator[tuple[int, int]]:
    """Yield each rank whose value differs from that of most ranks, with one of those."""
    counts = Counter(values.values())
    if len(counts) < 2:
        return
    usual, _ = counts.most_common(1)[0]  # the value of the lowest rank, if several are as frequent
    other = next(rank for rank, value in values.items() if value == usual)
    for rank, value in values.items():
        if value != usual:
            yield rank, other


# Parameters.


def _parameters(
    ranks: Mapping[int, _Rank], groups: Sequence[Mapping[int, _Rank]]
) -> Iterator[RankParting]:
    """Yield the first step after which the parameters of a rank are not those of the others."""
    told: dict[int, RankParting] = {}
    for group in groups:
        for parting in _in_group(group):
            told.setdefault(parting.rank, parting)
    for parting in _across(ranks):
        earlier = told.get(parting.rank)
        if earlier is None or (parting.step or 0) < (earlier.step or 0):
            told[parting.rank] = parting
    yield from told.values()


def _in_group(group: Mapping[int, _Rank]) -> Iterator[RankParting]:
    """Yield what differs between ranks whose parameters are all copies."""
    steps = {rank: one.digests.steps for rank, one in group.items() if one.digests is not None}
    told: set[int] = set()
    for step in sorted(set().union(*steps.values())):
        there = {rank: of[step] for rank, of in steps.items() if step in of}
        for rank, other in _odd(there):
            if rank not in told:
                told.add(rank)
                yield _of_parameters(group, rank, other, step)


def _of_parameters(group: Mapping[int, _Rank], rank: int, other: int, step: int) -> RankParting:
    mine, theirs = group[rank].digests, group[other].digests
    target, values = "", ("", "")
    if mine is not None and theirs is not None:
        for at in sorted(mine.each.keys() & theirs.each.keys()):
            if at < step:
                continue
            found = _first_apart(mine, theirs, at, group[rank].keys)
            if found is not None:
                target, *pair = found
                values = (pair[0], pair[1])
            break
        again = next(
            (
                at
                for at in sorted(mine.steps.keys() & theirs.steps.keys())
                if at > step and mine.steps[at] == theirs.steps[at]
            ),
            None,
        )
    else:
        again = None
    return RankParting("parameters", rank, other, step, target, *values, again=again)


def _digest(digests: StepDigests, step: int, index: int) -> str:
    return digests.each[step][index * _LENGTH : (index + 1) * _LENGTH]


def _first_apart(
    mine: StepDigests, theirs: StepDigests, step: int, names: Iterable[str]
) -> tuple[str, str, str] | None:
    """Return the first parameter whose digests differ after a step, and both."""
    ours = {name: i for i, name in enumerate(mine.names)}
    others = {name: i for i, name in enumerate(theirs.names)}
    for name in names:
        if name in ours and name in others:
            pair = _digest(mine, step, ours[name]), _digest(theirs, step, others[name])
            if pair[0] != pair[1] and _UNKNOWN not in pair:
                return name, *pair
    return None


def _across(ranks: Mapping[int, _Rank]) -> Iterator[RankParting]:
    """Yield what differs between ranks that share some parameters only, as with tensor parallel."""
    kinds: dict[Key, int] = {}
    for rank, one in ranks.items():
        kinds.setdefault(tuple(one.keys.items()), rank)
    chosen = {rank: ranks[rank] for rank in kinds.values() if ranks[rank].digests is not None}
    if len(chosen) < 2:
        return
    shared: dict[tuple[str, Key], dict[int, int]] = {}  # the places in the digests, by rank
    for rank, one in chosen.items():
        digests = one.digests
        for i, name in enumerate(() if digests is None else digests.names):
            if name in one.keys:
                shared.setdefault((name, one.keys[name]), {})[rank] = i
    told: set[int] = set()
    digests_of = {rank: one.digests for rank, one in chosen.items() if one.digests is not None}
    for step in sorted(set().union(*(one.each for one in digests_of.values()))):
        for (name, _), places in shared.items():
            values = {
                rank: _digest(digests_of[rank], step, i)
                for rank, i in places.items()
                if step in digests_of[rank].each
            }
            values = {rank: value for rank, value in values.items() if value != _UNKNOWN}
            for rank, other in _odd(values):
                if rank not in told:
                    told.add(rank)
                    yield RankParting(
                        "parameters", rank, other, step, name, values[rank], values[other]
                    )


# What a step says.


def _rates(ranks: Mapping[int, _Rank]) -> Iterator[RankParting]:
    """Yield the first step of a rank with another learning rate."""
    told: set[int] = set()
    for step in _common(ranks):
        rates = {rank: _rounded(one.steps[step]) for rank, one in ranks.items()}
        for rank, other in _odd(rates):
            if rank not in told:
                told.add(rank)
                mine, theirs = ranks[rank].steps[step], ranks[other].steps[step]
                pair = (mine.lr, theirs.lr)
                if pair[0] == pair[1]:
                    pair = (mine.largest_lr, theirs.largest_lr)
                yield RankParting("learning rate", rank, other, step, "", *pair)


def _rounded(row: StepRow) -> tuple[str, ...]:
    return tuple(f"{value_of(rate) or 0.0:.9g}" for rate in (row.lr, row.largest_lr))


def _common(ranks: Mapping[int, _Rank]) -> list[int]:
    return sorted(set.intersection(*(set(one.steps) for one in ranks.values())))


def _backwards(ranks: Mapping[int, _Rank]) -> Iterator[RankParting]:
    """Yield the ranks with another number of steps, or of backward passes before a step."""
    told: set[int] = set()
    for step in _common(ranks):
        for rank, other in _odd({rank: one.steps[step].backwards for rank, one in ranks.items()}):
            if rank not in told:
                told.add(rank)
                pair = ranks[rank].steps[step].backwards, ranks[other].steps[step].backwards
                yield RankParting("backwards", rank, other, step, "", *pair)
    totals = {rank: one.info.total for rank, one in ranks.items() if one.complete}
    for rank, other in _odd(totals):
        last = min(totals[rank], totals[other])
        yield RankParting("steps", rank, other, last, "", totals[rank], totals[other])


def _modes(ranks: Mapping[int, _Rank]) -> Iterator[RankParting]:
    """Yield the first step in which a rank ran dropout or batch normalization in another mode."""
    spans = {
        rank: one.info.modes.eval_spans for rank, one in ranks.items() if one.info.modes is not None
    }
    counts = {one.info.modes.steps for one in ranks.values() if one.info.modes is not None}
    if len(counts) > 1:
        return
    for rank, other in _odd(spans):
        step = _first_outside(spans[rank], spans[other])
        mine = any(low <= step <= high for low, high in spans[rank])
        pair = ("eval", "train") if mine else ("train", "eval")
        yield RankParting("modes", rank, other, step, "", *pair)


def _first_outside(mine: Sequence[tuple[int, int]], theirs: Sequence[tuple[int, int]]) -> int:
    """Return the first step that is in one of two lists of spans only."""
    edges = {edge for span in (*mine, *theirs) for edge in (span[0], span[1] + 1)}
    return next(
        step
        for step in sorted(edges)
        if any(a <= step <= b for a, b in mine) != any(a <= step <= b for a, b in theirs)
    )


# Gradients and losses.


def _is_close(a: float | None, b: float | None) -> bool:
    if a is None or b is None or a != a or b != b:
        return True  # nothing is known of a difference
    return a == b or abs(a - b) <= _EQUAL * max(abs(a), abs(b))


def _norms(one: _Rank, step: int) -> tuple[float | None, float | None]:
    row = one.steps[step]
    return value_of(row.grad_norm), value_of(row.loss)


def _averaged(groups: Sequence[Mapping[int, _Rank]]) -> bool | None:
    """Return whether ranks with different losses had equal gradients; None if that is not known."""
    seen = None
    for group in groups:
        ranks = list(group.values())
        for step in _common(group):
            (norm, loss), *others = (_norms(one, step) for one in ranks)
            if not norm or all(_is_close(loss, other) for _, other in others):
                continue
            if all(_is_close(norm, other) for other, _ in others):
                return True
            seen = False
    return seen


def _gradients(groups: Sequence[Mapping[int, _Rank]]) -> Iterator[RankParting]:
    """Yield the first step in which the gradients of a rank were not averaged with the others'."""
    for group in groups:
        told: set[int] = set()
        for step in _common(group):
            norms = {rank: _norms(one, step)[0] for rank, one in group.items()}
            first, value = next(iter(norms.items()))
            for rank, norm in norms.items():
                if rank not in told and not _is_close(norm, value):
                    told.add(rank)
                    yield RankParting("gradients", rank, first, step, "", norm, value)


def _losses(ranks: Mapping[int, _Rank]) -> Iterator[RankParting]:
    """Yield the first step with another loss, of ranks whose losses were equal before."""
    first, *others = ranks
    for rank in others:
        same = 0
        for step in _common(ranks):
            ours, theirs = ranks[rank].steps[step].loss, ranks[first].steps[step].loss
            if ours is None or theirs is None:
                break
            if ours == theirs:
                same += 1
                continue
            if same >= _EVENTS and not _is_close(value_of(ours), value_of(theirs)):
                yield RankParting("losses", rank, first, step, "", ours, theirs)
            break
