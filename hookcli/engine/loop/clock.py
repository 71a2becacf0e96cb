"""The phase and step of the user's own training loop, and the factors of its GradScaler."""

from __future__ import annotations

from typing import Any

from hookcli.catalogue.kind import Phase
from hookcli.hooks.context import Context
from hookcli.torch_private import current_graph_task_id

_in_backward = current_graph_task_id


class LoopClock(Context):
    """A context whose phase follows the loop: autograd's engine tells whether backward runs."""

    optimizing = False

    @property
    def phase(self) -> Phase:
        """The current phase of the loop."""
        if _in_backward() != -1:
            return "backward"
        if self.optimizing and self.calls.running() is None:  # a running call is of a closure
            return "optimizer"
        return "forward"

    @phase.setter
    def phase(self, _: Phase) -> None:
        """Ignore the value: the phase follows the loop and cannot be set."""


_SHOWN = 4  # scales that the warning lists


class Scales:
    """The factors by which a GradScaler multiplied the loss, by step."""

    def __init__(self, scaler: Any) -> None:
        self._scaler = scaler
        self._scales: dict[int, float] = {}

    def note(self, step: int) -> None:
        """Note the current scale after a forward of this step."""
        if self._scaler is None or step in self._scales or len(self._scales) > _SHOWN:
            return
        scale = float(self._scaler.get_scale())
        if scale != 1.0:
            self._scales[step] = scale

    def notes(self) -> list[str]:
        """Return the warning that gradients were scaled; an empty list if they were not."""
        scaled = list(self._scales.items())
        if not scaled:
            return []
        return [
            "gradients in backward are scaled: GradScaler multiplied the loss by "
            + ", ".join(f"{scale:g} in step {step}" for step, scale in scaled[:_SHOWN])
            + (", …" if len(scaled) > _SHOWN else "")
            + " (before the optimizer's step they are unscaled)"
        ]
