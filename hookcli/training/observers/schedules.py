"""How often a script steps its learning rate schedulers, and with which value."""

from __future__ import annotations

import ast
import math
import weakref
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import torch
from torch.optim.lr_scheduler import LRScheduler, MultiStepLR, OneCycleLR, ReduceLROnPlateau
from torch.optim.swa_utils import SWALR

from hookcli.models import places
from hookcli.report.rows.events import number
from hookcli.system.references import count_references
from hookcli.training.observers.observer import Observer
from hookcli.training.record.optimizer_groups import largest_rate, learning_rate, parameters_of
from hookcli.training.record.records import Record
from hookcli.training.script.watched_function import TorchCall
from hookcli.training.source.frame_source import user_frame
from hookcli.training.source.loss_source import argument_of_call, kind_of_value, unwrapped

_MOST = 64  # schedulers
_SMALL = 1.001e-3  # of the first learning rate, with what rounding adds
_RATES = 5
_LEAST = 60  # steps of an optimizer whose scheduler makes none


@dataclass(slots=True)
class _Made:
    """A scheduler that the script has constructed."""

    type: str
    place: str | None
    optimizer: weakref.ref[Any]
    steps: bool = False  # it, or a scheduler that it is a part of
    before: int = 0  # steps of the optimizer before


@dataclass(slots=True)
class _Schedule:
    """A scheduler, from its first step that the script makes."""

    scheduler: Any
    place: str | None
    calls: int = 0
    before: int = 0  # steps of the optimizer before its first call
    first: float | None = None  # learning rates: before its first call, and after its last
    last: float | None = None
    most: float = 0.0  # the largest one after a call
    small: int | None = None  # steps of the optimizer until it was a thousandth of the first
    cuts: int = 0
    metric: tuple[str, str] | None = None  # the source of the value, and what it is
    rises: bool = False  # at its last call
    rates: list[float] = field(default_factory=list)  # after its first calls
    given: float | None = None  # a value with a fraction, where an epoch is expected
    beside: int = 0  # calls since a SWALR of the optimizer has begun
    levelled: list[float] = field(default_factory=list)  # rates of groups that it made equal


