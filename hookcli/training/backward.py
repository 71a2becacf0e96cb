"""What a backward pass started from, found on the Python stack while it runs."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

import torch

from hookcli.models import places
from hookcli.torch_private import count_dispatch_modes
from hookcli.training.non_finite.script_loss import ScriptLossGraph
from hookcli.training.norms import outside_modes
from hookcli.training.script.watched_function import caller
from hookcli.training.source.frame_source import user_frame

# They are compared by identity: the hash of a code takes longer.
_BACKWARD, _GRAD = torch.autograd.backward.__code__, torch.autograd.grad.__code__


@dataclass(slots=True, eq=False)
class BackwardPass:
    """One backward pass of the script.

    `start` is the tensor that it started from, if there is one; it is released when the step ends.
    `loss` is its value if it has one real element: a tensor, except on the CPU. `scale` is the
    factor of a GradScaler in it, a tensor on a GPU too. `place` is the line of the script that
    called backward. `roots` are the numbers of the roots that the pass reached. `left` tells of
    records, by id, whether the gradients of their last step were still there: see
    `Record.left_gradients`. `graph` is that of a loss that is not finite.

    `fills` tells whether the pass adds to `.grad`: torch.autograd.grad does not. `inputs` are the
    ids of the tensors whose gradients it computes, if the script names them. `is_inner`: its result
    has a graph, so that it is a part of another loss.
    """

    task: int
    start: torch.Tensor | None
    loss: torch.Tensor | float | None
    place: str | None
    scale: float | torch.Tensor | None = None
    roots: set[int] = field(default_factory=set)
    left: dict[int, bool | None] = field(default_factory=dict)
    graph: ScriptLossGraph | None = None
    fills: bool = True
    inputs: frozenset[int] | None = None
    is_inner: bool = False

    def computes(self, parameters: Iterable[torch.Tensor]) -> bool:
        """Whether it can compute the gradient of one of these parameters, of a root it reaches."""
        inputs = self.inputs
        for parameter in parameters:  # the first one mostly tells it
            if parameter.requires_grad if inputs is None else id(parameter) in inputs:
                return True
        return False

    def is_bad(self) -> bool:
        """Whether the loss is known to be not finite; one on a GPU is not read."""
        return isinstance(self.loss, float) and not math.isfinite(self.loss)


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
    values = frame.f_locals  # a new dictionary each time
    start = only_tensor(values.get(name))
    loss = None if start is None else _value_of(start)
    return BackwardPass(
        task,
        start,
        loss,
        places.of_frame(caller(frame)),
        fills=name == "tensors",
        inputs=_ids(values.get("inputs")),
        is_inner=name == "outputs" and bool(values.get("create_graph")),
    )


def backward_frame() -> FrameType | None:
    """Return the frame of the script's line that called backward on this thread; None if none."""
    found = _outermost(sys._getframe(1))
    return None if found is None else user_frame(caller(found[0]))


def _value_of(start: torch.Tensor) -> torch.Tensor | float | None:
    """Return the value of one real element, which is not read on a GPU; else None."""
    if start.numel() != 1 or start.is_meta or start.is_complex():
        return None
    if type(start) is torch.Tensor and start.is_cpu and not count_dispatch_modes():
        return float(start.item())  # nobody sees this, and it needs no contexts
    with outside_modes():
        value = start.detach()
        return float(value) if value.device.type == "cpu" else value


def _ids(inputs: Any) -> frozenset[int] | None:
    """Return the identities of the tensors whose gradients a pass computes; None for all leaves."""
    if inputs is None:
        return None
    if isinstance(inputs, torch.Tensor):
        return frozenset({id(inputs)})
    if not isinstance(inputs, list | tuple) or not inputs:
        return None
    return frozenset(map(id, inputs))


def passes_of_step(passes: Sequence[BackwardPass]) -> list[BackwardPass]:
    """Return those of the passes of a step whose gradients the optimizer uses.

    They are those that fill `.grad`. Without any, the script has filled it itself with the results
    of torch.autograd.grad. If some of these results have a graph, as for a product with the
    Hessian, it is not known which ones it used, unless there is only one.
    """
    filling = [one for one in passes if one.fills]
    if filling or len(passes) == 1:
        return filling or list(passes)
    return [] if any(one.is_inner for one in passes) else list(passes)


def only_tensor(tensors: Any) -> torch.Tensor | None:
    """Return the tensor if there is one, also alone in a list or tuple."""
    if isinstance(tensors, list | tuple) and len(tensors) == 1:
        tensors = tensors[0]
    return tensors if isinstance(tensors, torch.Tensor) else None


def _outermost(frame: FrameType | None) -> tuple[FrameType, str] | None:
    """Return the outermost call of backward of a thread: checkpoints go backward inside of it."""
    found = None
    while frame is not None:
        code = frame.f_code
        if code is _BACKWARD:
            found = frame, "tensors"
        elif code is _GRAD:
            found = frame, "outputs"
        frame = frame.f_back
    return found


class Scaler:
    """The GradScaler of the script, if it has one. It is searched for among all objects, once."""

    def __init__(self) -> None:
        self._scaler: Any = None
        self._searched = False

    def of(self, node: Any) -> float | torch.Tensor | None:
        """Return the factor by which a GradScaler multiplied a loss; None if none did.

        `node` is what made the loss in its graph. On a GPU the factor is not read.
        """
        if node is None or type(node).__name__ != "MulBackward0":
            return None
        if not self._searched:
            self._search()
        if self._scaler is None or not self._scaler.is_enabled():
            return None
        factor = self._scaler._scale
        if factor is None or factor.is_cpu:
            return float(self._scaler.get_scale())
        with torch.no_grad(), outside_modes():
            copied: torch.Tensor = factor.detach().clone()  # the scaler changes it in place
            return copied

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
