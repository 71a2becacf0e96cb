"""How often a script resets gradients between its backward passes and steps; what it clips.

Only scripts with one optimizer are followed, whose calls alone tell what happens to its gradients.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from types import FrameType
from typing import Any
from weakref import ref

import torch

from hookcli.models import places
from hookcli.system.frame_variables import variables_of
from hookcli.training.norms import is_not_zero, local, outside_modes
from hookcli.training.observers.observer import LookSchedule, Observer, line_of
from hookcli.training.record.optimizer_groups import parameters_of
from hookcli.training.record.records import Record
from hookcli.training.script.watched_function import TorchCall

_READ = 4  # parameters whose gradients are looked at
_LEAST = 3  # looks
_PASSES = 6  # backward passes
_HALF = 0.5  # of the backward passes
_TWICE = 0.45  # of the steps


@dataclass(slots=True)
class _Clip:
    """A line that clips: how often there was something to clip, at the looks."""

    place: str | None
    looks: int = 0
    empty: int = 0
    exhausted: int = 0


class StepOrder(Observer):
    """Counts backward passes whose gradients are erased, or that repeat one, and empty clipping."""

    kinds = ("lost_backward", "kept_gradients", "double_step", "repeated_backward",
             "nothing_clipped")  # fmt: skip
    before = {  # noqa: RUF012
        "backward": "backward",
        "zero_grad": "zero_grad",
        "module_zero_grad": "module_zero_grad",
        "clip_grad_norm_": "clip",
    }
    after = {"clip_grad_norm_": "clipped"}  # noqa: RUF012

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self._only: ref[Any] | None = None  # the optimizer, while it is the only one
        self._is_alone = True
        self._parameters: list[torch.Tensor] = []
        self._record: Record | None = None
        self._line: tuple[str, int] | None = None  # of the last backward pass
        self._place: str | None = None  # of the first one
        self._pending = 0  # backward passes since the last reset or step
        self._last = ""  # what happened last: "backward", "reset", "step"
        self._passes: Counter[Any] = Counter()  # by line
        self._lost: Counter[Any] = Counter()
        self._lost_at: str | None = None
        self._used: set[Any] = set()  # lines of backward passes that steps used
        self._steps = self._resets = self._kept = self._looks = 0
        self._again = 0  # steps that come next after a step, with the same gradients
        self._loss: Any = None  # a weak reference to the last tensor that backward was called of
        self._repeated = 0  # backward passes of the same tensor as the one before
        self._repeated_at: str | None = None
        self._is_next = False  # whether the last step came next after another one
        self._norm: Any = None  # of the gradients of the step before the last one
        self._marks: list[tuple[int, int]] = []  # of the gradients of the last step
        self._schedule = LookSchedule()
        self._clips: dict[Any, _Clip] = {}
        self._exhausted = False

    # The order.

    def backward(self, call: TorchCall) -> None:
        """Note a backward pass."""
        if not self._is_alone:
            return
        line = line_of(call)
        self._look_for_repetition(call)
        if self._place is None:
            self._place = places.of_frame(call.frame)
        if self._last == "step" and self._resets and self._schedule.is_due("kept"):
            self._looks += 1
            self._kept += self._has_gradients()
        self._line, self._last = line, "backward"
        self._pending += 1
        self._passes[line] += 1

    def _look_for_repetition(self, call: TorchCall) -> None:
        """Count a backward pass of the same loss as the last one, without a step in between.

        A pass with a gradient for its output is another one: as of rows of a Jacobian.
        """
        loss, given = call.argument(0, "tensors"), call.argument(1, "grad_tensors")
        alone = given is None or (isinstance(given, tuple | list) and all(g is None for g in given))
        if isinstance(loss, tuple | list):
            loss = loss[0] if len(loss) == 1 else None
        last, self._loss = self._loss, None
        if not isinstance(loss, torch.Tensor) or not alone:
            return
        if self._last == "backward" and last is not None and last() is loss:
            self._repeated += 1
            self._repeated_at = self._repeated_at or places.of_frame(call.frame)
        self._loss = ref(loss)

    def zero_grad(self, call: TorchCall) -> None:
        """Note that an optimizer erases gradients."""
        optimizer = call.argument(0, "self")
        self._note_optimizer(optimizer)
        self._reset(call)

    def _note_optimizer(self, optimizer: Any) -> None:
        if self._only is None:
            self._only = ref(optimizer)
            self._parameters = parameters_of(optimizer)[:_READ]
        elif optimizer is not self._only():
            self._is_alone = False
            self._parameters = []

    def module_zero_grad(self, call: TorchCall) -> None:
        """Note that a module erases gradients."""
        if self._is_alone and self._parameters:
            module = call.argument(0, "self")
            if any(p is self._parameters[0] for p in module.parameters()):
                self._reset(call)

    def _reset(self, call: TorchCall) -> None:
        if not self._is_alone:
            return
        if self._pending and self._has_gradients(read=False):
            if self._is_inside_step(call.frame):  # a closure, which LBFGS calls several times
                self._is_alone = False
                return
            self._lost[self._line] += self._pending
            self._lost_at = self._lost_at or places.of_frame(call.frame)
        self._pending, self._last = 0, "reset"
        self._resets += 1

    def _is_inside_step(self, frame: FrameType | None) -> bool:
        only = None if self._only is None else self._only()
        while frame is not None:
            own = variables_of(frame).get("self") if frame.f_code.co_name == "step" else None
            if own is not None and own is only:
                return True
            frame = frame.f_back
        return False

    def before_step(self, optimizer: Any, records: Sequence[Record]) -> None:
        """Note a step."""
        self._note_optimizer(optimizer)
        if not self._is_alone:
            return
        self.facts.look("lost_backward", "kept_gradients", "double_step", "repeated_backward")
        self._record = self._record or (records[0] if records else None)
        self._steps += 1
        self._compare_last_steps()
        if self._pending:
            self._used.add(self._line)
        marks = [(id(p.grad), p.grad._version) for p in self._parameters if p.grad is not None]
        is_same, self._marks = marks == self._marks, marks  # else the script has filled them anew
        self._is_next = not self._pending and self._last == "step" and is_same
        self._pending, self._last = 0, "step"

    def _compare_last_steps(self) -> None:
        """Count the last step if it used the gradients of the one before it.

        A script may fill `.grad` itself, so that no backward pass is seen between two steps.
        """
        last = None if self._record is None else self._record.steps.last
        norm = None if last is None else last.grad_norm
        if self._is_next and norm is not None and self._norm is not None:
            self._again += 0 < float(norm) == float(self._norm)
        self._norm = norm

    def _has_gradients(self, *, read: bool = True) -> bool:
        """Return whether one of the first parameters has a gradient; `read` looks at its values."""
        there = [p.grad for p in self._parameters if p.grad is not None]
        if not read:
            return bool(there)
        with torch.no_grad(), outside_modes():
            return any(bool(is_not_zero(local(grad))) for grad in there)

    # Clipping.

    def clip(self, call: TorchCall) -> None:
        """Note a generator of parameters that has nothing left."""
        given = call.argument(0, "parameters")
        self._exhausted = hasattr(given, "gi_frame") and given.gi_frame is None

    def clipped(self, call: TorchCall) -> None:
        """Note whether there was anything to clip."""
        line = line_of(call)
        known = self._clips.get(line)
        if known is None:
            if len(self._clips) >= _READ * _READ:
                return
            known = self._clips[line] = _Clip(places.of_frame(call.frame))
        if not self._schedule.is_due(line):
            return
        self.facts.look("nothing_clipped")
        known.looks += 1
        known.exhausted += self._exhausted
        with torch.no_grad(), outside_modes():
            known.empty += self._exhausted or float(call.result) == 0

    # The end.

    def finish(self) -> None:
        """Add what happened in nearly all steps."""
        for known in self._clips.values():
            if known.looks >= _LEAST and known.empty >= known.looks - (known.exhausted > 0):
                used_up = known.exhausted > 0
                only = self.seen.records[0] if len(self.seen.records) == 1 else None
                self.facts.add("nothing_clipped", "", known.place, record=only, exhausted=used_up)
        if not self._is_alone or not self._steps:
            return
        self._compare_last_steps()
        if self._again >= max(_PASSES, _TWICE * self._steps):
            self._add("double_step", steps=self._steps, again=self._again)
        if self._repeated >= max(_LEAST, _HALF * self._steps):
            self.facts.add(
                "repeated_backward", "", self._repeated_at, record=self._record,
                steps=self._steps, times=1 + self._repeated / self._steps,
            )  # fmt: skip
        for line, lost in self._lost.items():
            passes = self._passes[line]
            if line in self._used and passes >= _PASSES and lost > _HALF * passes:
                self._add("lost_backward", lost=lost, passes=passes, at=self._lost_at)
        often = self._resets >= 2 and self._steps >= 4 * self._resets
        if often and self._looks >= _LEAST and self._kept >= _HALF * self._looks:
            self._add("kept_gradients", steps=self._steps, resets=self._resets)

    def _add(self, kind: str, **values: Any) -> None:
        self.facts.add(kind, "", self._place, record=self._record, **values)
