"""Sketches of the inputs and outputs of all calls, and of parameters, buffers and gradients."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Iterable
from typing import Any

import torch
from torch.nn.parameter import is_lazy

from hookcli.engine.statistics.sketch import Projector
from hookcli.engine.watcher import Watcher
from hookcli.models import places
from hookcli.models.model import Call, CallInputs, Model
from hookcli.models.nested import argument_leaves, leaves
from hookcli.refusals import raise_if_external
from hookcli.report.findings import Measurement
from hookcli.report.rows.events import number

CALL, PARAMETER, BUFFER, GRADIENT = (
    "sketch", "sketch_parameter", "sketch_buffer", "sketch_gradient"
)  # fmt: skip


_LONGEST = 300  # characters of the settings of a module


class SketchObserver(Watcher):
    """Makes a `Measurement` of each call, parameter, buffer and gradient.

    The value for a call is `{order, inputs, outputs}`, with a sketch or null for each tensor of the
    row. A tensor that is passed from call to call unchanged is read once. With `ordered`, sketches
    tell values that are equal in another order of the elements (see `Sketch`), and the
    line that calls and the settings of the module are noted.
    """

    def __init__(self, measurements: list[Measurement], *, ordered: bool = False) -> None:
        self._measurements = measurements
        self._ordered, self._projector = ordered, Projector(ordered=ordered)
        self._running: dict[int, dict[str, Any]] = {}
        self._known: dict[int, tuple[weakref.ref[torch.Tensor], int, dict[str, Any] | None]] = {}
        self._lock = threading.Lock()

    def begin(self, model: Model) -> None:
        """Sketch the parameters and buffers before the run."""
        self._measurements.clear()
        for info in model.parameters():
            if not is_lazy(info.tensor):
                self._note(PARAMETER, info.name, None, self._one(info.tensor))
        for info in model.buffers():
            if not is_lazy(info.tensor):
                self._note(BUFFER, info.name, None, self._one(info.tensor))

    def enter(self, call: Call, batch: CallInputs) -> None:
        """Sketch the inputs of a call, before it can write to them."""
        inputs = self._all(tensor for _, tensor, _ in argument_leaves(*batch))
        value = {"order": call.order, "inputs": inputs, "outputs": []}
        if self._ordered:
            value["line"], value["settings"] = places.of_caller(), _settings(call.module)
        self._running[call.order] = value

    def leave(self, call: Call, output: Any, error: BaseException | None) -> None:
        """Sketch the outputs of a call."""
        value = self._running.pop(call.order, None)
        if value is None:
            return
        if error is None:
            if call.late:
                value["inputs"] += self._all(t for _, t, _ in argument_leaves((), call.late))
            value["outputs"] = self._all(tensor for _, tensor, _ in leaves(output))
        name = f"<{call.type}>" if call.name is None else call.name
        self._note(CALL, name, call.index, value)

    def gradients(self, model: Model) -> None:
        """Sketch the gradients of the parameters."""
        for info in model.parameters():
            if info.tensor.grad is not None:
                self._note(GRADIENT, info.name, None, self._one(info.tensor.grad))

    def _note(self, probe: str, target: str, call: int | None, value: Any) -> None:
        with self._lock:
            self._measurements.append(Measurement(probe, target, call, value, None))

    def _all(self, tensors: Iterable[torch.Tensor]) -> list[dict[str, Any] | None]:
        return [self._one(tensor) for tensor in tensors]

    def _one(self, tensor: torch.Tensor) -> dict[str, Any] | None:
        version = -1 if tensor.is_inference() else tensor._version  # counts in-place writes
        known = self._known.get(id(tensor))
        if known is not None and known[0]() is tensor and known[1] == version != -1:
            return known[2]
        sketch = self._projector.sketch(tensor)
        row = None
        if sketch is not None:
            row = sketch.row()
            row["norm"] = number(row["norm"])
            for key in ("projections", "sums", "ordered"):
                if key in row:
                    row[key] = [number(value) for value in row[key]]
        self._known[id(tensor)] = (weakref.ref(tensor), version, row)
        return row


def _settings(module: Any) -> str | None:
    """Return what a module of torch shows of its settings: "(64,), eps=1e-05"."""
    shows = getattr(type(module), "extra_repr", None)
    if not str(getattr(shows, "__module__", "")).startswith("torch."):
        return None  # code of the user
    try:
        return str(module.extra_repr())[:_LONGEST] or None
    except Exception as error:  # noqa: BLE001  # a module that was not constructed whole
        raise_if_external(error)
        return None
