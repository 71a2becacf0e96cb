"""The norm of the gradients before a script clips them, for the step that follows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from weakref import ref

import torch

from hookcli.training.observers.observer import Observer
from hookcli.training.records import Record
from hookcli.training.script.watched_function import TorchCall
from hookcli.training.steps import Clipped

_EUCLIDEAN = 2.0


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


class Clipping(Observer):
    """Keeps what the last call of `clip_grad_norm_` has returned."""

    before = {"clip_grad_norm_": "clip"}  # noqa: RUF012
    after = {"clip_grad_norm_": "clipped"}  # noqa: RUF012

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self._ids: frozenset[int] | None = None  # of what is clipped now
        # Of modules, by their ids. A walk over a module in each step would cost too much; if its
        # parameters change, the norm after the clipping tells.
        self._known: dict[int, tuple[ref[torch.nn.Module], frozenset[int]]] = {}
        self._last: _Call | None = None

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
            norm = call.result.detach()  # that of a GPU is read later
            self._last = _Call(ids, Clipped(float(norm) if norm.is_cpu else norm, float(most)))

    def of_step(self, record: Record) -> Clipped | None:
        """Return the clipping of this record's gradients, once."""
        last = self._last
        if last is None or not last.ids.issuperset(map(id, record.own)):
            return None
        self._last = None
        return last.clipped