class Schedules(Observer):
    """Counts the steps of schedulers and of their optimizers."""

    kinds = ("schedule", "unused_schedule")
    is_always_told = True  # a schedule may step once in many steps of the optimizer
    before = {  # noqa: RUF012
        "scheduler_step": "begins",
        "plateau_step": "begins",
        "scheduler_made": "making",
    }
    after = {  # noqa: RUF012
        "scheduler_step": "ended",
        "plateau_step": "ended",
        "scheduler_made": "made",
    }

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self._schedules: dict[int, _Schedule] = {}
        self._made: dict[int, _Made] = {}
        self._steps: dict[int, int] = {}  # of optimizers
        self._rate: float | None = None
        self._stepped: set[int] = set()  # keys of optimizers with a scheduler that steps
        self._levelled: dict[int, list[float]] = {}  # rates of groups before, by scheduler

    def making(self, call: TorchCall) -> None:
        """Note the rates of groups that a OneCycleLR makes equal."""
        scheduler, optimizer = call.argument(0, "self"), call.argument(1, "optimizer")
        if type(scheduler) is not OneCycleLR or not isinstance(optimizer, torch.optim.Optimizer):
            return
        groups = optimizer.param_groups
        rates = [group["lr"] for group in groups]
        most = {group.get("max_lr") for group in groups}
        if all(isinstance(rate, float) for rate in rates) and len(set(rates)) > len(most) == 1:
            self._levelled[id(scheduler)] = rates

    def made(self, call: TorchCall) -> None:
        """Note a scheduler; one of several others steps them itself."""
        scheduler = call.argument(0, "self")
        for given in (*call.args[1:], *call.kwargs.values()):
            for part in given if isinstance(given, list | tuple) else ():
                self._made.pop(id(part), None)
        optimizer, frame = getattr(scheduler, "optimizer", None), user_frame(call.frame)
        if optimizer is None or frame is None or not hasattr(scheduler, "last_epoch"):
            return
        step = type(scheduler).step  # one of its own need not call that of PyTorch
        if len(self._made) < _MOST and step in (LRScheduler.step, ReduceLROnPlateau.step):
            self.facts.look("unused_schedule")
            known = _Made(type(scheduler).__name__, places.of_frame(frame), weakref.ref(optimizer))
            known.before = self._steps.get(self.seen.key_of(optimizer), 0)
            self._made[id(scheduler)] = known

    def begins(self, call: TorchCall) -> None:
        """Note a step that the script makes: others call those of their parts."""
        scheduler = call.argument(0, "self")
        made = self._made.get(id(scheduler))
        if made is not None:
            made.steps = True
        optimizer = getattr(scheduler, "optimizer", None)
        if optimizer is None or not places.is_user(call.frame.f_code.co_filename):
            return
        known = self._schedules.get(id(scheduler))
        if known is None:
            if len(self._schedules) >= _MOST:
                return
            known = self._schedules[id(scheduler)] = _Schedule(
                scheduler, places.of_frame(call.frame)
            )
            known.before = self._steps.get(self.seen.key_of(optimizer), 0)
            known.levelled = self._levelled.pop(id(scheduler), [])
            known.first = _rate(optimizer)
            if hasattr(scheduler, "mode") and len(call.args) + len(call.kwargs) > 1:
                known.metric = _metric(call)
        known.calls += 1
        self._stepped.add(self.seen.key_of(optimizer))
        for other in self._schedules.values():
            is_last = type(other.scheduler) is SWALR and other is not known
            if is_last and other.scheduler.optimizer is optimizer:
                known.beside += 1
        # CosineAnnealingWarmRestarts has a step of its own, which takes fractions of epochs.
        if type(scheduler).step is LRScheduler.step and known.given is None:
            known.given = _fraction(call.argument(1, "epoch"))
        self.facts.look("schedule")
        self._rate = _rate(optimizer)

    def ended(self, call: TorchCall) -> None:
        """Note the learning rate after a step."""
        known = self._schedules.get(id(call.argument(0, "self")))
        if known is not None:
            known.last = _rate(known.scheduler.optimizer)
            known.most = max(known.most, known.last or 0.0)
            known.rises = (known.last or 0.0) > (self._rate or 0.0)
            if len(known.rates) < _RATES and known.last is not None:
                known.rates.append(known.last)
            if known.small is None and known.first and (known.last or 0.0) <= _SMALL * known.first:
                known.small = self._steps.get(self.seen.key_of(known.scheduler.optimizer), 0)
            if self._rate is not None and known.last is not None and known.last < self._rate:
                known.cuts += 1

    def before_step(self, optimizer: Any, records: Sequence[Record]) -> None:
        """Count the steps of an optimizer."""
        key = self.seen.key_of(optimizer)
        self._steps[key] = self._steps.get(key, 0) + 1

    def references(self, optimizer: Any) -> int:
        """Return how many references to an optimizer those schedulers have that only this has."""
        return sum(_references([one.scheduler], 1, optimizer) for one in self._schedules.values())

    def let_go_of(self, optimizer: Any) -> None:
        """Add the facts about the schedulers of an optimizer, and forget them."""
        done = [k for k, one in self._schedules.items() if one.scheduler.optimizer is optimizer]
        self._add_found([self._schedules.pop(key) for key in done])
        made = [key for key, one in self._made.items() if one.optimizer() in (optimizer, None)]
        self._add_unused([self._made.pop(key) for key in made])

    def finish(self) -> None:
        """Add a fact about each scheduler."""
        self._add_found(self._schedules.values())
        self._add_unused(self._made.values())

    def _add_found(self, schedules: Iterable[_Schedule]) -> None:
        for known in schedules:
            optimizer = known.scheduler.optimizer
            steps = self._steps.get(self.seen.key_of(optimizer), 0)
            record = self.record_of({id(p) for p in parameters_of(optimizer)})
            metric = known.metric or (None, None)
            self.facts.add(
                "schedule",
                type(known.scheduler).__name__,
                known.place,
                record=record,
                calls=known.calls,
                steps=steps,
                before=known.before,
                cuts=known.cuts,
                first=None if known.first is None else number(known.first),
                last=None if known.last is None else number(known.last),
                mode=getattr(known.scheduler, "mode", None),
                horizon=_horizon(known.scheduler),
                most=number(known.most),
                small=known.small,
                base=number(_base(known.scheduler) or 0.0),
                others=sum(self._steps.values()) - steps,
                metric=metric[0],
                metric_kind=metric[1],
                floor=_floor(known.scheduler),
                rises=known.rises,
                compounds=_compounds(known.first, known.rates),
                given=None if known.given is None else number(known.given),
                milestone=_next_milestone(known.scheduler),
                beside=known.beside,
                levelled=[number(rate) for rate in known.levelled],
            )

    def _add_unused(self, schedulers: Iterable[_Made]) -> None:
        for made in schedulers:
            optimizer = made.optimizer()
            if optimizer is None:
                continue
            steps = self._steps.get(self.seen.key_of(optimizer), 0) - made.before
            is_replaced = self.seen.key_of(optimizer) in self._stepped
            if not made.steps and steps >= _LEAST and not is_replaced:
                self.facts.add(
                    "unused_schedule",
                    made.type,
                    made.place,
                    record=self.record_of({id(p) for p in parameters_of(optimizer)}),
                    steps=steps,
                )


