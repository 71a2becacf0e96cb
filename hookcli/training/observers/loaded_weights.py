"""Weights that `load_state_dict` was to load, and that have not arrived."""

from __future__ import annotations

import weakref
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from hookcli.models import places
from hookcli.torch_private import disable_current_modes
from hookcli.training.norms import local
from hookcli.training.observers.observer import Observer, variable_of
from hookcli.training.record.optimizer_groups import parameters_of
from hookcli.training.record.records import Record
from hookcli.training.root_watch import RootWatch
from hookcli.training.script.watched_function import TorchCall
from hookcli.training.source.frame_source import user_frame

_MOST_KEYS = 100_000
_LOADS = 32
_WEIGHTS = 4  # of a model, the largest
_VALUES = 1_024  # of each
_ALIKE = 0.3  # for unrelated values of 64 elements, it is below that in 98 % of cases


class LoadedWeights(Observer):
    """Counts the parameters that `load_state_dict(strict=False)` has loaded, and that stay so."""

    kinds = ("loaded", "overwritten", "own_tensors", "unused_model")
    after = {"load_state_dict": "loaded"}  # noqa: RUF012

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self._loads: list[_Load] = []
        self._stepped = False
        self._models: list[_Model] = []
        self._optimizers: set[int] = set()  # ids of those that have stepped

    def loaded(self, call: TorchCall) -> None:
        """Note how many parameters were loaded, if keys were left over; keep some values."""
        self.facts.look(*self.kinds)
        kept = self._keep(call)
        missing = getattr(call.result, "missing_keys", None)
        unexpected = getattr(call.result, "unexpected_keys", None)
        module, given = call.argument(0, "self"), call.argument(1, "state_dict")
        if kept and len(self._models) < _LOADS:
            self._models.append(_Model.of(module, given, call, kept))
        # Before the first step, a library may have a reason to load a model's own state.
        judged = self._stepped or places.is_user(call.frame.f_code.co_filename)
        if judged and isinstance(module, nn.Module) and _has_own(module, given):
            name, place = variable_of(module, call.frame), places.of_frame(call.frame)
            own_name = name or type(module).__name__
            self.facts.add("own_tensors", own_name, place, stepped=self._stepped)
        if not missing or not unexpected or not isinstance(module, nn.Module):
            return
        own = [name for name, _ in module.named_parameters()]
        if len(own) + len(given) > _MOST_KEYS:
            return
        lost = set(missing)
        prefix = prefix_between(lost.intersection(own), set(unexpected))
        renamed = 0
        if prefix is not None:
            added, removed = prefix
            renamed = sum(_renamed(name, added, removed) in unexpected for name in own)
        self.facts.add(
            "loaded",
            variable_of(module, call.frame) or type(module).__name__,
            places.of_frame(call.frame),
            parameters=len(own),
            loaded=sum(name not in lost for name in own),
            given=len(given),
            begin=common_beginning(list(given)),
            added="" if prefix is None else prefix[0],
            removed="" if prefix is None else prefix[1],
            renamed=renamed,
        )

    def _keep(self, call: TorchCall) -> list[torch.Tensor]:
        """Keep some values of the largest weights, until the first step that trains them."""
        module = call.argument(0, "self")
        if not isinstance(module, nn.Module) or len(self._loads) >= _LOADS:
            return []
        weights = _largest(module)
        kept = [(weakref.ref(p), _values(p)) for p in weights]
        if kept:
            name = variable_of(module, call.frame) or type(module).__name__
            place = places.of_frame(call.frame)
            # A module that is loaded twice has the values of the second time.
            ids = {id(p) for p in weights}
            self._loads = [one for one in self._loads if one.ids.isdisjoint(ids)]
            self._loads.append(_Load(name, place, kept, ids))
        return [values for _, values in kept]

    def before_step(self, optimizer: Any, records: Sequence[Record]) -> None:
        """Compare the weights that a first step trains with those that were loaded."""
        if self._models and self.seen.key_of(optimizer) not in self._optimizers:
            self._look_for_others(records)
        self._optimizers.add(self.seen.key_of(optimizer))
        self._stepped = True
        if not self._loads:
            return
        held = {id(p) for p in parameters_of(optimizer)}
        for load in [one for one in self._loads if one.ids & held]:
            self._loads.remove(load)
            now = [(reference(), before) for reference, before in load.kept]
            alike = [_likeness(p, before) for p, before in now if p is not None]
            if alike and max(alike) < _ALIKE:
                record = records[0] if records else None
                self.facts.add(
                    "overwritten", load.name, load.place, record=record, weights=len(alike)
                )

    def _look_for_others(self, records: Sequence[Record]) -> None:
        """Note the loaded models of whose class another one is trained, with other weights."""
        with torch.no_grad(), disable_current_modes():
            for one in self._models:
                for record in records:
                    root = record.root.root
                    alike = type(root) is one.kind and _shapes(root) == one.shapes
                    if not alike or root is one.module():
                        continue
                    pairs = zip(_largest(root), one.values, strict=False)
                    likeness = [_likeness(p, before) for p, before in pairs if p.numel()]
                    shares = any(p.data_ptr() == one.source for p in root.parameters())
                    if likeness and max(likeness) < _ALIKE and not shares:
                        one.trained = record.root.name

    def forget(self, root: RootWatch, records: Sequence[Record]) -> None:
        """Forget a model that ran, and that the script has dropped."""
        self._models = [one for one in self._models if one.module() is not root.root]

    def finish(self) -> None:
        """Add the models that were loaded and never ran, if another one is trained instead."""
        ran = [root.root for root in self.seen.roots.values()]
        for one in self._models:
            if one.trained and not any(root is one.module() for root in ran):
                self.facts.add(
                    "unused_model", one.name, one.place, type=one.kind.__name__, of=one.trained
                )


