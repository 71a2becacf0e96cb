"""The settings of every step: the learning rate of each group, and which parameters are frozen."""

from __future__ import annotations

import weakref
from collections import deque
from collections.abc import Sequence, Set as AbstractSet
from typing import Any

import torch

from hookcli.report.rows.events import number
from hookcli.report.steps import RateChange, StepSettings
from hookcli.training.observers.observer import Observer
from hookcli.training.record.records import Record
from hookcli.training.root_watch import RootWatch

_CHANGES = 100  # that are kept, before every second one is dropped
_WINDOW = 20  # changes of a rate, between which a fall or a rise is searched for
_TINY = 1e-8  # of a rate: as little as none
_TIMES, _LARGE = 1e3, 0.5  # of the first rate, and a rate that few optimizers bear


def _rate(group: dict[str, Any]) -> float | None:
    """Return the learning rate of a group; None without one, and of a tensor on a GPU."""
    rate = group.get("lr")
    if isinstance(rate, torch.Tensor):
        if rate.device.type != "cpu" or rate.numel() != 1:
            return None
        return float(rate)
    return float(rate) if isinstance(rate, int | float) else None


class _Thinned:
    """Values by step; every second one is dropped, again and again, if there are too many."""

    def __init__(self) -> None:
        self.rows: list[tuple[int, Any]] = []
        self.total = 0
        self._every = 1

    def add(self, step: int, value: Any) -> None:
        if self.total % self._every == 0:
            self.rows.append((step, value))
            if len(self.rows) > _CHANGES:
                self.rows = self.rows[::2]
                self._every *= 2
        self.total += 1


class _GroupRate:
    """The rate of one group: its largest fall and rise between a few changes."""

    def __init__(self, step: int, rate: float, base: float | None) -> None:
        self._recent: deque[tuple[int, float]] = deque([(step, rate)], _WINDOW + 1)
        self._base = max(abs(rate), abs(base or 0.0))  # that a schedule multiplies
        self.fall: tuple[int, float, int, float] | None = None
        self.rise: tuple[int, float, int, float] | None = None
        self.low = 0  # steps with a rate far below that in front of the fall

    def change(self, step: int, rate: float) -> None:
        self._recent.append((step, rate))
        high = max(self._recent, key=lambda pair: pair[1])
        if 0 < rate <= _TINY * high[1] and self.fall is None:
            self.fall = (*high, step, rate)
        low = min(self._recent, key=lambda pair: pair[1])
        least = max(_LARGE, _TIMES * max(self._base, low[1]))
        if self.rise is None and rate >= least and low[1] > 0:
            self.rise = (*low, step, rate)

    def count(self, rate: float) -> None:
        if self.fall is not None and 0 < rate <= _TINY * self.fall[1]:
            self.low += 1

    def rows(self, group: int) -> list[RateChange]:
        found = []
        for change, low in ((self.fall, self.low), (self.rise, None)):
            if change is not None:
                first, before, last, after = change
                sizes = number(before), number(after), number(self._base)
                found.append(RateChange(group, first, sizes[0], last, sizes[1], sizes[2], low))
        return found


class _Settings:
    """What is known of the steps of one record."""

    def __init__(self, record: Record, optimizer: Any) -> None:
        self.optimizer = weakref.ref(optimizer)
        self.steps = 0
        self._rates: list[float | None] = []
        self._groups: dict[int, _GroupRate] = {}
        self._changes, self._counts = _Thinned(), _Thinned()
        known = [(info.name, info.tensor) for info in record.model.parameters()]
        self._tensors = [tensor for _, tensor in known]
        self._names = [name for name, _ in known]
        self._trainable: list[bool] = []
        self._thawed: dict[int, tuple[str, int, Any]] = {}  # without a gradient so far
        self._graded: list[tuple[str, int, Any]] = []

    def note(self, step: int, optimizer: Any) -> None:
        """Compare the settings of a step with those before it."""
        self.steps += 1
        rates = [_rate(group) for group in optimizer.param_groups]
        if rates != self._rates:
            self._note_rates(step, rates, optimizer)
        for i, group in self._groups.items():
            if group.fall is not None and i < len(rates):
                group.count(rates[i] or 0.0)
        trainable = [tensor.requires_grad for tensor in self._tensors]
        if trainable != self._trainable:
            self._note_trainable(step, trainable)
        if self._thawed:
            self._search_gradients()

    def _note_rates(self, step: int, rates: list[float | None], optimizer: Any) -> None:
        self._changes.add(step, tuple(rates))
        for i, rate in enumerate(rates):
            if rate is None or (i < len(self._rates) and rate == self._rates[i]):
                continue
            if i in self._groups:
                self._groups[i].change(step, rate)
            else:
                base = optimizer.param_groups[i].get("initial_lr")
                base = float(base) if isinstance(base, int | float) else None
                self._groups[i] = _GroupRate(step, rate, base)
        self._rates = rates

    def _note_trainable(self, step: int, trainable: list[bool]) -> None:
        self._counts.add(step, sum(trainable))
        for i, (before, now) in enumerate(zip(self._trainable, trainable, strict=False)):
            if now and not before:
                self._thawed[i] = self._names[i], step, self._tensors[i]
            elif before and not now:
                self._thawed.pop(i, None)
        self._trainable = trainable

    def _search_gradients(self) -> None:
        for i in [i for i, (_, _, tensor) in self._thawed.items() if tensor.grad is not None]:
            self._graded.append(self._thawed.pop(i))

    def row(self, held: AbstractSet[int]) -> StepSettings:
        """Return what is known as plain data; `held` are the parameters of all optimizers."""
        thawed = [
            (name, step)
            for name, step, tensor in self._graded
            if tensor.requires_grad and id(tensor) not in held
        ]
        return StepSettings(
            steps=self.steps,
            rates=tuple(
                (step, tuple(None if rate is None else number(rate) for rate in rates))
                for step, rates in self._changes.rows
            ),
            rate_changes=max(0, self._changes.total - 1),
            trainable=tuple(self._counts.rows),
            far=tuple(row for i, group in self._groups.items() for row in group.rows(i)) or None,
            thawed=tuple(thawed) or None,
        )


class EachStep(Observer):
    """Notes the settings of every step, also of those that are not watched."""

    kinds = ("step_settings",)
    is_always_told = True

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self._settings: dict[int, _Settings] = {}  # by the id of a record

    def forget(self, root: RootWatch, records: Sequence[Record]) -> None:
        """Forget the parameters of records that have their last reports."""
        for record in records:
            self._settings.pop(id(record), None)

    def before_step(self, optimizer: Any, records: Sequence[Record]) -> None:
        """Note the settings of a step."""
        for record in records:
            known = self._settings.get(id(record))
            if known is None:
                known = self._settings[id(record)] = _Settings(record, optimizer)
                record.settings = known.row
                self.facts.look("step_settings")
            if known.optimizer() is optimizer:  # not of others that step inside backward
                known.note(record.steps.total, optimizer)
