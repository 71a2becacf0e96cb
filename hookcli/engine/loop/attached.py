"""Hooks in the user's own training loop: the same engine, with a clock that follows the loop.

A step begins with a forward of the root. It ends with `step()`, or with the step of the optimizer
if one was given. Everything that runs inside autograd's engine is the backward phase.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from types import TracebackType
from typing import Any

import torch
from torch import nn
from torch.optim.optimizer import (
    register_optimizer_step_post_hook,
    register_optimizer_step_pre_hook,
)

from hookcli.engine.assemble import assemble, run_info
from hookcli.engine.loop.clock import Scales
from hookcli.engine.loop.given_module import check_module, device_of, source_of
from hookcli.engine.loop.hooks import LoopHooks
from hookcli.engine.loop.step_gradients import StepGradients
from hookcli.engine.observe.gradients import note_gradients
from hookcli.engine.observe.inventory import take_inventory
from hookcli.errors import RequestError
from hookcli.models.scripted import is_scripted, type_of
from hookcli.report.recording import EventNote
from hookcli.report.report import Report
from hookcli.report.sinks import Kept, Sink, StreamedSink
from hookcli.spec.plan import unjudged
from hookcli.spec.request import Spec

_MOST = 100_000  # events kept in memory


class Attached:
    """Hooks that are attached to a model for the length of a `with` block.

    `hookcli.attach` makes one. The cost is small enough to leave them attached during training.
    """

    def __init__(
        self,
        root: nn.Module,
        spec: Spec,
        *,
        optimizers: tuple[torch.optim.Optimizer, ...],
        scaler: Any,
        shown: Callable[[Report], Report],
        most: int = _MOST,
    ) -> None:
        check_module(root)
        if is_scripted(root):
            raise RequestError(
                "hooks cannot be attached to a TorchScript module in a training loop",
                place=type_of(root),
                hint="use hookcli.inspect, grads or trace, which run a copy, or pass the Python "
                "module",
            )
        self._spec = spec
        self._shown = shown
        self._optimizers = optimizers
        self._sink: Sink = Kept(most) if spec.stream is None else StreamedSink(spec.stream)
        self._scales = Scales(scaler)
        self._hooks = LoopHooks(root, spec, self._sink, on_forward=self._note_scale)
        self._model, self._clock = self._hooks.model, self._hooks.clock
        self._recording = self._hooks.recording
        self._stack = ExitStack()
        self._started = time.perf_counter()
        self._report: Report | None = None
        self._gradients = StepGradients(self._model)

    def __enter__(self) -> Attached:
        with ExitStack() as stack:
            # PyTorch calls global hooks before and after those of an optimizer, in this order.
            if self._optimizers:
                stack.enter_context(register_optimizer_step_pre_hook(self._before_step))
            stack.callback(self._hooks.detach)
            self._hooks.attach(self._optimizers)
            if self._optimizers:
                stack.enter_context(register_optimizer_step_post_hook(self._after_step))
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._clock.open = False
        self._stack.close()
        self._sink.close(self._recording)
        if kind is None:
            self._hooks.engine.judge(self._recording, None)
        else:  # the loop raised: some hooks may not have fired yet
            self._recording.findings = list(self._clock.findings)

    def _note_scale(self) -> None:
        self._scales.note(self._clock.step)

    def _before_step(self, optimizer: Any, _args: Any, _kwargs: Any) -> None:
        if not any(optimizer is other for other in self._optimizers):
            return
        self._clock.optimizing = True
        if self._spec.command == "grads":
            own = (p for group in optimizer.param_groups for p in group["params"])
            self._gradients.note(self._clock.step, own)

    def _after_step(self, optimizer: Any, _args: Any, _kwargs: Any) -> None:
        """End a step of the loop with the optimizer's step, if there is one optimizer."""
        if not any(optimizer is other for other in self._optimizers):
            return
        self._clock.optimizing = False
        if len(self._optimizers) == 1:
            self.step()

    def step(self) -> None:
        """End the current step. The next forward of the model begins the next one.

        Call it at the end of each step if no optimizer, or more than one, was given to `attach`.
        """
        self._note_gradients()
        self._hooks.start_step(self._clock.step + 1)

    def _note_gradients(self) -> None:
        """Note the gradients of the current step, which no optimizer notes."""
        if self._spec.command != "grads" or self._optimizers or not self._hooks.opened:
            return
        if any(info.tensor.grad is not None for info in self._model.parameters()):
            self._gradients.note(self._clock.step)

    @property
    def events(self) -> list[EventNote]:
        """The events so far, in the order of firing; empty if they are streamed to a file."""
        return self._sink.so_far() if isinstance(self._sink, Kept) else []

    def report(self) -> Report:
        """Return the report, during the `with` block or after it.

        Returns
        -------
        PrintableReport
            The layers of the first step, and the events and gradients of all steps.
        """
        if self._report is not None:
            return self._report
        recording = self._recording
        ended = not self._clock.open
        if not ended and isinstance(self._sink, Kept):
            recording.events = self._sink.so_far()
        if not ended and isinstance(self._sink, StreamedSink):
            recording.streamed = self._sink.so_far()
        self._note_gradients()
        if self._spec.command == "grads" and self._gradients.empty:
            recording.gradients = [note_gradients(self._model, None)]
        elif self._spec.command == "grads":
            self._gradients.record(recording)
        take_inventory(self._model, recording, self._hooks.buffers_before)
        report = assemble(
            self._model,
            recording,
            command=self._spec.command,
            source=source_of(self._model.root),
            run=run_info(
                self._spec, "as-is", recording, tensors="real", device=device_of(self._model.root)
            ),
            inputs=self._hooks.inputs,
            hooks=self._hooks.existing,
            warnings=[
                *unjudged(self._spec),
                *self._scales.notes(),
                *self._gradients.warnings(),
                *self._unclosed(),
            ],
            started=self._started,
        )
        steps, seed = self._clock.step + self._hooks.opened, torch.initial_seed()
        run = replace(report.run, steps=steps, seed=seed)
        report = self._shown(replace(report, run=run))
        if ended:
            self._report = report
        return report

    def _unclosed(self) -> list[str]:
        """Return a warning if several forwards ran and no step ended."""
        forwards = self._hooks.forwards
        if self._clock.step or forwards < 2:
            return []
        return [
            f"{forwards} forwards ran, but no step ended: pass one optimizer to attach, or call "
            "step() of the object that it returns"
        ]
