"""Where ranks that should agree part: parameters, gradients, learning rates, steps, modes, losses.

Of several ranks, the one that differs from most others is the one that parted; of two, the higher.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Literal

from hookcli.report.distributed import JoinedRanks, RankParting, StepDigests
from hookcli.report.ranks.compared_rank import ComparedRank, Key, common_steps, odd_ones
from hookcli.report.ranks.optimizer_partings import optimizer_partings
from hookcli.report.ranks.pieces import piece_of, value_of
from hookcli.report.report import ParameterRow, Report
from hookcli.report.steps import TrainingInfo

_LENGTH = 8  # characters of the digest of a parameter
_UNKNOWN = "-" * _LENGTH
_EQUAL = 1e-6  # relative difference of norms that machines may sum up in another order
_EVENTS = 3  # steps that show that ranks had the same losses


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
        *optimizer_partings(known),
        *_counts(known, "forwards"),
        *_counts(known, "backwards"),
        *_totals(known),
        *_modes(known),
        *(_gradients(groups) if averaged else ()),
        *_losses(known),
    ]
    digests = [one.digests for one in known.values()]
    compared = [set(one.moments) for one in digests if one is not None]
    ranks = dataclasses.replace(
        ranks,
        steps=sum(moment % 2 for moment in set.intersection(*compared)) if compared else 0,
        compared=max(sum(len(group) for group in groups), _sharing(known)),
        averaged=averaged,
    )
    return partings, ranks


def _sharing(ranks: Mapping[int, ComparedRank]) -> int:
    """Return the number of ranks that have a copy of a parameter of another one."""
    copies = Counter(
        item for one in ranks.values() if one.digests is not None for item in one.keys.items()
    )
    return sum(any(copies[item] > 1 for item in one.keys.items()) for one in ranks.values())


def _rank(report: Report, info: TrainingInfo) -> ComparedRank:
    return ComparedRank(
        info=info,
        keys={row.name: _key(row) for row in report.parameters},
        steps={row.step: row for row in info.steps},
        digests=info.step_digests,
    )


def _key(row: ParameterRow) -> Key:
    """Return what two ranks must have in common if their parts of a parameter are copies."""
    if row.placements is None or row.mesh is None or row.local is None:
        return row.shape, row.dtype
    piece = piece_of(row.placements, row.mesh)
    return row.shape, row.dtype, row.placements, row.mesh.names, row.local.shape, piece


def _alike(ranks: Mapping[int, ComparedRank]) -> list[dict[int, ComparedRank]]:
    """Return the groups of ranks, of at least two, whose parameters are all copies."""
    groups: dict[Key, dict[int, ComparedRank]] = {}
    for rank, one in ranks.items():
        groups.setdefault(tuple(one.keys.items()), {})[rank] = one
    return [group for group in groups.values() if len(group) > 1]


# Parameters.


def _parameters(
    ranks: Mapping[int, ComparedRank], groups: Sequence[Mapping[int, ComparedRank]]
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


def _in_group(group: Mapping[int, ComparedRank]) -> Iterator[RankParting]:
    """Yield what differs between ranks whose parameters are all copies."""
    digests = {rank: one.digests for rank, one in group.items() if one.digests is not None}
    names = {rank: one.names for rank, one in digests.items()}
    usual = Counter(names.values()).most_common(1)[0][0] if names else ()
    there = {rank: one.moments for rank, one in digests.items() if names[rank] == usual}
    if len(there) < 2:
        return
    partners: dict[int, dict[int, int]] = {}  # of each rank that differs, by moment
    moments = _common_moments({rank: (group[rank], of) for rank, of in there.items()})
    for moment in moments:
        for rank, other in odd_ones({rank: of[moment] for rank, of in there.items()}):
            partners.setdefault(rank, {})[moment] = other
    for rank, others in partners.items():
        first = min(others)
        if _are_large(group[rank].digests, group[others[first]].digests, first):
            yield _of_parameters(group, rank, others[first], first)
            continue
        moment, again = _lasting(moments, others)
        parting = _of_parameters(group, rank, others[moment], moment)
        yield dataclasses.replace(parting, again=None if again is None else again // 2)


def _common_moments(known: Mapping[int, tuple[ComparedRank, Mapping[int, str]]]) -> list[int]:
    """Return the moments that all ranks have, but the end of a rank that makes fewer steps.

    There, others are in the middle: with uneven inputs, such a rank gets the last parameters.
    """
    most = max(one.info.total for one, _ in known.values())
    ends = {2 * one.info.total for one, _ in known.values() if one.info.total < most}
    return sorted(set.intersection(*(set(moments) for _, moments in known.values())) - ends)


def _are_large(mine: StepDigests | None, theirs: StepDigests | None, moment: int) -> bool:
    """Return whether only large parameters differ: they may differ in what is not read later."""
    if mine is None or theirs is None or not {moment} <= mine.each.keys() & theirs.each.keys():
        return False
    turns = dict(zip(mine.names, mine.turns, strict=False))
    apart = [name for name, *_ in _apart(mine, theirs, moment, mine.names)]
    return bool(apart) and all(turns.get(name, 1) > 1 for name in apart)


def _lasting(moments: Sequence[int], apart: Mapping[int, int]) -> tuple[int, int | None]:
    """Return the moment from which a rank differs to the end, and None; else the first of all.

    If it is as the others again, or was so in turns that are as long as the last, the second value
    is the first moment of that: parameters that are averaged every few steps. After a step (odd
    moments) few elements are read, so that only a difference tells something.
    """
    runs: list[list[int]] = []  # moments that differ, in a row
    before = False
    for moment in moments:
        if moment in apart:
            if not before:
                runs.append([])
            runs[-1].append(moment)
            before = True
        elif moment % 2 == 0:
            before = False
    *healed, last = runs
    equal = [moment for moment in moments if moment % 2 == 0 and moment not in apart]
    again = next((moment for moment in equal if moment > runs[0][-1]), None)
    if (equal and equal[-1] > last[-1]) or (healed and len(last) <= max(map(len, healed))):
        return runs[0][0], again
    return last[0], None


def _of_parameters(
    group: Mapping[int, ComparedRank], rank: int, other: int, moment: int
) -> RankParting:
    mine, theirs = group[rank].digests, group[other].digests
    apart: list[tuple[str, str, str]] = []
    copies = 0
    if mine is not None and theirs is not None:
        at = min((at for at in mine.each.keys() & theirs.each.keys() if at >= moment), default=None)
        if at is not None:
            apart = list(_apart(mine, theirs, at, group[rank].keys))
            copies = sum(_digest(mine, at, i) != _UNKNOWN for i in range(len(mine.names)))
    target, value, of_other = apart[0] if apart else ("", "", "")
    return RankParting(
        "parameters",
        rank,
        other,
        moment // 2,
        target,
        value,
        of_other,
        before=moment % 2 == 0,
        apart=len(apart) or None,
        copies=copies or None,
    )


def _digest(digests: StepDigests, moment: int, index: int) -> str:
    return digests.each[moment][index * _LENGTH : (index + 1) * _LENGTH]


def _apart(
    mine: StepDigests, theirs: StepDigests, moment: int, names: Iterable[str]
) -> Iterator[tuple[str, str, str]]:
    """Yield the parameters whose digests differ at a moment, with both."""
    ours = {name: i for i, name in enumerate(mine.names)}
    others = {name: i for i, name in enumerate(theirs.names)}
    for name in names:
        if name in ours and name in others:
            pair = _digest(mine, moment, ours[name]), _digest(theirs, moment, others[name])
            if pair[0] != pair[1] and _UNKNOWN not in pair:
                yield name, *pair


def _across(ranks: Mapping[int, ComparedRank]) -> Iterator[RankParting]:
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
    digests_of = {rank: one.digests for rank, one in chosen.items() if one.digests is not None}
    moments = _common_moments({rank: (ranks[rank], of.each) for rank, of in digests_of.items()})
    partners: dict[tuple[int, str], dict[int, int]] = {}
    for moment in moments:
        for (name, _), places in shared.items():
            values = {rank: _digest(digests_of[rank], moment, i) for rank, i in places.items()}
            values = {rank: value for rank, value in values.items() if value != _UNKNOWN}
            for rank, other in odd_ones(values):
                partners.setdefault((rank, name), {})[moment] = other
    told: dict[int, RankParting] = {}
    for (rank, name), others in partners.items():
        digests = digests_of[rank]
        turns = dict(zip(digests.names, digests.turns, strict=False))
        moment, again = min(others), None
        if turns.get(name, 1) == 1:
            moment, again = _lasting(moments, others)
        earlier = told.get(rank)
        if earlier is None or (moment // 2, moment % 2) < (earlier.step or 0, not earlier.before):
            told[rank] = RankParting(
                "parameters",
                rank,
                others[moment],
                moment // 2,
                name,
                None,
                None,
                before=moment % 2 == 0,
                again=None if again is None else again // 2,
            )
    yield from told.values()


# What a step says.


def _counts(
    ranks: Mapping[int, ComparedRank], what: Literal["forwards", "backwards"]
) -> Iterator[RankParting]:
    """Yield the first step of a rank with another number of forwards or backward passes."""
    told: set[int] = set()
    for step in common_steps(ranks):
        counts = {rank: getattr(one.steps[step], what) for rank, one in ranks.items()}
        for rank, other in odd_ones(counts):
            if rank not in told:
                told.add(rank)
                yield RankParting(what, rank, other, step, "", counts[rank], counts[other])


def _totals(ranks: Mapping[int, ComparedRank]) -> Iterator[RankParting]:
    """Yield the ranks that make fewer steps, but run the model as often.

    They stopped to make steps, or left out some. A rank with fewer batches runs it less often.
    """
    most = max(one.info.total for one in ranks.values())
    other = next(at for at, of in ranks.items() if of.info.total == most)
    forwards = {rank: _forwards(one) for rank, one in ranks.items()}
    for rank, one in ranks.items():
        if one.info.total == most:
            continue
        unused = 0 if one.digests is None else one.digests.unused
        if (unused and one.info.total + unused >= most) or (
            forwards[rank] is not None and forwards[rank] == forwards[other]
        ):
            yield RankParting("steps", rank, other, one.info.total, "", one.info.total, most)


def _forwards(one: ComparedRank) -> int | None:
    """Return the number of forwards of the training; None if some steps have no row."""
    if one.info.unwatched or len(one.steps) < one.info.total or one.digests is None:
        return None
    return sum(row.forwards for row in one.steps.values()) + one.digests.unused


def _modes(ranks: Mapping[int, ComparedRank]) -> Iterator[RankParting]:
    """Yield the first step in which a rank ran dropout or batch normalization in another mode."""
    spans = {
        rank: one.info.modes.eval_spans for rank, one in ranks.items() if one.info.modes is not None
    }
    counts = {one.info.modes.steps for one in ranks.values() if one.info.modes is not None}
    if len(counts) > 1:
        return
    for rank, other in odd_ones(spans):
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


def _norms(one: ComparedRank, step: int) -> tuple[float | None, float | None]:
    row = one.steps[step]
    return value_of(row.grad_norm), value_of(row.loss)


def _averaged(groups: Sequence[Mapping[int, ComparedRank]]) -> bool | None:
    """Return whether ranks with different losses had equal gradients; None if that is not known."""
    seen = None
    for group in groups:
        ranks = list(group.values())
        for step in common_steps(group):
            (norm, loss), *others = (_norms(one, step) for one in ranks)
            if not norm or all(_is_close(loss, other) for _, other in others):
                continue
            if all(_is_close(norm, other) for other, _ in others):
                return True
            seen = False
    return seen


def _gradients(groups: Sequence[Mapping[int, ComparedRank]]) -> Iterator[RankParting]:
    """Yield the first step in which the gradients of a rank were not averaged with the others'."""
    for group in groups:
        told: set[int] = set()
        for step in common_steps(group):
            norms = {rank: _norms(one, step)[0] for rank, one in group.items()}
            first, value = next(iter(norms.items()))
            for rank, norm in norms.items():
                if rank not in told and not _is_close(norm, value):
                    told.add(rank)
                    yield RankParting("gradients", rank, first, step, "", norm, value)


def _losses(ranks: Mapping[int, ComparedRank]) -> Iterator[RankParting]:
    """Yield the first step with another loss, of ranks whose losses were equal before."""
    first, *others = ranks
    for rank in others:
        same = 0
        for step in common_steps(ranks):
            ours, theirs = ranks[rank].steps[step].loss, ranks[first].steps[step].loss
            if ours is None or theirs is None:
                break
            if ours == theirs:
                same += 1
                continue
            if same >= _EVENTS and not _is_close(value_of(ours), value_of(theirs)):
                yield RankParting("losses", rank, first, step, "", ours, theirs)
            break
