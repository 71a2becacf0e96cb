"""What a backward pass started from, found on the Python stack while it runs."""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

import torch

from hookcli.models import places
from hookcli.training.non_finite.script_loss import ScriptLossGraph
from hookcli.training.norms import outside_modes

# By the identity of the code: its hash takes longer.
_CODES = {
    id(torch.autograd.backward.__code__): "tensors",
    id(torch.autograd.grad.__code__): "outputs",
}


@dataclass(slots=True, eq=False)
class BackwardPass:
    """One backward pass of the script.

    `start` is the tensor that it started from, if there is one; it is released when the step ends.
    `loss` is its value if it has one element, `scale` the factor of a GradScaler in it. `place` is
    the line of the script that called backward. `roots` are the ids of the roots that the pass
    reached; `held` are those of them whose parameters had gradients before. `graph` is that of a
    loss that is not finite.
    """

    task: int
    start: torch.Tensor | None
    loss: torch.Tensor | None
    place: str | None
    scale: float | None = None
    roots: set[int] = field(default_factory=set)
    held: set[int] = field(default_factory=set)
    graph: ScriptLossGraph | None = None

    def is_bad(self) -> bool:
        """Whether the loss is known to be not finite; one on a GPU is not read."""
        loss = self.loss
        return loss is not None and loss.device.type == "cpu" and not math.isfinite(float(loss))


def running_backward(task: int) -> BackwardPass:
    """Return the backward pass that runs now, on this thread or on the one that started it."""
    own: FrameType | None = sys._getframe(1)
    found = _outermost(own)
    if found is None:  # a GPU's backward has its own thread
        for other in list(sys._current_frames().values()):
            found = found if other is own else _outermost(other) or found
    if found is None:
        return BackwardPass(task, None, None, None)
    frame, name = found
    start = _only(frame.f_locals.get(name))
    loss = None
    if start is not None and start.numel() == 1 and not start.is_meta:
        with torch.no_grad(), outside_modes():
            loss = start.detach().clone() if start.device.type == "cpu" else start.detach()
    return BackwardPass(task, start, loss, places.of_frame(frame.f_back))


def _only(tensors: Any) -> torch.Tensor | None:
    if isinstance(tensors, list | tuple) and len(tensors) == 1:
        tensors = tensors[0]
    return tensors if isinstance(tensors, torch.Tensor) else None


def _outermost(frame: FrameType | None) -> tuple[FrameType, str] | None:
    """Return the outermost call of backward of a thread: checkpoints go backward inside of it."""
    found = None
    while frame is not None:
        name = _CODES.get(id(frame.f_code))
        if name is not None:
            found = frame, name
        frame = frame.f_back
    return found


class Scaler:
    """The GradScaler of the script, if it has one. It is searched for among all objects, once."""

    def __init__(self) -> None:
        self._scaler: Any = None
        self._searched = False

    def of(self, start: torch.Tensor) -> float | None:
        """Return the factor by which a GradScaler multiplied this loss; None if none did."""
        node = start.grad_fn
        if node is None or type(node).__name__ != "MulBackward0":
            return None
        if not self._searched:
            self._search()
        if self._scaler is None or not self._scaler.is_enabled():
            return None
        return float(self._scaler.get_scale())

    def _search(self) -> None:
        import gc

        self._searched = True
        kind = torch.amp.GradScaler
        for value in gc.get_objects():
            if isinstance(type(value), type) and issubclass(type(value), kind):
                self._scaler = value

    def scale(self) -> float | None:
        """Return the current scale; None without a scaler."""
        return None if self._scaler is None else float(self._scaler.get_scale())
