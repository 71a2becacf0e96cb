"""Fingerprints of what a training starts from and of what it saves, without a copy of the data.

A training that is resumed from a checkpoint starts from the state in which the other one was saved:
its weights, moments, counts of steps, schedules, scales, random generators and the next batch.
"""

from __future__ import annotations

import hashlib
import sys
import time
import weakref
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from hookcli.models import places
from hookcli.models.nested import argument_leaves
from hookcli.report.training import TrainingState
from hookcli.torch_private import disable_current_modes
from hookcli.training.norms import local
from hookcli.training.observers.observer import Observer
from hookcli.training.record.optimizer_groups import parameters_of
from hookcli.training.record.records import Record
from hookcli.training.script.watched_function import TorchCall

_MOST_NAMES = 5_000  # parameters whose fingerprints are kept each
_SAVES = 16  # the last ones, of each record
_CHANCES = 32
_FREE, _SHARE = 1.0, 0.02  # seconds that saves may take, and their share of the time beyond
_MOST_BATCH = 1 << 24  # elements of a batch
_INTEGERS = {1: torch.int8, 2: torch.int16, 4: torch.int32, 8: torch.int64}
# What changes without being part of the state, or is in another group.
_NOT_STATE = {"_step_count", "_get_lr_called_within_step", "_last_lr", "verbose", "_is_initial"}
_NOT_SETTINGS = {"params", "initial_lr", "foreach", "fused", "capturable", "differentiable"}
_clock = time.perf_counter  # the script may replace it


@dataclass(slots=True)
class _State:
    """A state, which is complete after the next step."""

    record: Record
    step: int
    after: Any
    place: str | None
    loads: bool
    groups: dict[str, dict[str, str]]
    chances: list[str] = field(default_factory=list)
    is_open: bool = True  # until its next step


