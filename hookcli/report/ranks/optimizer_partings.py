"""Where the optimizers of ranks part: their parameters, options and learning rates."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from hookcli.report.distributed import RankParting
from hookcli.report.ranks.compared_rank import ComparedRank, common_steps, odd_ones
from hookcli.report.ranks.pieces import value_of
from hookcli.report.steps import StepRow

_FREE = {"lr", "initial_lr", "foreach", "fused", "capturable", "differentiable"}


def optimizer_partings(ranks: Mapping[int, ComparedRank]) -> Iterator[RankParting]:
    """Yield the first difference of each kind and rank."""
    yield from _parameters(ranks)
    yield from _options(ranks)
    yield from _rates(ranks)


def _parameters(ranks: Mapping[int, ComparedRank]) -> Iterator[RankParting]:
    """Yield the ranks whose optimizers have other parameters, of those that all have.

    A rank that has all parameters of the others, with the same values, and more ones, has a copy
    too many, such as that of a weight that is tied on the others.
    """
    held = {
        rank: frozenset(one.digests.names) for rank, one in ranks.items() if one.digests is not None
    }
    common = set.intersection(*(set(one.keys) for one in ranks.values()))
    if _begin_alike(ranks):
        common |= set().union(*held.values()) - {""}
    for rank, other in odd_ones({rank: names & common for rank, names in held.items()}):
        odd = (held[rank] ^ held[other]) & common
        keys = {**ranks[rank].keys, **ranks[other].keys}
        target = next((name for name in keys if name in odd), "")
        mine = target in held[rank]
        yield RankParting("optimizer", rank, other, 0, target, mine, not mine)


def _begin_alike(ranks: Mapping[int, ComparedRank]) -> bool:
    """Return whether all have the parameters of one rank, with its values before the first step."""
    fewest = min(ranks.values(), key=lambda one: len(one.keys))
    if any(one.digests is None or one.info.stage is not None for one in ranks.values()):
        return False
    if not all(fewest.keys.items() <= one.keys.items() for one in ranks.values()):
        return False
    first = [one.digests.known(0) for one in ranks.values() if one.digests is not None]
    names = set.intersection(*map(set, first))
    return bool(names) and all(len({of[name] for of in first}) == 1 for name in names)


def _options(ranks: Mapping[int, ComparedRank]) -> Iterator[RankParting]:
    """Yield the ranks whose optimizers are of another type, or have another option at the end."""
    if len({one.info.total for one in ranks.values()}) > 1:
        return  # a schedule may have set them
    options = {
        rank: (("type", one.info.optimizer.type), *sorted(one.info.optimizer.options.items()))
        for rank, one in ranks.items()
        if one.info.optimizer is not None
    }
    options = {
        rank: tuple(pair for pair in pairs if pair[0] not in _FREE)
        for rank, pairs in options.items()
    }
    for rank, other in odd_ones(options):
        mine, theirs = dict(options[rank]), dict(options[other])
        target = next(name for name in {**mine, **theirs} if mine.get(name) != theirs.get(name))
        yield RankParting(
            "options", rank, other, None, target, mine.get(target), theirs.get(target)
        )


def _rates(ranks: Mapping[int, ComparedRank]) -> Iterator[RankParting]:
    """Yield the first step of a rank with another learning rate."""
    told: set[int] = set()
    for step in common_steps(ranks):
        rates = {rank: _rounded(one.steps[step]) for rank, one in ranks.items()}
        for rank, other in odd_ones(rates):
            if rank not in told:
                told.add(rank)
                mine, theirs = ranks[rank].steps[step], ranks[other].steps[step]
                pair = (mine.lr, theirs.lr)
                if pair[0] == pair[1]:
                    pair = (mine.largest_lr, theirs.largest_lr)
                yield RankParting("learning rate", rank, other, step, "", *pair)


def _rounded(row: StepRow) -> tuple[str, ...]:
    return tuple(f"{value_of(rate) or 0.0:.9g}" for rate in (row.lr, row.largest_lr))