def _references(scheduler: list[Any], known: int, optimizer: Any) -> int:
    """Return how many references to an optimizer a scheduler and its parts have.

    There are none if the scheduler, which is the only item of a list, has more references than are
    `known`: those of the script.
    """
    if count_references(scheduler) > known:
        return 0
    parts = vars(scheduler[0]).get("_schedulers", ())
    own = int(getattr(scheduler[0], "optimizer", None) is optimizer)
    return own + sum(_references([parts[i]], 1, optimizer) for i in range(len(parts)))


def _fraction(value: Any) -> float | None:
    """Return a number that is no epoch, as it has a fraction: a loss, perhaps."""
    if isinstance(value, torch.Tensor):
        value = value.detach().item() if value.numel() == 1 and not value.is_meta else None
    return value if isinstance(value, float) and not value.is_integer() else None


def _compounds(first: float | None, rates: Sequence[float]) -> float | None:
    """Return the first factor of learning rates, if later ones are its square, its cube and so on.

    Such factors are those of the whole time, and multiply each other. The factor before may be 1.
    """
    if not first or len(rates) < _RATES or min(rates) <= 0:
        return None
    factors = [after / before for before, after in pairwise([first, *rates])]
    while factors and math.isclose(factors[0], 1.0, rel_tol=1e-6):
        factors = factors[1:]
    if len(factors) < _RATES - 1 or math.isclose(factors[0], 1.0, rel_tol=1e-3):
        return None
    powers = enumerate(factors, 1)
    known = all(math.isclose(one, factors[0] ** i, rel_tol=1e-4) for i, one in powers)
    return factors[0] if known else None


def _next_milestone(scheduler: Any) -> int | None:
    """Return the first milestone of a MultiStepLR, if its calls have reached none."""
    milestones = getattr(scheduler, "milestones", None)
    if type(scheduler) is not MultiStepLR or not milestones:
        return None
    return int(min(milestones)) if min(milestones) > scheduler.last_epoch else None


def _base(scheduler: Any) -> float | None:
    """Return the largest learning rate that a scheduler multiplies."""
    rates = getattr(scheduler, "base_lrs", None)
    known = [float(rate) for rate in rates or () if isinstance(rate, int | float)]
    return max(known, default=None)


def _floor(scheduler: Any) -> float | None:
    """Return the least rate of a ReduceLROnPlateau; None of others, and if groups differ."""
    rates = {*getattr(scheduler, "min_lrs", ())}
    rate = rates.pop() if len(rates) == 1 else None
    return float(rate) if isinstance(rate, int | float) else None


def _rate(optimizer: Any) -> float | None:
    largest = largest_rate(optimizer)
    return learning_rate(optimizer) if largest is None else largest


_HORIZONS = ("total_steps", "T_max")  # of OneCycleLR, and of CosineAnnealingLR


def _horizon(scheduler: Any) -> int | None:
    """Return for how many steps of the scheduler it was made; None if it does not tell."""
    for name in _HORIZONS:
        value = getattr(scheduler, name, None)
        if isinstance(value, int | float) and value > 0:
            return int(value)
    return None


_LOSSES = ("loss", "error", "nll", "perplexity", "mse", "mae", "rmse")
_SCORES = ("acc", "accuracy", "f1", "auc", "auroc", "iou", "dice", "bleu", "recall")


def _metric(call: TorchCall) -> tuple[str, str] | None:
    """Return the source of the value that a scheduler watches, and whether it is a loss or score.

    A value that a loss function of PyTorch has returned is a loss; else the words of its name tell.
    """
    frame = user_frame(call.frame)
    found = None if frame is None else argument_of_call(frame, "step")
    if frame is None or found is None:
        return None
    found = unwrapped(found) or found
    text = ast.unparse(found)
    if kind_of_value(found, frame) == "loss":
        return text, "loss"
    last = text.rpartition(".")[2] if isinstance(found, ast.Name | ast.Attribute) else ""
    words = set(last.lower().split("_"))
    kinds = {kind for kind, names in (("loss", _LOSSES), ("score", _SCORES)) if words & {*names}}
    return (text, kinds.pop()) if len(kinds) == 1 else None
