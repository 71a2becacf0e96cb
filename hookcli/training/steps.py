"""The steps of one record: rows as they happen, thinned if there are too many."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

from hookcli.report.rows.events import number
from hookcli.report.steps import ModesInfo, StepRow
from hookcli.report.values import Number
from hookcli.training.backward import BackwardPass
from hookcli.training.parallel.part_norms import part_norms

_MOST = 20_000  # rows that are kept: some 3 MB of JSON
_SPANS = 100  # spans of steps that are kept
_PENDING = 100  # values on a GPU that wait to be read together


_CLOSE = 1e-3  # relative difference of two norms of the same gradients
_EPS = 1e-6  # that torch adds to the norm


@dataclass(slots=True)
class Clipped:
    """A call of `clip_grad_norm_`: the norm that it found, and the largest one that it leaves."""

    norm: Any  # a tensor until it is read
    most: float

    def left(self) -> float:
        """Return the norm after clipping, as torch computes it."""
        norm = float(self.norm)
        return norm * min(1.0, self.most / (norm + _EPS))


@dataclass(slots=True)
class TrainingStep:
    """One step while the script runs. Values on a GPU are tensors until they are read."""

    step: int
    forwards: int
    backwards: int
    loss: Any
    grad_norm: Any
    lr: float | None
    sampled: bool = False
    largest_lr: float | None = None
    skipped: bool = False
    scale: Any = None
    weight_norm: float | None = None
    update_norm: float | None = None
    parts: list[Any] | None = None  # norms of the gradients of each group, if there are DTensors
    weight_parts: list[float | None] | None = None
    update_parts: list[float | None] | None = None
    missing: int | None = None
    zero: int | None = None
    non_finite: int | None = None
    clipped: Clipped | None = None  # before the step
    began: float = 0.0  # by time.perf_counter: the end of the step before it
    ended: float = 0.0

    @classmethod
    def skipped_one(
        cls, forwards: int, passes: Sequence[BackwardPass], scale: Any, lr: float | None
    ) -> TrainingStep:
        """Return a step that a GradScaler skipped. Its number is set when it is added."""
        return cls(-1, forwards, len(passes), sum_of(passes), None, lr, skipped=True, scale=scale)

    def read(self) -> None:
        """Read the values that are on a GPU, which waits for it."""
        if isinstance(self.loss, torch.Tensor):
            self.loss = float(self.loss)
        if isinstance(self.grad_norm, torch.Tensor):
            self.grad_norm = float(self.grad_norm)
        if isinstance(self.scale, torch.Tensor):
            self.scale = float(self.scale)
        if self.clipped is not None:
            self.clipped.norm = float(self.clipped.norm)
        if self.parts is not None:
            self.parts = [float(norm) for norm in self.parts]

    @property
    def unclipped_norm(self) -> float | None:
        """The norm of the gradients before they were clipped, once it is read.

        None if they were not, or if what was clipped are not the gradients of this step alone.
        """
        clipped, left = self.clipped, self.grad_norm
        if clipped is None or not isinstance(clipped.norm, float) or not isinstance(left, float):
            return None
        return clipped.norm if math.isclose(clipped.left(), left, rel_tol=_CLOSE) else None

    def is_finite(self) -> bool:
        """Return whether the loss and the gradients are finite, as far as they are known."""
        for value in (self.loss, self.grad_norm):
            if isinstance(value, float) and not math.isfinite(value):
                return False
        return True

    def row(self) -> StepRow:
        """Return the step as a row of the report."""
        ratio = None
        if self.update_norm is not None and self.weight_norm:
            ratio = self.update_norm / self.weight_norm
        return StepRow(
            step=self.step,
            forwards=self.forwards,
            backwards=self.backwards,
            loss=_number(self.loss),
            grad_norm=_number(self.grad_norm),
            unclipped_norm=_number(self.unclipped_norm),
            lr=_number(self.lr),
            largest_lr=_number(self.largest_lr),
            sampled=self.sampled,
            skipped=self.skipped or None,
            scale=_number(self.scale),
            weight_norm=_number(self.weight_norm),
            update_norm=_number(self.update_norm),
            update_ratio=_number(ratio),
            missing=self.missing,
            zero=self.zero,
            non_finite=self.non_finite,
            local=part_norms(self.parts, self.weight_parts, self.update_parts),
        )


def sum_of(passes: Sequence[BackwardPass]) -> Any:
    """Return the sum of the losses, without the factors of a GradScaler; None without a loss."""
    total: Any = None
    for one in passes:
        if one.loss is None:
            continue
        value: Any = one.loss
        if isinstance(value, torch.Tensor):
            value = value.reshape(()).double()
        value = value if one.scale is None else value / one.scale
        total = value if total is None else total + value
    return total


def _number(value: float | None) -> Number | None:
    return None if value is None else number(float(value))


class Steps:
    """All steps of a record. Every second one is dropped, again and again, if there are too many.

    The sampled steps and the last one are kept.
    """

    def __init__(self, most: int = _MOST) -> None:
        self._most = most
        self._steps: list[TrainingStep] = []
        self._pending: list[TrainingStep] = []
        self.every = 1
        self.total = 0
        self.unwatched = 0
        self.skipped = 0
        self._ended = time.perf_counter()

    def __bool__(self) -> bool:
        """Return whether there is a step."""
        return bool(self._steps)

    def add(self, step: TrainingStep) -> None:
        """Add the next step."""
        if self._steps and self._steps[-1].step % self.every and not self._steps[-1].sampled:
            self._steps.pop()  # it was kept as the last one
        step.step = self.total
        step.began, step.ended = self._ended, time.perf_counter()
        self._ended = step.ended
        self._steps.append(step)
        self.total += 1
        self.skipped += step.skipped
        if isinstance(step.loss, torch.Tensor) or isinstance(step.grad_norm, torch.Tensor):
            self._pending.append(step)
            if step.sampled or len(self._pending) >= _PENDING:
                self.read()
        if len(self._steps) > self._most:
            self.every *= 2
            last = self._steps[-1]
            self._steps = [
                s for s in self._steps if s.sampled or s is last or s.step % self.every == 0
            ]
            if len(self._steps) > self._most * 3 // 4:  # sampled steps alone are too many
                self._steps = [s for s in self._steps if s is last or s.step % self.every == 0]

    def pass_by(self) -> None:
        """Count the next step, of which nothing is known."""
        self.total += 1
        self.unwatched += 1

    def watched_again(self) -> None:
        """Note that the next step begins now, after steps that were not watched."""
        self._ended = time.perf_counter()

    def durations(self, most: int) -> list[float]:
        """Return how long each of the last steps took, in seconds; none if some are not known."""
        steps = self._steps[-most:]
        if not steps or steps[-1].step - steps[0].step >= len(steps):
            return []
        return [step.ended - step.began for step in steps]

    def read(self) -> list[TrainingStep]:
        """Read the values that are still on a GPU; return their steps."""
        pending, self._pending = self._pending, []
        values = [
            (step, name, value)
            for step in pending
            for name in ("loss", "grad_norm", "scale")
            if isinstance(value := getattr(step, name), torch.Tensor)
        ]
        if values:
            with torch.no_grad():
                same = [value.reshape(()).double() for _, _, value in values]
                for (step, name, _), figure in zip(values, torch.stack(same).tolist(), strict=True):
                    setattr(step, name, figure)
            for step in pending:
                step.read()
        return pending

    def rows(self) -> tuple[StepRow, ...]:
        """Return the rows that were kept."""
        self.read()
        return tuple(step.row() for step in self._steps)

    def rows_from(self, first: int) -> tuple[StepRow, ...]:
        """Return the rows that were kept, from a step on. Values on a GPU are waited for."""
        self.read()
        found: list[TrainingStep] = []
        for step in reversed(self._steps):
            if step.step < first:
                break
            found.append(step)
        return tuple(step.row() for step in reversed(found))

    def times(self, zero: float) -> list[tuple[int, float, float]]:
        """Return (step, start, end) of the rows, in microseconds since `zero`."""
        return [
            (step.step, round((step.began - zero) * 1e6, 3), round((step.ended - zero) * 1e6, 3))
            for step in self._steps
        ]

    @property
    def last(self) -> TrainingStep | None:
        """The last step."""
        return self._steps[-1] if self._steps else None


class Spans:
    """Steps, as spans of successive numbers: (first, last)."""

    def __init__(self) -> None:
        self.total = 0
        self._spans: list[list[int]] = []

    def add(self, step: int) -> None:
        """Add a step, which is not before the last one."""
        spans = self._spans
        if spans and spans[-1][1] >= step - 1:
            self.total += step - spans[-1][1]
            spans[-1][1] = step
            return
        self.total += 1
        if len(spans) < _SPANS:
            spans.append([step, step])

    def rows(self) -> tuple[tuple[int, int], ...]:
        """Return the first spans."""
        return tuple((first, last) for first, last in self._spans)


class ModeCounts:
    """The steps whose modes were seen, and those with modules in eval mode."""

    def __init__(self) -> None:
        self._steps = 0
        self._modules, self._called = Spans(), Spans()

    def count(self, step: int, *, modules: bool, called: bool) -> None:
        """Count a step in which `modules`, or the module that the script `called`, were in eval."""
        self._steps += 1
        if modules:
            self._modules.add(step)
        if called:
            self._called.add(step)

    def info(self) -> ModesInfo | None:
        """Return the counts as plain data; None if no mode was seen."""
        if not self._steps:
            return None
        return ModesInfo(
            steps=self._steps,
            eval_steps=self._modules.total,
            eval_spans=self._modules.rows(),
            called_in_eval=self._called.total,
        )
