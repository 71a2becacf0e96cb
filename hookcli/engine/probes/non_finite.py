"""Checks every tensor of a run when it is made, and notes non-finite values in their order."""

from __future__ import annotations

import threading
import weakref
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.nn.parameter import is_lazy

from hookcli.engine.probes.context import ProbeWatcher, Requests
from hookcli.models.model import Call, CallInputs, Model
from hookcli.models.nested import argument_leaves, leaves
from hookcli.operators.finite import figures
from hookcli.refusals import raise_if_external
from hookcli.report.findings import Measurement
from hookcli.rules.finite import FOUND, SEEN
from hookcli.spec.request import Spec

_MOST = 200  # notes; most of those after the first are its consequences


@dataclass(slots=True)
class _Made:
    """A tensor that a call returned, and the calls that it was an input of."""

    call: Call
    path: str
    taken_by: list[Call] = field(default_factory=list)


class Values(ProbeWatcher):
    """Observes all values of a run. A tensor is read again only after it was written."""

    def __init__(self, measurements: list[Measurement]) -> None:
        self.measurements = measurements
        self._read = 0
        self._known: dict[int, tuple[weakref.ref[torch.Tensor], int]] = {}
        self._made: dict[int, tuple[weakref.ref[torch.Tensor], _Made]] = {}
        self._bad_gradients: set[int] = set()  # orders of calls with non-finite gradients
        self._lock = threading.Lock()
        self._full = False
        self._model: Model | None = None
        self._step = 0
        self._stepped = False  # whether an optimizer may have changed the parameters since

    def begin(self, model: Model) -> None:
        """Check the parameters and buffers before the run."""
        self.measurements.clear()
        self._model = model
        for at, infos in (("parameter", model.parameters()), ("buffer", model.buffers())):
            for info in infos:
                counts = None if is_lazy(info.tensor) else self._look(info.tensor)
                if counts is not None:
                    self._note(at, info.name, None, {**counts, "order": None})

    def enter(self, call: Call, batch: CallInputs) -> None:
        """Check the inputs of a call, before it can write to them."""
        if self._stepped and call.parent is None:
            self._updated()
        self._values(call, "input", argument_leaves(*batch))

    def leave(self, call: Call, output: Any, error: BaseException | None) -> None:
        """Check the outputs of a call, and later their gradients."""
        if error is not None:
            return
        if call.late:
            self._values(call, "input", argument_leaves((), call.late))
        outputs = leaves(output)
        self._values(call, "output", outputs)
        if call.graded:
            for path, tensor, _ in outputs:
                self._await(call, path, tensor)

    def gradients(self, model: Model) -> None:
        """Check the parameters' gradients of this step; their rows only have the last step."""
        for info in reversed(model.parameters()):  # backward reaches the last ones first
            grad = info.tensor.grad
            counts = None if grad is None else self._look(grad)
            if counts is not None:
                self._note("parameter_gradient", info.name, None, {**counts, "order": None})
        self._step += 1
        self._stepped = True

    def _updated(self) -> None:
        """Check the parameters after an optimizer's step."""
        self._stepped = False
        if self._model is None or self._full:
            return
        for info in self._model.parameters():
            counts = None if is_lazy(info.tensor) else self._look(info.tensor)
            if counts is not None:
                self._note("updated", info.name, None, {**counts, "order": None}, self._step - 1)

    def complete(self) -> None:
        """Add a measurement of the number of tensors that were read."""
        if self._stepped:
            self._updated()
        self._model = None
        self.measurements.insert(0, Measurement(SEEN, "", None, self._read, "tensors"))

    def _values(self, call: Call, at: str, tensors: list[tuple[str, torch.Tensor, bool]]) -> None:
        for path, tensor, _ in tensors:
            if at == "input" and tensor.requires_grad:
                self._taken(call, tensor)
            seen = self._look(tensor)
            if seen is not None:
                self._of_call(call, at, path, seen)

    def _look(self, tensor: torch.Tensor) -> dict[str, int] | None:
        """Return the counts of a tensor that is not finite, even if it was read before."""
        if not (tensor.is_floating_point() or tensor.is_complex()) or tensor.is_meta:
            return None
        version = -1 if tensor.is_inference() else tensor._version  # counts in-place writes
        known = self._known.get(id(tensor))
        if known is not None and known[0]() is tensor and known[1] == version != -1:
            return None  # it was finite
        try:
            counts = figures(tensor)
        except (RuntimeError, NotImplementedError) as error:  # an unsupported layout or device
            raise_if_external(error)
            return None
        self._read += 1
        if counts is None:
            self._known[id(tensor)] = (weakref.ref(tensor), version)
        return counts

    def _of_call(self, call: Call, at: str, path: str, value: dict[str, Any]) -> None:
        details = {**value, "path": path, "order": call.order, "type": call.type}
        name = f"<{call.type}>" if call.name is None else call.name
        self._note(at, name, call.index, details)

    def _note(
        self,
        at: str,
        target: str,
        call: int | None,
        value: dict[str, Any],
        step: int | None = None,
    ) -> None:
        with self._lock:
            if len(self.measurements) < _MOST:
                details = {"at": at, **value, "step": self._step if step is None else step}
                self.measurements.append(Measurement(FOUND, target, call, details, None))
            self._full = len(self.measurements) >= _MOST

    def _taken(self, call: Call, tensor: torch.Tensor) -> None:
        known = self._made.get(id(tensor))
        if known is not None and known[0]() is tensor:
            known[1].taken_by.append(call)

    def _await(self, call: Call, path: str, tensor: torch.Tensor) -> None:
        """Check the gradient when it arrives.

        A tensor that several calls return unchanged belongs to the first of them.
        """
        if not tensor.requires_grad or tensor.is_leaf:
            return
        known = self._made.get(id(tensor))
        if known is not None and known[0]() is tensor:
            return
        made = _Made(call, path)
        self._made[id(tensor)] = (weakref.ref(tensor), made)
        tensor.register_hook(lambda grad: self._graded(made, grad))  # type: ignore[no-untyped-call]

    def _graded(self, made: _Made, grad: torch.Tensor | None) -> None:
        if self._full or grad is None:  # a custom Function may return None
            return
        counts = self._look(grad)
        if counts is None:
            return
        self._bad_gradients.add(made.call.order)
        good = [c for c in made.taken_by if c.order not in self._bad_gradients]
        outer = {c.parent for c in good}
        inner = [c.order for c in good if c.order not in outer]
        self._of_call(made.call, "gradient", made.path, {**counts, "taken_by": inner})


def observe(_requests: Requests, _spec: Spec) -> list[ProbeWatcher]:
    """Return the watcher of all values."""
    return [Values([])]
