"""Gradients that are clipped or used while they are multiplied by the scale of a GradScaler."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from types import FrameType
from typing import Any

from hookcli.models import places
from hookcli.system.frame_variables import variables_of
from hookcli.training.observers.observer import LookSchedule, Observer, line_of
from hookcli.training.record.records import Record
from hookcli.training.script.watched_function import TorchCall


class ScaledClipping(Observer):
    """Follows scale, unscale_ and clipping until the step."""

    kinds = ("scaled_clipping", "scaled_step")
    before = {  # noqa: RUF012
        "unscale_": "unscaled",
        "clip_grad_norm_": "clip",
        "clip_grad_value_": "clip",
    }
    after = {"scale": "scaled"}  # noqa: RUF012

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self._scaler: Any = None  # of the loss, until the gradients are unscaled
        self._scaled_at: str | None = None
        self._schedule = LookSchedule()

    def scaled(self, call: TorchCall) -> None:
        """Note that a loss is scaled."""
        self._scaler = call.argument(0, "self")
        self.facts.look("scaled_step")
        if self._scaled_at is None:
            self._scaled_at = places.of_frame(call.frame)

    def unscaled(self, call: TorchCall) -> None:
        """Note that the gradients are unscaled."""
        self._scaler = None

    def before_step(self, optimizer: Any, records: Sequence[Record]) -> None:
        """Note a step that uses scaled gradients; GradScaler.step has unscaled them, or does it."""
        scaler, self._scaler = self._scaler, None
        if (
            scaler is None
            or not self._schedule.is_due(self.seen.key_of(optimizer))
            or not scaler.is_enabled()
        ):
            return
        scale = float(scaler.get_scale())
        if scale > 1 and not _is_inside(scaler, sys._getframe(1)):
            kind = type(optimizer).__name__
            record = records[0] if records else None
            self.facts.add("scaled_step", kind, self._scaled_at, record=record, scale=scale)

    def clip(self, call: TorchCall) -> None:
        """Note gradients that are clipped while they are scaled."""
        self.facts.look("scaled_clipping")
        if self._scaler is None or not self._schedule.is_due(line_of(call)):
            return
        limit = call.argument(1, "max_norm", call.kwargs.get("clip_value"))
        if isinstance(limit, int | float) and math.isinf(limit):
            return
        if self._scaler.is_enabled() and float(self._scaler.get_scale()) > 1:
            scale = float(self._scaler.get_scale())
            self.facts.add("scaled_clipping", "", places.of_frame(call.frame), scale=scale)


def _is_inside(scaler: Any, frame: FrameType | None) -> bool:
    """Return whether a method of a GradScaler runs, which steps the optimizer."""
    while frame is not None:
        if "self" in frame.f_code.co_varnames and variables_of(frame).get("self") is scaler:
            return True
        frame = frame.f_back
    return False
