"""The clock of a loop that is not ours, and what its GradScaler did to the loss."""

from __future__ import annotations

from typing import Any

import torch

from hookcli.catalogue.kind import Phase
from hookcli.hooks.context import Context

_in_backward = torch._C._current_graph_task_id


class LoopClock(Context):
    """Tells the phase by what runs: torch's engine says whether it is at work."""

    optimizing = False

    @property
    def phase(self) -> Phase:
        """Where the loop is now."""
        if _in_backward() != -1:
            return "backward"
        if self.optimizing and self.calls.running() is None:  # else a closure of the optimizer's
            return "optimizer"
        return "forward"

    @phase.setter
    def phase(self, _: Phase) -> None:
        """The clock follows; it is not set."""


_SHOWN = 4  # scales that are told


class Scales:
    """By how much a GradScaler multiplied the loss, step by step."""

    def __init__(self, scaler: Any) -> None:
        self._scaler = scaler
        self._found: dict[int, float] = {}

    def note(self, step: int) -> None:
        """A forward of this step is over, and its loss will be scaled."""
        if self._scaler is None or step in self._found or len(self._found) > _SHOWN:
            return
        scale = float(self._scaler.get_scale())
        if scale != 1.0:
            self._found[step] = scale

    def notes(self) -> list[str]:
        """What a reader must know of the gradients."""
        scaled = list(self._found.items())
        if not scaled:
            return []
        return [
            "gradients in backward are scaled: GradScaler multiplied the loss by "
            + ", ".join(f"{scale:g} in step {step}" for step, scale in scaled[:_SHOWN])
            + (", …" if len(scaled) > _SHOWN else "")
            + " (before the optimizer's step they are unscaled)"
        ]