@dataclass(slots=True, eq=False)
class _Model:
    """A model that got weights, with some values of the largest ones.

    `source` is the memory of the first weight that it got. `trained` names another model of the
    class, with other weights, that is trained.
    """

    name: str
    place: str | None
    kind: type
    module: weakref.ref[nn.Module]
    source: int
    shapes: list[tuple[int, ...]]
    values: list[torch.Tensor]
    trained: str = ""

    @classmethod
    def of(
        cls, module: nn.Module, given: Any, call: TorchCall, values: list[torch.Tensor]
    ) -> _Model:
        """Return the model that a call of load_state_dict loads into."""
        first = next((v for v in dict(given).values() if isinstance(v, torch.Tensor)), None)
        plain = first is not None and not first.is_meta and first.layout is torch.strided
        source = first.data_ptr() if first is not None and plain else 0
        name = variable_of(module, call.frame) or type(module).__name__
        place = places.of_frame(user_frame(call.frame))
        reference, shapes = weakref.ref(module), _shapes(module)
        return cls(name, place, type(module), reference, source, shapes, values)


def _shapes(module: nn.Module) -> list[tuple[int, ...]]:
    """Return the shapes of a module's parameters."""
    return [tuple(p.shape) for p in module.parameters()]


def _largest(module: nn.Module) -> list[nn.Parameter]:
    """Return the largest weights of a module."""
    weights = [
        p
        for p in module.parameters()
        if p.dim() > 1 and p.is_floating_point() and not p.is_meta and type(p) is nn.Parameter
    ]
    return sorted(weights, key=lambda p: -p.numel())[:_WEIGHTS]


def _has_own(module: nn.Module, given: Any) -> bool:
    """Return whether a state has the very memory of the parameters into which it is loaded."""
    own = dict(module.named_parameters())
    pairs = [(own[name], value) for name, value in dict(given).items() if name in own]
    plain = [(a, b) for a, b in pairs if type(b) in (torch.Tensor, nn.Parameter) and a.numel()]
    return bool(plain) and all(
        not b.is_meta and a.layout is b.layout is torch.strided and a.data_ptr() == b.data_ptr()
        for a, b in plain
    )


@dataclass(slots=True, eq=False)  # its tensors cannot be compared
class _Load:
    """A call of load_state_dict, with some values of the largest weights after it."""

    name: str
    place: str | None
    kept: list[tuple[weakref.ref[nn.Parameter], torch.Tensor]]
    ids: set[int]


def _values(parameter: torch.Tensor) -> torch.Tensor:
    with torch.no_grad(), disable_current_modes():
        return local(parameter.detach()).reshape(-1)[:_VALUES].float().cpu().clone()


def _likeness(parameter: torch.Tensor, before: torch.Tensor) -> float:
    """Return how alike values are to earlier ones: 1 if they are the same, 0 if unrelated."""
    now = _values(parameter)
    if now.shape != before.shape or torch.equal(now, before):
        return 1.0
    first, second = now - now.mean(), before - before.mean()
    size = float(first.norm() * second.norm())
    return abs(float(first @ second)) / size if size else 1.0


def _renamed(name: str, added: str, removed: str) -> str:
    return added + name.removeprefix(removed)


def prefix_between(missing: Collection[str], unexpected: Collection[str]) -> tuple[str, str] | None:
    """Return what was added to the names of a model, and removed from them, to get the keys given.

    One of the two is "". None if no such prefix turns a missing name into a key.
    """
    for name in missing:
        for key in unexpected:
            if key.endswith(f".{name}"):
                return key.removesuffix(name), ""
            if name.endswith(f".{key}"):
                return "", name.removesuffix(key)
    return None


def common_beginning(keys: list[str]) -> str:
    """Return the parts of names with which all keys begin, with the dot behind them."""
    first = keys[0].split(".") if len(keys) > 1 else []
    common = 0
    while common < len(first) - 1 and all(
        key.split(".")[common : common + 1] == [first[common]] for key in keys
    ):
        common += 1
    return "".join(f"{part}." for part in first[:common])
