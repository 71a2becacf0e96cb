"""Records the calls of a model: shapes, order, parents, and the call that failed."""

from __future__ import annotations

import threading
from collections.abc import Callable
from types import GeneratorType
from typing import Any, Protocol

from torch.nn.parameter import is_lazy

from hookcli.engine.batch.fake_checks import FakeTensorChecks
from hookcli.engine.cost.flops import Activations
from hookcli.engine.observe.node_owners import NodeOwners
from hookcli.engine.watcher import Watcher
from hookcli.hooks.context import Context
from hookcli.hooks.values import argument_notes, value_notes
from hookcli.models import module_tree
from hookcli.models.failures import type_name
from hookcli.models.model import Call, CallInputs
from hookcli.report.recording import BackwardNote, CallNote, EventNote, Ledger, Recording
from hookcli.torch_private import current_autograd_node


class Progress(Protocol):
    """A function that is called with each phase and its step, and with each call."""

    def __call__(self, phase: str, note: CallNote | None, step: int | None = None) -> None:
        """Report the phase and the call that are running now."""


def _sizes(module: Any) -> tuple[int, int, int] | None:
    """Return the numbers of own, all and trainable elements; None if one is uninitialized."""
    parameters = [(p, owner) for p, _, owner in module_tree.tensors(module, "_parameters")]
    if any(is_lazy(p) for p, _ in parameters):
        return None
    return (
        sum(p.numel() for p, owner in parameters if owner is module),
        sum(p.numel() for p, _ in parameters),
        sum(p.numel() for p, _ in parameters if p.requires_grad),
    )


class Recorder(Watcher):
    """Adds every call to `recording`, and tracks the running call.

    `progress(phase, note)` gets the innermost running call, so that the parent process knows where
    a process was when it died. `first` is the step whose calls become rows.
    """

    def __init__(
        self,
        recording: Recording,
        progress: Progress,
        clock: Context,
        doubts: FakeTensorChecks | None = None,
        *,
        first: int = 0,
    ) -> None:
        self._recording = recording
        self._clock = clock
        self._first = first
        self.phase = "forward"
        self.counted = True
        self._doubts = doubts
        self._progress = progress
        self._running: dict[int, CallNote] = {}
        self._called: dict[int, Any] = {}  # keeps modules alive, so that ids stay unique
        self._lock = threading.Lock()
        self.running: CallNote | None = None  # the innermost call, on the thread that ran last
        self.activations: Activations | None = None
        self._failed: tuple[BaseException, CallNote] | None = None
        self._by_order: dict[int, CallNote] = {}
        self._backward: CallNote | None = None  # the call whose backward hook fired last

    def begin_phase(self, name: str, step: int) -> None:
        """Report the phase that begins."""
        self.phase = name
        self._progress(name, None, step)

    def references(self, module: Any) -> int:
        """Return how many references to a module this has."""
        return sum(called is module for called in self._called.values())

    def enter(self, call: Call, batch: CallInputs) -> None:
        """Record a call that starts."""
        if call.notes is None:
            call.notes = []  # shared with the row, which shows later notes too
        note = CallNote(
            order=call.order,
            key=call.key,
            name=call.name,
            type=call.type,
            original_name=call.original_name,
            index=call.index,
            parent=call.parent,
            depth=call.depth,
            training=call.training,
            place=call.place,
            recomputed=call.recomputed,
            inputs=list(argument_notes(*batch)),
            notes=call.notes,
            counted=self.counted,
        )
        self._called[call.key] = call.module
        with self._lock:
            self._running[call.order] = note
            if self._clock.step == self._first:  # only its calls become rows
                self._recording.calls.append(note)
            self._by_order[call.order] = note
            self.running = note
        self._progress(self.phase, note)
        if self._doubts is not None:
            self._doubts.check(call.module, *batch)

    def leave(self, call: Call, output: Any, error: BaseException | None) -> None:
        """Record the end of a call, with its output or the error that it raised."""
        with self._lock:
            note = self._running.pop(call.order)
        parent = None if call.parent is None else self._running.get(call.parent)
        self.running = parent
        if error is not None:
            note.notes.append(f"raised {type_name(error)}")
            if self._failed is None or self._failed[0] is not error:
                self._failed = (error, note)
        else:
            if call.late:
                note.inputs.extend(argument_notes((), call.late))
            note.outputs = list(value_notes(output))
            if self.activations is not None:
                note.activation_bytes = self.activations.of(output)
            if isinstance(output, GeneratorType):
                note.notes.append("returned a generator, which was not run")
        self._progress(self.phase, parent)
        if self._doubts is not None and error is None:
            self._doubts.check_output(call.module, output)

    def cost_of(self, owners: NodeOwners) -> Callable[[], Ledger | None]:
        """Return a function that gives the row to which an operator's cost is added.

        It is the running call; in backward, the call that made the running node. Steps after the
        first are not counted.
        """
        backward = self._recording.backward

        def current() -> Ledger | None:
            if self._clock.step != self._first:
                return None
            if self._clock.phase == "forward":
                return self.running
            if self._clock.phase != "backward":
                return None
            node: Any = current_autograd_node()
            order = None if node is None else owners.of(node._sequence_nr())
            return backward.setdefault(order, BackwardNote())

        return current

    def fired(self, event: EventNote) -> None:
        """Report progress in backward, from the call whose hook fired."""
        if event.phase != "backward" or event.order is None:
            return
        note = self._by_order.get(event.order)
        if note is None or note is self._backward or self._contains(note, self._backward):
            return
        self._backward = note
        self._progress("backward", note)

    def _contains(self, outer: CallNote, inner: CallNote | None) -> bool:
        """Whether `inner` ran inside `outer`; a container's output is also its last child's."""
        while inner is not None and inner.parent is not None:
            inner = self._by_order.get(inner.parent)
            if inner is outer:
                return True
        return False

    def knows(self, call: Call) -> bool:
        """Whether this call was recorded when it started."""
        return call.order in self._running

    def size_strangers(self) -> None:
        """Count the parameters of called modules that are not, or no longer, part of the model."""
        known = {module.key for module in self._recording.modules}
        strangers = {key: m for key, m in self._called.items() if key not in known}
        sizes = {key: _sizes(module) for key, module in strangers.items()}
        for note in self._recording.calls:
            note.sizes = sizes.get(note.key)

    def failed_in(self, error: BaseException) -> CallNote | None:
        """Return the innermost call that raised `error`, else the innermost running call."""
        if self._failed is not None and self._failed[0] is error:
            return self._failed[1]
        running = max(self._running.values(), key=lambda note: note.order, default=None)
        return self._backward if running is None and self.phase == "backward" else running
