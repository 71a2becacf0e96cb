"""Watches a second run for the value that is judged: of a call, the loss or a gradient."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch

from hookcli.engine.first_non_finite.birth import Birth
from hookcli.engine.first_non_finite.tracker import Tracker
from hookcli.engine.observe.node_owners import NodeOwners
from hookcli.engine.watcher import Watcher
from hookcli.hooks.context import Context
from hookcli.models.model import Call, CallInputs, Model
from hookcli.models.nested import argument_leaves, leaves
from hookcli.operators.finite import counts_of
from hookcli.torch_private import disable_current_modes


@dataclass(slots=True)
class Trigger:
    """The value that made the run fail, and where it was made."""

    at: str  # input, output, loss, gradient or parameter_gradient
    target: str
    births: tuple[Birth, ...]


class Triggers(Watcher):
    """An observer that notes the first value with NaN or Inf, as `finite` judges values.

    -Inf alone is taken for a mask in the forward. A gradient counts if that of a parameter is not
    finite, or else if that of a call's output is not.
    """

    def __init__(self, tracker: Tracker, context: Context) -> None:
        self._tracker = tracker
        self._context = context
        self._gradients: list[Birth] = []
        self.first: Trigger | None = None

    def enter(self, call: Call, batch: CallInputs) -> None:
        """Check the inputs of a call."""
        self._forward(call, "input", argument_leaves(*batch))

    def leave(self, call: Call, output: Any, error: BaseException | None) -> None:
        """Check the outputs of a call, and later their gradients."""
        if error is not None or self.first is not None:
            return
        outputs = leaves(output)
        self._forward(call, "output", outputs)
        for _, tensor, _ in outputs:
            if call.graded and tensor.requires_grad and not tensor.is_leaf:
                tensor.register_hook(self._graded)  # type: ignore[no-untyped-call]

    def graph(self, start: torch.Tensor, owners: NodeOwners) -> None:
        """Check the loss."""
        counts = self._counts(start)
        if counts is not None:
            self._set("loss", "", self._tracker.births_of(start))

    def gradients(self, model: Model) -> None:
        """Check the gradients of the parameters."""
        births: list[Birth] = []
        target, at = "", "gradient"
        for info in reversed(model.parameters()):
            grad = info.tensor.grad
            if grad is not None and self._counts(grad) is not None:
                births += self._tracker.births_of(grad)
                target, at = target or info.name, "parameter_gradient"
        births = births or self._gradients
        if births:
            self._set(at, target, tuple(births))
        self._gradients = []

    def _forward(self, call: Call, at: str, tensors: list[tuple[str, torch.Tensor, bool]]) -> None:
        if self.first is not None or self._context.phase not in {"forward", "loss"}:
            return
        for _, tensor, _ in tensors:
            counts = self._counts(tensor)
            if counts is not None and (counts["nans"] or counts["infs"]):
                self._set(at, call.name or "", self._tracker.births_of(tensor))
                return

    def _graded(self, grad: torch.Tensor) -> None:
        if self.first is None and self._counts(grad) is not None:
            self._gradients += self._tracker.births_of(grad)

    def _counts(self, tensor: torch.Tensor) -> dict[str, int] | None:
        if self.first is not None:
            return None
        with torch.no_grad(), disable_current_modes():
            return counts_of(tensor)

    def _set(self, at: str, target: str, births: tuple[Birth, ...]) -> None:
        self.first = Trigger(at, target, births)
        self._tracker.done = True
