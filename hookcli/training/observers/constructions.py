"""How optimizers are constructed: parameters given twice, again in each step, groups that rest.

Also those that replace another one after a state was loaded into it.
"""

from __future__ import annotations

import ast
import inspect
import sys
import weakref
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from hookcli.models import places
from hookcli.torch_private import DropoutBase
from hookcli.training.observers.observer import LookSchedule, Observer
from hookcli.training.record.optimizer_groups import parameters_of
from hookcli.training.record.records import Record
from hookcli.training.script.watched_function import TorchCall
from hookcli.training.source.frame_source import body_of, end_of, own_nodes, user_frame

_MOST = 256  # lines, and optimizers
_LEAST = 5  # optimizers of one line, or looks at a group
_LARGE_EPS = 1e-2  # of Adam: 1e-8 is its default, and gradients below eps make hardly a step
# Keys of groups that no optimizer reads, and the setting that they are meant for.
_MEANT = {
    **dict.fromkeys(("learning_rate", "learn_rate", "lrate", "rate"), "lr"),
    **dict.fromkeys(("wd", "decay", "weightdecay", "l2", "weight_decay_rate"), "weight_decay"),
    "beta": "betas",
    "mom": "momentum",
}
_SMALL_RATE = 0.02  # of Adadelta: its default is 1, as it has no rate of its own
_LARGEST_BATCH = 1 << 20  # elements
_BATCHES = 3  # steps of Rprop whose batches are compared
_EPS_ARGUMENT = 3  # of Adam's constructor; weight_decay follows


@dataclass(slots=True)
class _Line:
    """The optimizers that one line constructs, one after another, for the same parameters."""

    type: str
    fourth: str = ""  # argument of the constructor, if that is named as a decay
    misplaced: tuple[str, str] | None = None  # a setting by position, and what it is taken for
    parameter: int | None = None  # id of the first one
    made: int = 0
    steps: int = 0
    is_same: bool = True
    record: Record | None = None


@dataclass(slots=True)
class _Group:
    """A parameter group with a learning rate of 0 at each look, next to others."""

    parameters: int
    names: list[str]
    looks: int = 0


@dataclass(slots=True)
class _Known:
    line: str | None
    has_begun: bool = False
    schedule: LookSchedule = field(default_factory=LookSchedule)
    groups: dict[int, _Group] | None = None
    batches: list[torch.Tensor] = field(default_factory=list)  # the first ones of Rprop


@dataclass(slots=True)
class _LoadedState:
    """A state that was loaded into an optimizer: its place, and the ids of the parameters."""

    optimizer: weakref.ref[Any]
    type: str
    place: str | None
    parameters: set[int]


