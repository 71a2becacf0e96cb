"""Models that a script calls and no optimizer trains: averages, targets, teachers."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import FrameType
from typing import Any

import torch
from torch import nn

from hookcli.models import places
from hookcli.system.frame_variables import variables_of
from hookcli.torch_private import BatchNormBase, DropoutBase, disable_current_modes
from hookcli.training.norms import local
from hookcli.training.observers.observer import LookSchedule, Observer
from hookcli.training.observers.weight_writes import may_write_weights, only_loads
from hookcli.training.record.records import Record
from hookcli.training.root_watch import RootWatch
from hookcli.training.script.watched_function import TorchCall
from hookcli.training.source.frame_source import user_frame

_LEAST = 60  # steps
_MOST_LOADED = 256  # models
_LOOKS = 3
_TABLES = 12  # of variables: those of a few functions that call one another
_NAMES_AT = 2  # the step before which the names of models are looked at
_FEW = 8  # parameters that are compared
# Names of copies that a training updates. Others, as of a reference policy, stay on purpose.
_COPIES = ("target", "teacher", "momentum")  # without averages, which a script may go without
_UPDATED = {
    "global",
    "server",
    "target",
    "tgt",
    "ema",
    "momentum",
    "slow",
    "averaged",
    "shadow",
    "avg",
}


@dataclass(slots=True)
class _Copy:
    """A root without an optimizer, at the looks after its first call."""

    root: RootWatch
    first: list[float]
    calls: int
    looks: int = 0
    changed: bool = False
    trains: int = 0  # looks at which it was in train mode
    steps: int = 0  # since the first look
    twin: RootWatch | None = None  # a trained root of the same form


class ModelCopies(Observer):
    """Looks at the models that are called only: whether they change, and in which mode they are."""

    kinds = ("stale_statistics", "unchanged_copy", "teacher_mode", "trained_copy", "same_model")
    after = {"load_state_dict": "loaded"}  # noqa: RUF012

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self._copies: dict[int, _Copy] = {}
        self._schedule = LookSchedule()
        self._steps = 0
        self._loaded: set[int] = set()  # ids of the models that states were loaded into
        self._same: list[tuple[RootWatch, str, str]] = []  # with its names: as a copy, as trained

    def loaded(self, call: TorchCall) -> None:
        """Note a model that a state is loaded into, after the first step."""
        if self._steps and len(self._loaded) < _MOST_LOADED:
            self._loaded.add(id(call.argument(0, "self")))

    def before_step(self, optimizer: Any, records: Sequence[Record]) -> None:
        """Look at the roots that no optimizer has."""
        self._steps += 1
        if self._steps == _NAMES_AT:
            self._look_at_names(user_frame(sys._getframe(1)))
        if len(self.seen.roots) < 2 or not self._schedule.is_due(None):
            return
        for root in list(self.seen.roots.values()):
            if root.is_bound or root.is_part or not isinstance(root.root, nn.Module):
                continue
            known = self._copies.get(root.number)
            values = _values(root.root)
            if known is None:
                if len(self._copies) < 16:
                    self.facts.look(*self.kinds)
                    copied = _Copy(root, values, root.known_calls or 0, steps=self._steps)
                    copied.twin = self._twin_of(root)
                    self._copies[root.number] = copied
                continue
            known.looks += 1
            known.changed |= values != known.first
            known.trains += root.root.training
            known.twin = known.twin or self._twin_of(root)

    def forget(self, root: RootWatch, records: Sequence[Record]) -> None:
        """Forget a root that the script has dropped: another one may take its place."""
        self._copies.pop(root.number, None)
        self._same = [one for one in self._same if one[0] is not root]

    def _look_at_names(self, frame: FrameType | None) -> None:
        """Note a model that the script trains and also has as a copy: two names of one object."""
        tables: list[Mapping[str, Any]] = []
        while frame is not None and len(tables) < _TABLES:
            variables = variables_of(frame)
            owner = variables.get("self")
            tables += [variables, frame.f_globals]
            tables += [vars(owner)] if hasattr(owner, "__dict__") else []
            frame = user_frame(frame.f_back)
        names: dict[int, dict[str, None]] = {}
        for table in tables:
            for name, value in list(table.items()):
                if isinstance(value, nn.Module):
                    names.setdefault(id(value), {})[name] = None
        held = self.seen.held_ids()
        for root in self.seen.roots.values():
            own = names.get(id(root.root), {})
            copies = [name for name in own if any(one in name.lower() for one in _COPIES)]
            trained = [name for name in own if name not in copies]
            if copies and trained and root.parameter_ids() & held:
                self._same.append((root, copies[0], trained[0]))

    def _find_same(self) -> None:
        """Add models that were to be copies, if they are called without gradients as these are."""
        for root, copy, trained in self._same:
            if 5 * (root.ungraded.in_train + root.ungraded.in_eval) >= root.calls > 0:
                place = places.of_class(type(root.root))
                record = next((one for one in self.seen.records if one.root is root), None)
                many = root.ungraded.in_train  # those in eval mode may be a validation
                self.facts.add("same_model", copy, place, record=record, of=trained, calls=many)

    def _twin_of(self, root: RootWatch) -> RootWatch | None:
        """Return a trained root, or a part of one, with the same names and shapes."""
        form = _form(root.root)
        for record in self.seen.records:
            if record.root is not root and _form(record.root.root) == form:
                return record.root
        return None

    def finish(self) -> None:
        """Add what the copies are."""
        held = self.seen.held_ids()
        for known in self._copies.values():
            root = known.root
            known.changed |= _values(root.root) != known.first
            if root.is_bound or root.is_part or root.parameter_ids() & held:
                continue
            place = places.of_class(type(root.root))
            stale = _stale(root.root, known.twin)
            if known.changed and stale and not root.root.training:
                self.facts.add(
                    "stale_statistics", root.name, place, norms=len(stale), first=stale[0]
                )
            steps = self._steps - known.steps
            if known.changed:
                continue
            named = _is_updated(root.name)
            is_left = named and steps >= _LEAST
            if known.twin is not None and is_left and self._may_be_forgotten(known):
                total = sum(r.steps.total for r in self.seen.records if r.root is known.twin)
                steps = min(steps, total or steps)  # those of other optimizers do not count
                self.facts.add("unchanged_copy", root.name, place, of=known.twin.name, steps=steps)
            elif known.trains == known.looks >= _LOOKS and _is_never_evaluated(root):
                sensitive = [
                    name
                    for name, part in root.root.named_modules()
                    if isinstance(part, BatchNormBase)
                    or (isinstance(part, DropoutBase) and getattr(part, "p", 0.0) != 0)
                ]
                if sensitive:
                    self.facts.add(
                        "teacher_mode",
                        root.name,
                        place,
                        modules=sensitive,
                        calls=root.ungraded.in_train,
                    )
        self._find_trained_copy()
        self._find_same()

    def _may_be_forgotten(self, known: _Copy) -> bool:
        """Return whether the script writes the weights of another copy, or none at all."""
        others = (other for other in self._copies.values() if other is not known)
        follows = any(other.changed and _is_updated(other.root.name) for other in others)
        if follows or not may_write_weights():
            return True
        # The states that were loaded went into other models.
        return bool(self._loaded) and id(known.root.root) not in self._loaded and only_loads()

    def _find_trained_copy(self) -> None:
        """Add that copies of the optimizer's model get the gradients, and it is never called."""
        for record in self.seen.records:
            root = record.root
            if root.known_calls or any(p.grad is not None for p in record.own):
                continue
            form = _form(root.root)
            copies = [
                other
                for other in self.seen.roots.values()
                if other is not root and not other.is_bound and _form(other.root) == form
            ]
            called = [one for one in copies if one.forwards or one.known_calls]
            if form and called:
                self.facts.add(
                    "trained_copy",
                    root.name,
                    places.of_class(type(root.root)),
                    record=record,
                    copy=called[-1].name,
                    copies=len(called),
                )


