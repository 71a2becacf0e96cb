"""All watchers of a run, behind one object that is called for every call and phase."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack
from typing import TYPE_CHECKING, Any

import torch

from hookcli.engine.batch.fake_checks import FakeTensorChecks
from hookcli.engine.cost.flops import OperatorCounter
from hookcli.engine.hook_engine.engine import HookEngine
from hookcli.engine.observe.call_notes import (
    CallNotes,
    note_bypassed,
    note_compiled,
    with_gradients,
)
from hookcli.engine.observe.edges import EdgeObserver
from hookcli.engine.observe.node_owners import NodeOwners
from hookcli.engine.observe.recorder import Progress, Recorder
from hookcli.engine.observe.timeline import Timeline
from hookcli.engine.watcher import Watcher
from hookcli.models.batch import Batch
from hookcli.models.model import Call, CallInputs, Model
from hookcli.models.nested import argument_leaves
from hookcli.report.recording import Recording
from hookcli.spec.plan import Plan

if TYPE_CHECKING:
    from hookcli.engine.grad_inputs import GradInputs
    from hookcli.engine.observe.memory import MemoryObserver


def held_tensors(model: Model) -> list[torch.Tensor]:
    """Return the parameters, their gradients, and the buffers."""
    parameters = [info.tensor for info in model.parameters()]
    grads = [p.grad for p in parameters if p.grad is not None]
    return [*parameters, *grads, *(info.tensor for info in model.buffers())]


def _grad_inputs(model: Model, patterns: tuple[str, ...]) -> GradInputs | None:
    if not patterns:
        return None
    from hookcli.engine.grad_inputs import GradInputs  # few runs need it and what it imports

    return GradInputs(model, patterns)


def _memory(
    plan: Plan, recording: Recording, owners: NodeOwners, engine: HookEngine
) -> MemoryObserver | None:
    if not plan.memory:
        return None
    from hookcli.engine.observe.memory import MemoryObserver  # few runs need it

    return MemoryObserver(recording, owners, engine.context, may_doubt=plan.real_if_in_doubt)


def _methods(watchers: Sequence[Watcher], name: str) -> tuple[Callable[..., None], ...]:
    """Return the method of each watcher that defines it: calls of the others would cost time."""
    plain = getattr(Watcher, name)
    return tuple(getattr(w, name) for w in watchers if getattr(type(w), name) is not plain)


class Watchers:
    """The recorder, the hooks, the given watchers and others, in the order of their turns."""

    def __init__(
        self,
        model: Model,
        plan: Plan,
        engine: HookEngine,
        recording: Recording,
        progress: Progress,
        doubts: FakeTensorChecks | None,
        watchers: Sequence[Watcher] = (),
    ) -> None:
        self._model, self._engine, self._recording = model, engine, recording
        for watcher in watchers:
            watcher.begin(model)
        self.recorder = Recorder(recording, progress, engine.context, doubts)
        self.recorder.counted = plan.flops
        self.compiled = plan.compiled
        self._owners = NodeOwners()
        self.edges = EdgeObserver(recording.edges, self._owners)
        self.timeline = Timeline() if plan.timings else None
        self.grad_inputs = _grad_inputs(model, plan.backward.inputs)
        self._memory = _memory(plan, recording, self._owners, engine)
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
        notes = CallNotes(model, backward=plan.goes_backward)
        self._watchers = tuple(self._in_order(notes, watchers))
        self._begin_phase = _methods(self._watchers, "begin_phase")
        self._enter = _methods(self._watchers, "enter")
        self._leave = _methods(self._watchers, "leave")

    def _in_order(self, notes: CallNotes, given: Sequence[Watcher]) -> Iterator[Watcher]:
        """Yield all watchers; rows exist before hooks fire, and nodes have owners before both."""
        if self.timeline is not None:
            yield self.timeline.ends
        yield from (self._owners, notes)
        if self._memory is not None:
            yield self._memory
        yield from (self.recorder, self.edges)
        if self._engine.hooks:
            yield self._engine
        if self.grad_inputs is not None:
            yield self.grad_inputs
        yield from given
        if self.timeline is not None:
            yield self.timeline

    def enter(self, call: Call, batch: CallInputs) -> None:
        """Handle a call that starts."""
        for enter in self._enter:
            enter(call, batch)

    def leave(self, call: Call, output: Any, error: BaseException | None) -> None:
        """Handle a call that ended."""
        for leave in self._leave:
            leave(call, output, error)

    def operators(self) -> AbstractContextManager[Any]:
        """Return the context in which operators are counted and the memory is followed."""
        stack = ExitStack()
        for mode in (self.counter, None if self._memory is None else self._memory.live):
            if mode is not None:
                stack.enter_context(mode)
        return stack

    def begin_phase(self, name: str) -> None:
        """Handle a phase that begins."""
        for begin_phase in self._begin_phase:
            begin_phase(name, self._engine.context.step)

    def forward_ended(self, batch: Batch, output: Any) -> None:
        """Handle the output of the model, before the loss."""
        for watcher in self._watchers:
            watcher.forward_ended(self._model, batch, output)

    def backward_from(self, start: torch.Tensor) -> None:
        """Attach what observes the backward pass that starts from this tensor."""
        for watcher in self._watchers:
            watcher.graph(start, self._owners)

    def backward_ended(self) -> None:
        """Handle the end of backward."""
        for watcher in self._watchers:
            watcher.backward_ended(self._model)

    def gradients(self) -> None:
        """Handle the gradients of the parameters, before the optimizer's step."""
        for watcher in self._watchers:
            watcher.gradients(self._model)

    def end(self, batch: Batch) -> None:
        """End the run, after success or failure."""

        def alive() -> list[torch.Tensor]:
            inputs = [t for _, t, _ in argument_leaves(batch.args, batch.kwargs)]
            return [*held_tensors(self._model), *inputs]

        self.edges.clear()  # it refers to tensors, which would not be freed
        self._engine.judge(self._recording, alive)
        for watcher in self._watchers:
            watcher.end(batch)
        if self.timeline is not None:
            self._recording.timings = self.timeline.data()

    def conclude(self) -> None:
        """Add the warnings about the whole run, after `take_inventory`."""
        if self.compiled:
            return
        note_compiled(self._model, self._recording)
        if self._recording.failure is None:
            used = self.counter.used if self.counter else with_gradients(self._model)
            note_bypassed(self._recording, used)
        self.recorder.size_strangers()
