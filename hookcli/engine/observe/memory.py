"""Records the memory of each call: what it saves for backward, and the peaks while it runs."""

from __future__ import annotations

import threading
from typing import Any

import torch

from hookcli.engine.batch.fake_checks import FakeDoubtError
from hookcli.engine.cost.live_bytes import LiveBytes, storages
from hookcli.engine.cost.training_memory import saved_tensors, trainable_bytes
from hookcli.engine.observe.node_owners import NodeOwners
from hookcli.engine.watcher import Watcher
from hookcli.hooks.attach.graph import current_node
from hookcli.hooks.context import Context
from hookcli.models.batch import Batch
from hookcli.models.model import Call, CallInputs, Model
from hookcli.models.nested import argument_leaves
from hookcli.report.memory import CallMemory
from hookcli.report.recording import MemoryNote, Recording, Training

_ELSEWHERE = "memory is unknown: it ran on another thread"


def bytes_of(value: Any) -> int:
    """Return the bytes of the distinct storages of all tensors in a nested value."""
    sizes = {sized[0]._cdata: int(sized[1]) for sized in storages(value) if sized is not None}
    return sum(sizes.values())


class MemoryObserver(Watcher):
    """Follows the bytes that are alive through the first step of a run.

    With `may_doubt`, a fake run whose figures would be too low ends with a FakeDoubtError.

    An operator of forward counts for the running call and its callers. An operator of backward
    counts for the call that made the running node, and that call's callers.
    """

    def __init__(
        self, recording: Recording, owners: NodeOwners, clock: Context, *, may_doubt: bool
    ) -> None:
        self.live = LiveBytes(self._after, self._maker)
        self._note = recording.memory = MemoryNote()
        self._recording = recording
        self._owners = owners
        self._clock = clock
        self._may_doubt = may_doubt
        self._thread = threading.get_ident()
        self._running: list[Call] = []
        self._callers: dict[int, int | None] = {}  # by order of the call
        self._peaks: dict[int, int] = {}
        self._backward: dict[int, int] = {}
        self._saved: dict[int, int] = {}

    def enter(self, call: Call, batch: CallInputs) -> None:
        """Handle a call that starts."""
        if self._clock.step:
            return
        if self._elsewhere():
            call.note(_ELSEWHERE)
            return
        self._callers[call.order] = call.parent
        self._running.append(call)
        self._peaks[call.order] = self.live.now

    def leave(self, call: Call, output: Any, error: BaseException | None) -> None:
        """Handle a call that ended, with those inside it whose end was not seen."""
        if call not in self._running:
            return
        ended = None
        while ended is not call:
            ended = self._running.pop()
            if self._running:
                order = self._running[-1].order
                self._peaks[order] = max(self._peaks[order], self._peaks[ended.order])

    def _elsewhere(self) -> bool:
        """Whether forward runs on a thread on which no operators are seen.

        Backward has threads of its own, on which torch enters the modes of the one that began it.
        """
        return self._clock.phase == "forward" and threading.get_ident() != self._thread

    def _after(self, now: int) -> None:
        """Handle an operator that ran."""
        if self._clock.step:
            return
        if self._may_doubt and self.live.workspaces:
            raise FakeDoubtError(f"fake {', '.join(self.live.workspaces)} has no workspace")
        note, phase = self._note, self._clock.phase
        if self._running:
            order = self._running[-1].order
            self._peaks[order] = max(self._peaks[order], now)
        if phase == "backward":
            note.backward_peak = max(note.backward_peak or 0, now)
            node = current_node()
            owner = None if node is None else self._owners.of(node._sequence_nr())
            if owner is not None:
                self._backward[owner] = max(self._backward.get(owner, 0), now)
        elif phase in {"forward", "loss"}:
            note.forward_peak = max(note.forward_peak, now)

    def _maker(self) -> int | None:
        return self._running[-1].order if self._running else None

    def forward_ended(self, model: Model, batch: Batch, output: Any) -> None:
        """Read what autograd saved, before backward frees it.

        If hooks packed saved tensors, what else is alive counts too, for the call that made it: a
        checkpoint holds its inputs in objects that differ between versions of torch.
        """
        if self._clock.step:
            return
        saved = saved_tensors(model.root, (batch.args, batch.kwargs), output)
        if saved is None:
            return
        saved.nodes.clear()  # the graph is still in use: this frees none of them
        for key, number in saved.first.items():
            self._save(self._owners.of(number), saved.sizes[key])
        total = sum(saved.sizes.values())
        if saved.packed:
            outputs = {s[0]._cdata for s in storages(output) if s is not None}
            for key, size, maker in self.live.alive():
                if key not in saved.sizes and key not in outputs:
                    self._save(maker, size)
                    total += size
        self._recording.training = Training(total, trainable_bytes(model.root))

    def _save(self, order: int | None, size: int) -> None:
        if order is not None:
            self._saved[order] = self._saved.get(order, 0) + size

    def backward_ended(self, model: Model) -> None:
        """Note the gradients, on which the optimizer's memory depends."""
        if self._clock.step:
            return
        graded = [p.tensor for p in model.parameters() if p.tensor.grad is not None]
        self._note.gradient_bytes = bytes_of([p.grad for p in graded])
        self._note.trained = tuple((tuple(p.shape), p.dtype) for p in graded)

    def end(self, batch: Batch) -> None:
        """Fill in the recording, after the run."""
        self._note.unsized = self.live.unsized
        self._note.workspaces = tuple(sorted(self.live.workspaces))
        inputs = [tensor for _, tensor, _ in argument_leaves(batch.args, batch.kwargs)]
        self._note.input_bytes = bytes_of(inputs)
        self._note.batch = batch_size(inputs)
        backward = self._with_callers()
        known = self._recording.training is not None or not self._recording.failure
        for order, peak in self._peaks.items():
            self._note.calls[order] = CallMemory(
                saved_bytes=self._saved.get(order, 0) if known else None,
                peak_bytes=peak,
                backward_peak_bytes=backward.get(order),
            )

    def _with_callers(self) -> dict[int, int]:
        """Return the peaks in backward, of each call with the calls below it."""
        peaks = dict(self._backward)
        for order in sorted(self._callers, reverse=True):  # a caller's order is below its callees'
            caller, peak = self._callers[order], peaks.get(order)
            if caller is not None and peak is not None:
                peaks[caller] = max(peaks.get(caller, 0), peak)
        return peaks


def batch_size(inputs: list[torch.Tensor], dim: int = 0) -> int | None:
    """Return the size that all inputs have in the dimension of the batch; None without one.

    Inputs without that dimension are ignored.
    """
    sizes = {int(tensor.shape[dim]) for tensor in inputs if tensor.dim() > dim}
    return sizes.pop() if len(sizes) == 1 else None
