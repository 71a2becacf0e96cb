"""Generators whose steps change scores as those of the discriminator do, and blind discriminators.

A discriminator learns to tell outputs of a generator, which it gets without their graph, from
others. The gradients of its scores tell the direction of each of them. The generator's own step
must go against the discriminator's.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.multiprocessing.reductions import StorageWeakRef

from hookcli.torch_private import disable_current_modes
from hookcli.training.non_finite.forward_call import ForwardCall
from hookcli.training.observers.observer import LookSchedule, Observer
from hookcli.training.record.records import Record
from hookcli.training.root_watch import RootWatch

_LEAST = 3  # looks at each of the three directions
_LEAST_BLIND = 5  # at first, all scores may be below what they are to be
_ONE_WAY = 0.9  # of the gradient of a batch of scores: the part that is left in the sum
_BOTH, _UP, _DOWN = 0, 1, -1  # how a step changes scores


@dataclass(slots=True)
class _Pair:
    """A discriminator and a generator: the directions of scores in their steps."""

    place: str | None = None  # where the generator's backward is called
    record: Record | None = None  # the generator's
    real: list[int] = field(default_factory=list)
    fake: list[int] = field(default_factory=list)
    own: list[int] = field(default_factory=list)  # in steps of the generator
    judged: tuple[Record, str | None] | None = None  # the discriminator's, and where it is trained

    def is_one_way(self) -> bool:
        """Return whether both change the scores of outputs in one direction at each look."""
        if min(len(self.real), len(self.fake), len(self.own)) < _LEAST:
            return False
        [way, *others] = {*self.fake, *self.own}
        return not others and way != _BOTH and {*self.real} == {-way}

    def is_blind(self) -> bool:
        """Return whether the discriminator moves all scores in one direction at each look."""
        if min(len(self.real), len(self.fake)) < _LEAST_BLIND:
            return False
        return {*self.real, *self.fake} in ({_UP}, {_DOWN})


class Adversary(Observer):
    """Compares the gradients of scores in the steps of a discriminator and of a generator."""

    kinds = ("same_direction", "same_scores")

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self._schedule = LookSchedule()
        self._pairs: dict[tuple[int, int], _Pair] = {}  # by the roots: who judges, and who makes
        self._names: dict[int, str] = {}

    def before_step(self, optimizer: Any, records: Sequence[Record]) -> None:
        """Look at the calls since the last step, in which an optimizer takes the next one."""
        roots = self.seen.roots.values()
        if len(roots) < 2 or not self._schedule.is_due(self.seen.key_of(optimizer)):
            return
        trained = {record.root.number: record for record in records}
        with torch.no_grad(), disable_current_modes():
            for judge in roots:
                if judge.number in trained:
                    others = [one for one in roots if one is not judge]
                    self._look_at_judge(judge, others, trained[judge.number])
                else:
                    self._look_at_makers(judge, trained)

    def _look_at_judge(self, judge: RootWatch, others: Sequence[RootWatch], record: Record) -> None:
        """Note the directions in a step of a discriminator."""
        for given, way in _scored(judge):
            if given.requires_grad:
                continue
            memory = StorageWeakRef(given.untyped_storage())  # type: ignore[no-untyped-call]
            makers = [other for other in others if memory in other.returned]
            for other in makers:
                pair = self._pair(judge, other)
                pair.fake.append(way)
                pair.judged = record, _backward_place(judge.recent, given)
            for other in others if not makers else ():
                self._pair(judge, other).real.append(way)

    def _look_at_makers(self, judge: RootWatch, trained: dict[int, Record]) -> None:
        """Note the directions in the step of a generator, whose outputs come with their graph."""
        for given, way in _scored(judge):
            node = given.grad_fn
            for record in trained.values() if node is not None else ():
                if any(call.made(node) for call in record.root.recent):
                    pair = self._pair(judge, record.root)
                    pair.own.append(way)
                    pair.record, pair.place = record, _backward_place(judge.recent, given)

    def _pair(self, judge: RootWatch, maker: RootWatch) -> _Pair:
        self.facts.look(*self.kinds)
        self._names[judge.number], self._names[maker.number] = judge.name, maker.name
        return self._pairs.setdefault((judge.number, maker.number), _Pair())

    def finish(self) -> None:
        """Add the generators that go the way of their discriminator."""
        for (judge, maker), pair in self._pairs.items():
            if pair.is_blind() and pair.judged is not None:
                record, place = pair.judged
                self.facts.add(
                    "same_scores", self._names[judge], place, record=record,
                    maker=self._names.get(maker, ""), lowers=pair.fake[0] == _DOWN,
                    looks=len(pair.fake),
                )  # fmt: skip
            elif pair.is_one_way() and pair.record is not None:
                self.facts.add(
                    "same_direction",
                    pair.record.root.name,
                    pair.place,
                    record=pair.record,
                    judge=self._names[judge],
                    lowers=pair.own[0] == _DOWN,
                    looks=len(pair.own),
                )


def _scored(judge: RootWatch) -> Iterator[tuple[torch.Tensor, int]]:
    """Yield the batch of each call that has one tensor, with the way that its scores go."""
    for call in judge.recent:
        gradient = call.gradients.get(0)
        if len(call.args) != 1 or call.kwargs or gradient is None or len(call.gradients) != 1:
            continue
        given = call.args[0]
        if type(given) is torch.Tensor and given.layout is torch.strided and not given.is_meta:
            whole, size = float(gradient.sum()), float(gradient.abs().sum())
            if size > 0:
                one_way = abs(whole) >= _ONE_WAY * size
                yield given, (_BOTH if not one_way else _DOWN if whole > 0 else _UP)


def _backward_place(calls: Sequence[ForwardCall], given: torch.Tensor) -> str | None:
    return next((call.backward_place for call in calls if call.args[0] is given), None)