class Constructions(Observer):
    """Looks at the parameters and groups of each optimizer when it steps."""

    kinds = ("duplicate_parameters", "optimizer_again", "resting_group", "empty_group",
             "large_eps", "dropped_state", "endless_momentum", "swapped_betas",
             "misplaced_setting", "random_closure", "small_rate", "partial_batches",
             "unknown_key")  # fmt: skip
    after = {"optimizer_load": "loaded"}  # noqa: RUF012

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self._lines: dict[str | None, _Line] = {}
        self._known: dict[int, _Known] = {}
        self._loaded: list[_LoadedState] = []  # states that no step has used

    def loaded(self, call: TorchCall) -> None:
        """Note that a state with moments is loaded into an optimizer."""
        optimizer, given = call.argument(0, "self"), call.argument(1, "state_dict")
        if not isinstance(given, dict) or not given.get("state") or len(self._loaded) >= _MOST:
            return
        place = places.of_frame(user_frame(call.frame))
        ids = {id(p) for p in parameters_of(optimizer)}
        kind = type(optimizer).__name__
        self._loaded.append(_LoadedState(weakref.ref(optimizer), kind, place, ids))

    def constructed(self, optimizer: Any, place: str | None) -> None:
        """Note an optimizer, which has no parameters yet."""
        if len(self._lines) < _MOST or place in self._lines:
            if place not in self._lines:
                fourth, misplaced = _fourth_argument(optimizer), _misplaced(optimizer)
                self._lines[place] = _Line(type(optimizer).__name__, fourth, misplaced)
            if len(self._known) >= _MOST:
                self._known.clear()
            self._known[self.seen.key_of(optimizer)] = _Known(place)

    def before_step(self, optimizer: Any, records: Sequence[Record]) -> None:
        """Count a step, and look at the groups."""
        known = self._known.get(self.seen.key_of(optimizer))
        if known is None:
            return
        line = self._lines[known.line]
        line.steps += 1
        if self._loaded:  # a step uses the state
            self._loaded = [one for one in self._loaded if one.optimizer() is not optimizer]
        if not known.has_begun:
            known.has_begun = True
            self._begin(optimizer, line, records)
            self._look_at_settings(optimizer, known, records)
            self._look_at_loaded(optimizer, known, records)
        if len(optimizer.param_groups) > 1 and known.schedule.is_due(None):
            self._look_at_groups(optimizer, known, records)
        if type(optimizer) is torch.optim.Rprop and len(known.batches) < _BATCHES:
            self._look_at_batch(known, records)

    def _begin(self, optimizer: Any, line: _Line, records: Sequence[Record]) -> None:
        self.facts.look("duplicate_parameters", "optimizer_again")
        held = parameters_of(optimizer)
        if len({id(p) for p in held}) < len(held):
            twice = (
                {id(p) for p in held if sum(p is q for q in held) > 1} if len(held) < _MOST else ()
            )
            self.facts.add(
                "duplicate_parameters",
                type(optimizer).__name__,
                self._known[self.seen.key_of(optimizer)].line,
                record=records[0] if records else None,
                parameters=len(held),
                twice=len(held) - len({id(p) for p in held}),
                of=self.name_of_parameters(set(twice)),
            )
        first = id(held[0]) if held else None
        line.is_same &= line.parameter in (None, first)
        line.parameter, line.made = first, line.made + 1
        line.record = line.record or (records[0] if records else None)
        line.is_same &= any(
            bool(group.get(name))
            for group in optimizer.param_groups[:1]
            for name in ("betas", "momentum")
        )

    def _look_at_settings(self, optimizer: Any, known: _Known, records: Sequence[Record]) -> None:
        """Note groups without parameters, and an eps of Adam that is as large as gradients."""
        self.facts.look(
            "empty_group",
            "large_eps",
            "endless_momentum",
            "swapped_betas",
            "misplaced_setting",
            "small_rate",
            "unknown_key",
            "random_closure",
        )
        kind, record = type(optimizer).__name__, records[0] if records else None
        misplaced = self._lines[known.line].misplaced
        if misplaced is not None:
            given, taken = misplaced
            self.facts.add(
                "misplaced_setting", kind, known.line, record=record, given=given, taken=taken
            )
        groups = optimizer.param_groups
        empty = [i for i, group in enumerate(groups) if not group["params"]]
        if empty and len(empty) < len(groups):
            rest = next(group for group in groups if group["params"])
            own = {
                name: value
                for name, value in groups[empty[0]].items()
                if isinstance(value, int | float) and value != rest.get(name)
            }
            self.facts.add("empty_group", kind, known.line, record=record, group=empty[0], own=own)
        first = groups[0]
        eps, decay = first.get("eps"), first.get("weight_decay")
        momentum, betas = first.get("momentum"), first.get("betas")
        if isinstance(momentum, int | float) and momentum >= 1:
            self.facts.add(
                "endless_momentum", kind, known.line, record=record, momentum=float(momentum)
            )
        if isinstance(betas, tuple | list) and len(betas) == 2 and "eps" in first:
            one, two = map(float, betas)
            if two < one:
                self.facts.add(
                    "swapped_betas", kind, known.line, record=record, first=one, second=two
                )
        for number, group in enumerate(groups):
            for key in group.keys() & _MEANT.keys() - optimizer.defaults.keys():
                if _MEANT[key] in optimizer.defaults:
                    self.facts.add(
                        "unknown_key", kind, known.line, record=record, group=number, key=key,
                        meant=_MEANT[key], value=_number(group.get(_MEANT[key])),
                    )  # fmt: skip
        if kind == "LBFGS":
            self._look_at_dropout(known, records)
        rate = first.get("lr")
        if kind == "Adadelta" and isinstance(rate, float) and 0 < rate <= _SMALL_RATE:
            self.facts.add("small_rate", kind, known.line, record=record, rate=rate)
        if "betas" in first and isinstance(eps, float) and eps >= _LARGE_EPS and decay == 0:
            self.facts.add(
                "large_eps", kind, known.line, record=record, eps=eps,
                given=self._lines[known.line].fourth,
            )  # fmt: skip

    def _look_at_dropout(self, known: _Known, records: Sequence[Record]) -> None:
        """Note that LBFGS compares losses of a model whose dropout draws other masks each time."""
        for record in records:
            active = [
                part
                for part in record.root.root.modules()
                if isinstance(part, DropoutBase) and part.training and getattr(part, "p", 0) > 0
            ]
            if active:
                self.facts.add(
                    "random_closure", "LBFGS", known.line, record=record, dropouts=len(active)
                )

    def _look_at_batch(self, known: _Known, records: Sequence[Record]) -> None:
        """Note that Rprop, which compares the signs of gradients, gets another batch each time."""
        self.facts.look("partial_batches")
        runs = records[0].root.recent if records else ()
        given = [value for run in runs for value in run.args if isinstance(value, torch.Tensor)]
        if not given or not given[0].is_floating_point() or given[0].numel() > _LARGEST_BATCH:
            return
        known.batches.append(given[0].detach().clone())
        first = known.batches[0]
        others = [one for one in known.batches[1:] if one.shape == first.shape]
        if len(others) == _BATCHES - 1 and not any(torch.equal(first, one) for one in others):
            rows = len(first) if first.dim() else 1
            self.facts.add("partial_batches", "Rprop", known.line, record=records[0], rows=rows)

    def _look_at_loaded(self, optimizer: Any, known: _Known, records: Sequence[Record]) -> None:
        """Note an optimizer without moments that steps in place of one with a loaded state."""
        self.facts.look("dropped_state")
        ids = {id(p) for p in parameters_of(optimizer)} if self._loaded else set()
        for one in [one for one in self._loaded if one.parameters == ids]:
            self._loaded.remove(one)
            if not optimizer.state:
                record = records[0] if records else None
                self.facts.add("dropped_state", one.type, known.line, record=record, at=one.place)

    def _look_at_groups(self, optimizer: Any, known: _Known, records: Sequence[Record]) -> None:
        self.facts.look("resting_group")
        rates = [float(group.get("lr") or 0) for group in optimizer.param_groups]
        resting = {i for i, rate in enumerate(rates) if rate == 0} if any(rates) else set()
        if known.groups is None:
            names = {id(p.tensor): p.name for one in records for p in one.model.parameters()}
            known.groups = {
                i: _Group(
                    len(group["params"]),
                    [names[id(p)] for p in group["params"] if id(p) in names],
                )
                for i, group in enumerate(optimizer.param_groups)
                if i in resting and any(p.requires_grad for p in group["params"])
            }
        known.groups = {i: group for i, group in known.groups.items() if i in resting}
        for group in known.groups.values():
            group.looks += 1

    def finish(self) -> None:
        """Add the groups that rested at all looks, and lines that construct again and again."""
        for known in self._known.values():
            line = self._lines[known.line]
            for number, group in (known.groups or {}).items():
                if group.looks >= _LEAST:
                    self.facts.add(
                        "resting_group",
                        line.type,
                        known.line,
                        record=line.record,
                        group=number,
                        parameters=group.parameters,
                        names=group.names,
                    )
        for place, line in self._lines.items():
            if line.is_same and line.made >= _LEAST and line.steps >= line.made:
                self.facts.add(
                    "optimizer_again", line.type, place, record=line.record, made=line.made,
                    steps=line.steps,
                )  # fmt: skip


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) else None


