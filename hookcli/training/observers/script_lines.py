"""The lines of the script that make an optimizer, a backward pass and a step, of each record."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from types import FrameType
from typing import Any

from hookcli.models import places
from hookcli.report.steps import ScriptLines
from hookcli.training.observed_script import ObservedScript
from hookcli.training.observers.observer import FactCounts, Observer, line_of
from hookcli.training.record.records import Record
from hookcli.training.script.watched_function import TorchCall
from hookcli.training.source.detached_output import detached_output
from hookcli.training.source.frame_source import loss_place, user_frame

_MOST = 1_000  # optimizers whose lines are kept


class LinesOfRecords(Observer):
    """Notes the lines when the first step of a record begins: it adds no fact."""

    before = {"backward": "backward"}  # noqa: RUF012

    def __init__(self, facts: FactCounts, seen: ObservedScript) -> None:
        super().__init__(facts, seen)
        self._backward: tuple[str, int] | None = None  # the last one
        self._losses: dict[tuple[str, int] | None, str | None] = {}  # by the lines of backward
        self._optimizers: dict[int, str] = {}  # by their ids

    def constructed(self, optimizer: Any, place: str | None) -> None:
        """Note the line that makes an optimizer."""
        if place is not None and len(self._optimizers) < _MOST:
            self._optimizers[self.seen.key_of(optimizer)] = place

    def backward(self, call: TorchCall) -> None:
        """Note the line of a backward pass, and that of its loss."""
        self._backward = line_of(call)
        if self._backward not in self._losses and len(self._losses) < _MOST:
            self._losses[self._backward] = loss_place(user_frame(call.frame))

    def before_step(self, optimizer: Any, records: Sequence[Record]) -> None:
        """Note the lines of records whose first step begins."""
        for record in records:
            if record.lines is None:
                frame = user_frame(sys._getframe(1))
                record.lines = ScriptLines(
                    optimizer=self._optimizers.get(self.seen.key_of(optimizer)),
                    backward=_place(self._backward),
                    step=places.of_frame(frame),
                    loss=self._losses.get(self._backward),
                    detached=_detached(frame, record),
                )

    def finish(self) -> None:
        """Note the line of the backward passes of roots that no optimizer trains."""
        for by_hand in self.seen.by_hand.values():
            if by_hand.record.lines is None:
                loss = self._losses.get(self._backward)
                by_hand.record.lines = ScriptLines(None, _place(self._backward), None, loss)


def _detached(frame: FrameType | None, record: Record) -> str | None:
    """Return the line that detaches the output of a model, none of whose parameters has a grad."""
    tensors = [info.tensor for info in record.model.parameters()]
    trainable = [tensor for tensor in tensors if tensor.requires_grad]
    if frame is None or not trainable or any(tensor.grad is not None for tensor in trainable):
        return None
    return detached_output(frame, record.root.root)


def _place(line: tuple[str, int] | None) -> str | None:
    return None if line is None else f"{places.show(line[0])}:{line[1]}"
