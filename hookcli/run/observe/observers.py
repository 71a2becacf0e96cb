"""All observers of a run, behind one object that is called for every call and phase."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, ExitStack
from typing import TYPE_CHECKING, Any

import torch

from hookcli.models.batch import Batch
from hookcli.models.model import Call, Model
from hookcli.models.nested import argument_leaves
from hookcli.report.recording import Recording
from hookcli.run.batch.fake_checks import FakeTensorChecks
from hookcli.run.cost.flops import OperatorCounter
from hookcli.run.hook_engine.engine import HookEngine
from hookcli.run.observe.call_notes import CallNotes, note_bypassed, note_compiled, with_gradients
from hookcli.run.observe.edges import EdgeObserver
from hookcli.run.observe.node_owners import NodeOwners
from hookcli.run.observe.recorder import Progress, Recorder
from hookcli.run.observe.timeline import Timeline
from hookcli.run.observe.watcher import Watcher
from hookcli.spec.plan import Plan
from hookcli.torch_private import next_sequence_nr

if TYPE_CHECKING:
    from hookcli.run.grad_inputs import GradInputs
    from hookcli.run.observe.memory import MemoryObserver


def held_tensors(model: Model) -> list[torch.Tensor]:
    """Return the parameters, their gradients, and the buffers."""
    parameters = [info.tensor for info in model.parameters()]
    grads = [p.grad for p in parameters if p.grad is not None]
    return [*parameters, *grads, *(info.tensor for info in model.buffers())]


def _wanted(model: Model, patterns: tuple[str, ...]) -> GradInputs | None:
    if not patterns:
        return None
    from hookcli.run.grad_inputs import GradInputs  # few runs need it and what it imports

    return GradInputs(model, patterns)


class Observers:
    """The recorder, hook engine, operator counter, timeline and other observers of a run."""

    def __init__(
        self,
        model: Model,
        plan: Plan,
        engine: HookEngine,
        recording: Recording,
        progress: Progress,
        doubts: FakeTensorChecks | None,
        observers: Sequence[Watcher] = (),
    ) -> None:
        self._model, self._engine, self._recording = model, engine, recording
        self._observers = observers
        for observer in observers:
            observer.begin(model)
        self._progress = progress
        self.recorder = Recorder(recording, progress, engine.context, doubts)
        self.recorder.counted = plan.flops
        self._owners = NodeOwners()
        self.edges = EdgeObserver(recording.edges, self._owners)
        self._call_notes = CallNotes(model, backward=plan.goes_backward)
        self.timeline = Timeline() if plan.timings else None
        self.wanted = _wanted(model, plan.backward.inputs)
        self.memory: MemoryObserver | None = None
        if plan.memory:
            from hookcli.run.observe.memory import MemoryObserver  # few runs need it

            self.memory = MemoryObserver(
                recording, self._owners, engine.context, may_doubt=plan.real_if_in_doubt
            )
        self.counter: OperatorCounter | None = None
        if plan.flops:
            parameters = {id(info.tensor) for info in model.parameters()}
            self.counter = OperatorCounter(
                self.recorder.cost_of(self._owners), parameters, self.edges
            )
        if plan.goes_backward:
            engine.watched_by(self.recorder.fired)
        if self.timeline is not None:
            engine.watched_by(self.timeline.event)

    def enter(self, call: Call, batch: tuple[tuple[Any, ...], dict[str, Any]]) -> None:
        """Handle a call that starts."""
        self._owners.enter(call)
        self._call_notes.enter(call)
        if self.memory is not None:
            self.memory.enter(call)
        self.recorder.enter(call, batch)
        if self._engine.context.step == 0:  # only its calls become rows
            self.edges.enter(call, batch)
        if self._engine.hooks:
            self._engine.enter(call, batch)
        if self.wanted is not None:
            self.wanted.enter(call, batch)
        for observer in self._observers:
            observer.enter(call, batch)
        if self.timeline is not None:
            self.timeline.enter(call)

    def leave(self, call: Call, output: Any, error: BaseException | None) -> None:
        """Handle a call that ended."""
        if self.timeline is not None:
            self.timeline.leave(call)
        self._owners.leave(call, next_sequence_nr())
        if self.memory is not None:
            self.memory.leave(call)
        self.recorder.leave(call, output, error)
        if self._engine.context.step == 0:
            self.edges.leave(call, output, error)
        if self._engine.hooks:
            raised = error is not None
            self._engine.leave(call, None if raised else output, raised=raised)
        if self.wanted is not None:
            self.wanted.leave(call, output)
        for observer in self._observers:
            observer.leave(call, output, error)

    def operators(self) -> AbstractContextManager[Any]:
        """Return the context in which operators are counted and the memory is followed."""
        stack = ExitStack()
        for mode in (self.counter, None if self.memory is None else self.memory.live):
            if mode is not None:
                stack.enter_context(mode)
        return stack

    def phase(self, name: str) -> None:
        """Handle a phase that begins."""
        self.recorder.phase = name
        self._progress(name, None, self._engine.context.step)
        if self.timeline is not None:
            self.timeline.phase(self._engine.context.step, name)

    def backward_from(self, start: torch.Tensor) -> None:
        """Attach what observes the backward pass that starts from this tensor."""
        self._engine.before_backward(start)
        for observer in self._observers:
            observer.graph(start, self._owners)
        if self.timeline is not None:
            self.timeline.watch(start, self._owners)

    def after_backward(self) -> None:
        """Tell the observers that the parameters have gradients, before the optimizer's step."""
        for observer in self._observers:
            observer.gradients(self._model)

    def end(self, batch: Batch) -> None:
        """End the run, after success or failure."""

        def alive() -> list[torch.Tensor]:
            inputs = [t for _, t, _ in argument_leaves(batch.args, batch.kwargs)]
            return [*held_tensors(self._model), *inputs]

        self.edges.clear()
        self._engine.judge(self._recording, alive)
        if self.memory is not None:
            self.memory.end(batch)
        if self.timeline is not None:
            self._recording.timings = self.timeline.data()

    def conclude(self) -> None:
        """Add the warnings about the whole run, after `take_inventory`."""
        note_compiled(self._model, self._recording)
        if self._recording.failure is None:
            used = self.counter.used if self.counter else with_gradients(self._model)
            note_bypassed(self._recording, used)
        self.recorder.size_strangers()
