"""The norm of the gradients before a script clips them, for the step that follows.

Also how often gradients are clipped between the backward passes of one step.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from weakref import ref

import torch

from hookcli.models import places
from hookcli.training.observers.observer import Observer
from hookcli.training.record.records import Record
from hookcli.training.script.watched_function import TorchCall
from hookcli.training.source.frame_source import user_frame
from hookcli.training.steps import Clipped

_EUCLIDEAN = 2.0
_MOST = 64  # sets of parameters
_STEPS = 3


def clipped_parameters(call: TorchCall) -> list[torch.Tensor] | None:
    """Return the parameters that a call of `clip_grad_norm_` gets; None if they are not known.

    A generator is not advanced: only that of `module.parameters()` is known.
    """
    given = call.argument(0, "parameters")
    if isinstance(given, torch.Tensor):
        return [given]
    if isinstance(given, list | tuple):
        return list(given)
    module, recurse = _module_of(given)
    return None if module is None else list(module.parameters(recurse=recurse))


def _module_of(given: Any) -> tuple[torch.nn.Module | None, bool]:
    """Return the module of the generator `module.parameters()`, and whether it is recursive."""
    frame = getattr(given, "gi_frame", None)
    values = {} if frame is None else frame.f_locals
    module = values.get("self")
    if not isinstance(module, torch.nn.Module) or given.gi_code.co_name != "parameters":
        return None, True
    return module, bool(values.get("recurse", True))


@dataclass(frozen=True, slots=True)
class _Call:
    ids: frozenset[int]  # of the parameters
    clipped: Clipped


@dataclass(slots=True)
class _Passes:
    """The clippings of one set of parameters, each after a backward pass, since the last step."""

    place: str | None
    clips: int = 0
    backward: int = -1  # the number of the backward pass before the last one
    steps: int = 0  # with several clippings
    most: int = 0


class Clipping(Observer):
    """Keeps what the last call of `clip_grad_norm_` has returned."""

    kinds = ("clipped_each_pass",)
    before = {  # noqa: RUF012
        "clip_grad_norm_": "clip",
        "backward": "backward",
        "zero_grad": "erase",
        "module_zero_grad": "erase",
    }
    after = {"clip_grad_norm_": "clipped"}  # noqa: RUF012

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self._ids: frozenset[int] | None = None  # of what is clipped now
        # Of modules, by their ids. A walk over a module in each step would cost too much; if its
        # parameters change, the norm after the clipping tells.
        self._known: dict[int, tuple[ref[torch.nn.Module], frozenset[int]]] = {}
        self._last: _Call | None = None
        self._backwards = 0
        self._passes: dict[frozenset[int], _Passes] = {}

    def backward(self, call: TorchCall) -> None:
        """Count a backward pass."""
        self._backwards += 1

    def erase(self, call: TorchCall) -> None:
        """Note that gradients are erased: those of the passes before it are no part of the step."""
        for passes in self._passes.values() if self._passes else ():
            passes.clips = 0

    def before_step(self, optimizer: Any, records: Sequence[Record]) -> None:
        """Note how often the gradients of this step were clipped."""
        for passes in self._passes.values() if self._passes else ():
            if passes.clips > 1:
                passes.steps += 1
                passes.most = max(passes.most, passes.clips)
            passes.clips = 0

    def finish(self) -> None:
        """Add the lines that clip after each of the backward passes of a step."""
        for passes in self._passes.values():
            if passes.steps >= _STEPS:
                self.facts.add("clipped_each_pass", "", passes.place, passes=passes.most)

    def _note_pass(self, ids: frozenset[int], call: TorchCall) -> None:
        passes = self._passes.get(ids)
        if passes is None:
            if len(self._passes) >= _MOST:
                return
            self.facts.look("clipped_each_pass")
            passes = self._passes[ids] = _Passes(places.of_frame(user_frame(call.frame)))
        passes.clips += passes.backward != self._backwards
        passes.backward = self._backwards

    def clip(self, call: TorchCall) -> None:
        """Note whose gradients are clipped."""
        module, recurse = _module_of(call.argument(0, "parameters"))
        known = self._known.get(id(module)) if recurse else None
        if module is not None and known is not None and known[0]() is module:
            self._ids = known[1]
            return
        given = clipped_parameters(call)
        self._ids = None if given is None else frozenset(map(id, given))
        if module is not None and recurse and self._ids is not None:
            self._known[id(module)] = ref(module), self._ids

    def clipped(self, call: TorchCall) -> None:
        """Note the norm before, which the call returns."""
        ids, self._ids, self._last = self._ids, None, None
        most, kind = call.argument(1, "max_norm"), call.argument(2, "norm_type")
        is_number = isinstance(most, int | float)
        if ids and is_number and kind in (None, _EUCLIDEAN) and type(call.result) is torch.Tensor:
            if not math.isinf(most):  # else only the norm is computed
                self._note_pass(ids, call)
            norm = call.result.detach()  # that of a GPU is read later
            self._last = _Call(ids, Clipped(float(norm) if norm.is_cpu else norm, float(most)))

    def of_step(self, record: Record) -> Clipped | None:
        """Return the clipping of this record's gradients, once."""
        last = self._last
        if last is None or not last.ids.issuperset(map(id, record.own)):
            return None
        self._last = None
        return last.clipped