class TrainingStates(Observer):
    """Takes fingerprints at the first step of each record, and at each save."""

    is_always_told = True
    before = {"save": "saved", "iterate": "drawn"}  # noqa: RUF012
    after = {  # noqa: RUF012
        "load_state_dict": "loaded",
        "set_rng_state": "drawn",
        "scheduler_made": "scheduler_made",
        "scale": "scaled",
    }

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self._starts: dict[int, _State] = {}  # by the id of a record
        self._saves: dict[int, list[_State]] = {}
        # Each record with its optimizer.
        self._known: dict[int, tuple[Record, weakref.ref[Any]]] = {}
        self._schedulers: list[weakref.ref[Any]] = []
        self._scaler: weakref.ref[Any] | None = None
        self._loads = False
        self._drawn: list[str] = []  # states of torch's generator before the first step
        self._began, self._spent = _clock(), 0.0

    def loaded(self, call: TorchCall) -> None:
        """Note that weights are loaded."""
        self._loads = True
        self.drawn(call)

    def scheduler_made(self, call: TorchCall) -> None:
        """Keep a scheduler by a weak reference."""
        self._schedulers.append(weakref.ref(call.argument(0, "self")))

    def scaled(self, call: TorchCall) -> None:
        """Keep a GradScaler by a weak reference."""
        if self._scaler is None:
            self._scaler = weakref.ref(call.argument(0, "self"))

    def drawn(self, call: TorchCall) -> None:
        """Note the state of torch's generator, where an epoch begins or it is restored."""
        if self._known and not any(state.is_open for state in self._open()):
            return
        now = _torch_generator()
        for state in self._open():
            _add(state.chances, now)
        if not self._known:
            _add(self._drawn, now)

    def saved(self, call: TorchCall) -> None:
        """Take the fingerprints of all records whose optimizer has made a step since the last."""
        begin = _clock()
        if self._spent > _FREE + _SHARE * (begin - self._began):
            return
        place = places.of_frame(call.frame)
        for key, (record, reference) in self._known.items():
            optimizer = reference()
            if optimizer is None or record.is_closed:
                continue
            saves = self._saves.setdefault(key, [])
            step = record.steps.total
            if saves and saves[-1].step == step:
                saves.pop()  # a file of several: what changed since is in the last one
            state = self._state(record, optimizer, step, "save", place)
            saves.append(state)
            del saves[:-_SAVES]
        self._spent += _clock() - begin

    def before_step(self, optimizer: Any, records: Sequence[Record]) -> None:
        """Take the fingerprints before a first step; complete those of the last save."""
        for record in records:
            key = id(record)
            if key not in self._known:
                self._known[key] = record, weakref.ref(optimizer)
                start = self._state(record, optimizer, record.steps.total, "start", None)
                start.chances[:0] = self._drawn
                self._starts[key] = start
            for state in (*self._saves.get(key, ())[-1:], self._starts[key]):
                if state.is_open:
                    self._complete(state, optimizer)

    def _open(self) -> Iterator[_State]:
        for saves in self._saves.values():
            yield from (state for state in saves[-1:] if state.is_open)

    def _state(
        self, record: Record, optimizer: Any, step: int, after: str, place: str | None
    ) -> _State:
        names = record.root.names()
        own = {names[id(p)]: p for p in record.own if id(p) in names}
        groups = {"weights": fingerprints(own), **_of_steps(optimizer)}
        return _State(record, step, after, place, self._loads, groups, [_torch_generator()])

    def _complete(self, state: _State, optimizer: Any) -> None:
        """Add what a script may change between a save and the next step, as before that step."""
        state.is_open = False
        state.groups |= {
            "optimizer settings": _of_settings(optimizer),
            "scheduler": self._of_schedulers(optimizer),
            "scaler": self._of_scaler(),
            "random state": _of_generators(),
            "data order": _of_batch(state.record),
            "buffers": fingerprints(dict(state.record.root.root.named_buffers())),
        }
        _add(state.chances, _torch_generator())

    def _of_schedulers(self, optimizer: Any) -> dict[str, str]:
        found: dict[str, str] = {}
        for reference in self._schedulers:
            scheduler = reference()
            if scheduler is None or getattr(scheduler, "optimizer", None) is not optimizer:
                continue
            name = type(scheduler).__name__
            for key, value in _plain(scheduler.state_dict()):
                found[f"{name} {key}"] = value
        return found

    def _of_scaler(self) -> dict[str, str]:
        scaler = None if self._scaler is None else self._scaler()
        if scaler is None:
            return {}
        return dict(_plain(scaler.state_dict()))

    def rows(self) -> Iterator[TrainingState]:
        """Yield the states of each record: its start, and its saves in their order."""
        for key, start in self._starts.items():
            for state in (start, *self._saves.get(key, ())):
                groups = {name: group for name, group in state.groups.items() if group}
                yield TrainingState(
                    state.record.name,
                    state.step,
                    state.after,
                    state.place,
                    state.loads,
                    groups,
                    tuple(state.chances),
                )


def _add(chances: list[str], state: str) -> None:
    if state not in chances and len(chances) < _CHANCES:
        chances.append(state)


def _of_steps(optimizer: Any) -> dict[str, dict[str, str]]:
    """Return what an optimizer keeps of its steps: moments by their name, and counts of steps."""
    tensors: dict[str, list[torch.Tensor]] = {}
    counts: dict[str, set[str]] = {}
    for parameter in parameters_of(optimizer):
        for name, value in optimizer.state.get(parameter, {}).items():
            if isinstance(value, torch.Tensor) and name != "step":
                tensors.setdefault(name, []).append(value)
            elif isinstance(value, torch.Tensor | int | float):
                counts.setdefault(name, set()).add(f"{float(value):.17g}")
    return {
        "optimizer moments": {
            name: _joined(fingerprints(dict(enumerate(values))).values())
            for name, values in tensors.items()
        },
        "step count": {name: ", ".join(sorted(values)) for name, values in counts.items()},
    }


def _of_settings(optimizer: Any) -> dict[str, str]:
    """Return the settings of an optimizer, such as its learning rates: those of all groups."""
    settings: dict[str, list[str]] = {}
    for group in optimizer.param_groups:
        for name, value in _plain({k: v for k, v in group.items() if k not in _NOT_SETTINGS}):
            settings.setdefault(name, []).append(value)
    return {name: ", ".join(values) for name, values in settings.items()}