def _is_updated(name: str) -> bool:
    """Return whether a name is that of a copy that a training updates."""
    own = set(name.lower().replace(".", "_").split("_"))
    return bool(own & _UPDATED) or any(part.endswith(("ema", "target")) for part in own)


def _form(module: nn.Module) -> tuple[Any, ...]:
    return (type(module), *((name, tuple(p.shape)) for name, p in module.named_parameters()))


def _values(module: nn.Module) -> list[float]:
    """Return sums of a few parameters, which an update changes."""
    parameters = [p for p in module.parameters() if p.numel() and not p.is_meta]
    with torch.no_grad(), disable_current_modes():
        return [
            float(local(p.detach()).reshape(-1)[:4096].double().sum()) for p in parameters[:_FEW]
        ]


def _stale(module: nn.Module, twin: RootWatch | None) -> list[str]:
    """Return the batch norms whose running statistics are those of the constructor.

    The same ones of the model that is trained are others.
    """
    if twin is None:
        return []
    others = dict(twin.root.named_modules())
    found = []
    for name, part in module.named_modules():
        other = others.get(name)
        if _is_initial(part) and isinstance(other, BatchNormBase) and not _is_initial(other):
            found.append(name)
    return found


def _is_initial(part: nn.Module | None) -> bool:
    if not isinstance(part, BatchNormBase) or part.running_mean is None:
        return False
    mean, variance = part.running_mean, part.running_var
    with torch.no_grad(), disable_current_modes():
        return bool((mean == 0).all()) and variance is not None and bool((variance == 1).all())


def _is_never_evaluated(root: RootWatch) -> bool:
    """Return whether a root is called without gradients, and only in train mode."""
    return bool(root.ungraded.in_train) and not root.ungraded.in_eval
