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

from hookcli.api.live import check_module, device_of, source_of
from hookcli.api.loop_clock import LoopClock, Scales
from hookcli.api.step_gradients import StepGradients
from hookcli.catalogue.kind import Stage
from hookcli.errors import RequestError
from hookcli.hooks.attach.engine import Queue
from hookcli.hooks.backends import check_torch_has
from hookcli.models.backend import backend_of
from hookcli.models.existing_hooks.find import existing_hooks
from hookcli.models.model import Call
from hookcli.models.nested import describe, leaves
from hookcli.models.python.libraries import load_libraries
from hookcli.models.scripted import is_scripted, type_of
from hookcli.report.recording import EventNote, Recording
from hookcli.report.report import Inputs, Report
from hookcli.report.sinks import Kept, Sink, StreamedSink
from hookcli.run.assemble import assemble, run_info
from hookcli.run.cost.flops import Activations
from hookcli.run.hook_engine.build import build_context, build_engine
from hookcli.run.neutrality.model_state import room_for_hooks
from hookcli.run.observe.gradients import note_gradients
from hookcli.run.observe.inventory import note_buffers, take_inventory
from hookcli.run.observe.recorder import Recorder
from hookcli.spec.plan import plan, unjudged
from hookcli.spec.request import Spec

_MOST = 100_000  # events kept in memory
# Forwards of the root in one step. After these, the rows and the hooks that wait for backward are
# dropped.
_FORWARDS = 64


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
        self._plan = replace(plan(spec), mode="as-is")
        self._model = backend_of(root)
        self._hooks = existing_hooks(root)
        self._optimizers = optimizers
        check_torch_has(spec.hooks)
        load_libraries(spec.libraries)
        self._sink: Sink = Kept(most) if spec.stream is None else StreamedSink(spec.stream)
        self._clock = build_context(spec, self._sink, LoopClock)
        self._engine = build_engine(spec, self._clock)
        self._recording = Recording()
        self._recorder = Recorder(self._recording, lambda *_: None, self._clock)
        self._recorder.counted = False
        self._inputs: Inputs | None = None
        self._stack = ExitStack()
        self._started = time.perf_counter()
        self._scales = Scales(scaler)
        self._report: Report | None = None
        self._noting = True  # whether calls become rows
        self._opened = False  # whether a forward has begun in this step
        self._forwards = 0  # in this step
        self._gradients = StepGradients(self._model)
        at_end = [hook for hook in self._engine.hooks if hook.kind.stage is Stage.BACKWARD]
        self._callbacks = Queue(at_end) if at_end else None

    def __enter__(self) -> Attached:
        with ExitStack() as stack:
            stack.enter_context(room_for_hooks())
            self._engine.resolve(self._model)
            self._before = note_buffers(self._model, copies=False)
            stack.enter_context(
                self._model.observe(
                    self._enter,
                    self._leave,
                    calls=self._clock.calls,
                    between=self._engine.attached(),
                )
            )
            if self._optimizers:
                self._follow(stack)
            stack.enter_context(self._engine.around_forward())
            stack.enter_context(self._engine.operators())
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
            self._engine.judge(self._recording, None)
        else:  # the loop raised: some hooks may not have fired yet
            self._recording.findings = list(self._clock.findings)

    def _follow(self, stack: ExitStack) -> None:
        """Attach hooks to the optimizers, with our own before and after them.

        PyTorch calls global hooks before and after those of an optimizer.
        """
        names = {id(p.tensor): p.name for p in self._model.parameters()}
        stack.enter_context(register_optimizer_step_pre_hook(self._before_step))
        for optimizer in self._optimizers:
            self._engine.on_optimizer(optimizer, names, stack)
        stack.enter_context(register_optimizer_step_post_hook(self._after_step))

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
        self._engine.start_step(self._clock.step + 1)
        self._opened, self._forwards = False, 0
        self._note_no_more()

    def _note_gradients(self) -> None:
        """Note the gradients of the current step, which no optimizer notes."""
        if self._spec.command != "grads" or self._optimizers or not self._opened:
            return
        if any(info.tensor.grad is not None for info in self._model.parameters()):
            self._gradients.note(self._clock.step)

    def _note_no_more(self) -> None:
        """Stop adding rows: the report has those of the first forwards of the first step."""
        self._noting = self._clock.calls.placed = False

    def _enter(self, call: Call, batch: tuple[tuple[Any, ...], dict[str, Any]]) -> None:
        if call.name == "":
            self._enter_root(call, batch)
        if self._noting:
            self._recorder.enter(call, batch)
        self._engine.enter(call, batch)

    def _enter_root(self, call: Call, batch: tuple[tuple[Any, ...], dict[str, Any]]) -> None:
        if not call.recomputed:
            self._begin_forward()
        if self._inputs is None:
            self._inputs = Inputs(
                "given",
                tuple(describe(a) for a in batch[0]),
                {k: describe(v) for k, v in batch[1].items()},
            )
            self._recorder.activations = Activations(self._model.root, batch)

    def _leave(self, call: Call, output: Any, error: BaseException | None) -> None:
        if self._recorder.knows(call):
            self._recorder.leave(call, output, error)
        raised = error is not None
        self._engine.leave(call, None if raised else output, raised=raised)
        if call.parent is None:
            self._engine.forward_ended()
            self._scales.note(self._clock.step)
            if self._callbacks is not None and error is None:
                self._callbacks.stand_on([t for _, t, _ in leaves(output) if t.requires_grad])

    def _begin_forward(self) -> None:
        """Count a forward of the root, the first or another one of this step."""
        self._opened = True
        self._forwards += 1
        if self._forwards > _FORWARDS:
            self._note_no_more()
        if self._forwards % _FORWARDS == 0:
            self._engine.release()
            self._clock.calls.forget_passes()
        else:
            self._engine.release(only_fired=True)

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
        take_inventory(self._model, recording, self._before)
        report = assemble(
            self._model,
            recording,
            command=self._spec.command,
            source=source_of(self._model.root),
            run=run_info(
                self._spec, "as-is", recording, tensors="real", device=device_of(self._model.root)
            ),
            inputs=self._inputs,
            hooks=self._hooks,
            warnings=[
                *unjudged(self._spec),
                *self._scales.notes(),
                *self._gradients.warnings(),
                *self._unclosed(),
            ],
            started=self._started,
        )
        steps, seed = self._clock.step + self._opened, torch.initial_seed()
        run = replace(report.run, steps=steps, seed=seed)
        report = self._shown(replace(report, run=run))
        if ended:
            self._report = report
        return report

    def _unclosed(self) -> list[str]:
        """Return a warning if several forwards ran and no step ended."""
        if self._clock.step or self._forwards < 2:
            return []
        return [
            f"{self._forwards} forwards ran, but no step ended: pass one optimizer to attach, or "
            "call step() of the object that it returns"
        ]