def _fourth_argument(optimizer: Any) -> str:
    """Return the fourth positional argument of the constructor that runs, if it is a decay."""
    frame = user_frame(sys._getframe(2))
    body = None if frame is None else body_of(frame)
    if frame is None or body is None:
        return ""
    for node in own_nodes(body):
        if not isinstance(node, ast.Call) or len(node.args) <= _EPS_ARGUMENT:
            continue
        name = ast.unparse(node.func).rpartition(".")[2]
        if name == type(optimizer).__name__ and node.lineno <= frame.f_lineno <= end_of(node):
            text = ast.unparse(node.args[_EPS_ARGUMENT])
            return text if "decay" in text or text in {"wd", "l2"} else ""
    return ""


def _misplaced(optimizer: Any) -> tuple[str, str] | None:
    """Return a variable that is named as one setting and is given, by position, as another one.

    Also in the constructor of a subclass of an optimizer of torch.
    """
    frame = user_frame(sys._getframe(2))
    body = None if frame is None else body_of(frame)
    kind = next((one for one in type(optimizer).__mro__ if _is_of_torch(one)), None)
    if frame is None or body is None or kind is None:
        return None
    settings = list(inspect.signature(kind).parameters)
    for node in own_nodes(body):
        if not isinstance(node, ast.Call) or not node.lineno <= frame.f_lineno <= end_of(node):
            continue
        name = ast.unparse(node.func).rpartition(".")[2]
        if name not in (kind.__name__, "__init__"):
            continue
        for setting, argument in zip(settings, node.args, strict=False):
            given = ast.unparse(argument).rpartition(".")[2]
            if given in settings and setting not in (given, "eps"):  # `large_eps` tells of that
                return given, setting
    return None


def _is_of_torch(kind: type) -> bool:
    return kind.__module__.startswith("torch.optim.") and kind is not torch.optim.Optimizer