def fingerprints(tensors: Mapping[Any, torch.Tensor]) -> dict[Any, str]:
    """Return a short hash of the dtype, shape and bits of each tensor, as far as they can be read.

    It is of two sums of the bits as integers, of all elements and of every second one, which are
    computed where the tensor is. With many tensors, one hash of all is returned.
    """
    found: dict[Any, str] = {}
    sums: dict[Any, torch.Tensor] = {}
    with torch.no_grad(), disable_current_modes():
        for name, tensor in tensors.items():
            value = local(tensor.detach())
            if value.is_meta or value.layout is not torch.strided or value.is_quantized:
                continue
            if value.is_complex():
                value = torch.view_as_real(value)
            flat = _integers(value.contiguous().reshape(-1))
            two = flat.sum(dtype=torch.int64), flat[::2].sum(dtype=torch.int64)
            sums[name] = torch.stack(two)
        devices: dict[torch.device, list[Any]] = {}
        for name, both in sums.items():
            devices.setdefault(both.device, []).append(name)
        for names in devices.values():  # each is read once
            read = torch.stack([sums[name] for name in names]).tolist()
            for name, both in zip(names, read, strict=True):
                head = f"{tensors[name].dtype} {list(tensors[name].shape)} {both}"
                found[name] = _digest(head.encode())
    ordered = {name: found[name] for name in tensors if name in found}
    return ordered if len(ordered) <= _MOST_NAMES else {"": _joined(ordered.values())}


def _integers(flat: torch.Tensor) -> torch.Tensor:
    """Return the bits as integers, as long ones as they fill: these are read fastest."""
    size = flat.element_size()
    if flat.numel() * size % 8:
        return flat.view(_INTEGERS[size])
    if flat.storage_offset() * size % 8:  # equal values have equal integers wherever they are
        flat = flat.clone()
    return flat.view(torch.int64)


def _joined(digests: Iterable[str]) -> str:
    return _digest(" ".join(digests).encode())


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:12]


def _torch_generator() -> str:
    return _digest(torch.get_rng_state().numpy().tobytes())


def _of_generators() -> dict[str, str]:
    """Return the states of the global generators from which the script may draw."""
    found = {"torch": _torch_generator()}
    if "random" in sys.modules:
        found["random"] = _digest(repr(sys.modules["random"].getstate()).encode())
    if "numpy.random" in sys.modules:
        state = sys.modules["numpy.random"].get_state(legacy=False)["state"]
        parts = {name: bytes(value) if name == "key" else value for name, value in state.items()}
        found["numpy"] = _digest(repr(parts).encode())
    if torch.cuda.is_available() and torch.cuda.is_initialized():  # type: ignore[no-untyped-call]
        for index in range(torch.cuda.device_count()):
            found[f"cuda:{index}"] = _digest(torch.cuda.get_rng_state(index).numpy().tobytes())
    return found


def _plain(values: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, str]]:
    """Yield the numbers, flags and short texts of a state, with those inside of it."""
    for name, value in values.items():
        if name in _NOT_STATE:
            continue
        key = f"{before}{name}"
        if isinstance(value, torch.Tensor) and value.numel() == 1:
            value = value.item()
        if isinstance(value, Mapping):
            yield from _plain({str(k): v for k, v in value.items()}, f"{key}.")
        elif isinstance(value, list | tuple):
            yield from _plain({str(i): v for i, v in enumerate(value)}, f"{key}.")
        elif value is None or isinstance(value, bool | int | str):
            yield key, str(value)[:80]
        elif isinstance(value, float):
            yield key, f"{value:.12g}"


def _of_batch(record: Record) -> dict[str, str]:
    """Return the fingerprint of the arguments of the step's last forward, if they are known."""
    if not record.root.recent:
        return {}
    run = record.root.recent[-1]
    tensors = [tensor for _, tensor, _ in argument_leaves(run.args, run.kwargs)]
    if not tensors or sum(tensor.numel() for tensor in tensors) > _MOST_BATCH:
        return {}
    return {"batch": _joined(fingerprints(dict(enumerate(tensors))).values())}
