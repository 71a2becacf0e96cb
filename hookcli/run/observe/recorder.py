"""Turns the calls that a model makes into notes: shapes, order, who called whom, who failed."""

from __future__ import annotations

import threading
from collections.abc import Callable
from types import GeneratorType
from typing import Any, Protocol

import torch
from torch.nn.parameter import is_lazy

from hookcli.hooks.context import Context
from hookcli.hooks.values import argument_notes, value_notes
from hookcli.models import module_tree
from hookcli.models.failures import type_name
from hookcli.models.model import Call
from hookcli.report.recording import BackwardNote, CallNote, EventNote, Ledger, Recording
from hookcli.run.batch.fake_checks import FakeTensorChecks
from hookcli.run.cost.flops import Activations
from hookcli.run.observe.node_owners import NodeOwners


class Progress(Protocol):
    """Told each phase, with its step, and each call as it starts."""

    def __call__(self, phase: str, note: CallNote | None, step: int | None = None) -> None:
        """Tell that it runs now."""


def _sizes(module: Any) -> tuple[int, int, int] | None:
    """Own, all and trainable parameters in elements; None while one is uninitialised."""
    below = [(p, owner) for p, _, owner in module_tree.tensors(module, "_parameters")]
    if any(is_lazy(p) for p, _ in below):
        return None
    return (
        sum(p.numel() for p, owner in below if owner is module),
        sum(p.numel() for p, _ in below),
        sum(p.numel() for p, _ in below if p.requires_grad),
    )


class Recorder:
    """Notes every call into `recording`, and says at each step which one is running.

    `progress(phase, note)` is told the innermost running call, so that a process that dies
    without a word can be told where it was.
    """

    def __init__(
        self,
        recording: Recording,
        progress: Progress,
        clock: Context,
        doubts: FakeTensorChecks | None = None,
    ) -> None:
        self._recording = recording
        self._clock = clock
        self.phase = "forward"
        self.counted = True
        self._doubts = doubts
        self._progress = progress
        self._running: dict[int, CallNote] = {}
        self._called: dict[int, Any] = {}  # an id stays taken while its module lives
        self._lock = threading.Lock()
        self.running: CallNote | None = None  # the innermost call, on the thread that ran last
        self.activations: Activations | None = None
        self._failed: tuple[BaseException, CallNote] | None = None
        self._by_order: dict[int, CallNote] = {}
        self._backward: CallNote | None = None  # the call whose backward ran last, as far as seen

    def enter(self, call: Call, batch: tuple[tuple[Any, ...], dict[str, Any]]) -> None:
        """A forward starts."""
        if call.notes is None:
            call.notes = []  # what is said of it later is in the row too
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
            if not self._clock.step:  # the rows are those of the first step
                self._recording.calls.append(note)
            self._by_order[call.order] = note
            self.running = note
        self._progress(self.phase, note)
        if self._doubts is not None:
            self._doubts.check(call.module, *batch)

    def leave(self, call: Call, output: Any, error: BaseException | None) -> None:
        """A forward ends, with its output or with what it raised."""
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
        """Where an operator's cost goes: the running call, in backward the one that made its node.

        Steps after the first are not counted.
        """
        backward = self._recording.backward

        def current() -> Ledger | None:
            if self._clock.step:
                return None
            if self._clock.phase == "forward":
                return self.running
            if self._clock.phase != "backward":
                return None
            node: Any = torch._C._current_autograd_node()
            order = None if node is None else owners.of(node._sequence_nr())
            return backward.setdefault(order, BackwardNote())

        return current

    def fired(self, event: EventNote) -> None:
        """A hook fired: in backward that says where it has come."""
        if event.phase != "backward" or event.order is None:
            return
        note = self._by_order.get(event.order)
        if note is None or note is self._backward or self._holds(note, self._backward):
            return
        self._backward = note
        self._progress("backward", note)

    def _holds(self, outer: CallNote, inner: CallNote | None) -> bool:
        """Whether one call ran inside the other: a container's output is its last child's too."""
        while inner is not None and inner.parent is not None:
            inner = self._by_order.get(inner.parent)
            if inner is outer:
                return True
        return False

    def knows(self, call: Call) -> bool:
        """Whether this call was noted as it started."""
        return call.order in self._running

    def size_strangers(self) -> None:
        """Count the parameters of modules that the model does not hold, or no longer."""
        known = {module.key for module in self._recording.modules}
        strangers = {key: m for key, m in self._called.items() if key not in known}
        sizes = {key: _sizes(module) for key, module in strangers.items()}
        for note in self._recording.calls:
            note.sizes = sizes.get(note.key)

    def failed_in(self, error: BaseException) -> CallNote | None:
        """The innermost call that `error` left; else the innermost one still running."""
        if self._failed is not None and self._failed[0] is error:
            return self._failed[1]
        running = max(self._running.values(), key=lambda note: note.order, default=None)
        return self._backward if running is None and self.phase == "backward" else running
