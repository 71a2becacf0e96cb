"""The backward passes of a script, and which of them belong to a step."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from hookcli.torch_private import current_graph_task_id, execution_engine
from hookcli.training.backward import (
    BackwardPass,
    Scaler,
    backward_frame,
    passes_of_step,
    running_backward,
)
from hookcli.training.guard import Guard
from hookcli.training.non_finite.script_loss import graph_of_loss
from hookcli.training.observed_script import ObservedScript
from hookcli.training.record.by_hand import ByHand
from hookcli.training.record.records import Record
from hookcli.training.root_watch import RootWatch
from hookcli.training.selection.sampling import is_selected

_MOST_PASSES = 10_000  # backward passes without a step that are remembered


class BackwardPasses:
    """The backward passes since the last step of any optimizer, in `pending`.

    `scale` is the factor of a GradScaler in the last one. `awaited` has the ids of the records
    for which it is noted whether gradients are left in backward. `record` makes the record of a
    root that no optimizer trains.
    """

    def __init__(
        self, seen: ObservedScript, guard: Guard, record: Callable[[RootWatch, None], Record]
    ) -> None:
        self._seen, self._guard, self._record = seen, guard, record
        self.pending: list[BackwardPass] = []
        self._recent: list[BackwardPass] = []  # those of the last step
        self._had_recent: set[int] = set()  # ids of the records that they were a step of
        self._last_task = -1
        self.scaler = Scaler()
        self.scale: float | torch.Tensor | None = None
        self.awaited: set[int] = set()

    def begins(self, root: RootWatch) -> BackwardPass:
        """Return the backward pass that runs now and reaches a root."""
        task = current_graph_task_id()
        if task != self._last_task:
            self._last_task = task
            self._begin_backward(task, root)
        if self._seen.by_hand:
            self._measure_by_hand(root)
        current = self.pending[-1]
        if root.number not in current.roots:
            more = len(self.pending) > 1 and current.fills and self._adds(root)
            current.roots.add(root.number)
            if self.awaited and current.fills and not more:
                for record in self._seen.records:
                    if record.root is root and id(record) in self.awaited:
                        current.left[id(record)] = record.left_gradients()
        return current

    def _adds(self, root: RootWatch) -> bool:
        """Return whether this backward pass adds to gradients of earlier passes of the step.

        Those that were erased are forgotten: a generator's pass gives the discriminator gradients.
        """
        earlier = [one for one in self.pending[:-1] if one.fills and root.number in one.roots]
        if not earlier or root.has_gradients():
            return bool(earlier)
        for one in earlier:
            one.roots.discard(root.number)
        return False

    def _measure_by_hand(self, root: RootWatch) -> None:
        """Measure the update that the script made itself before this backward pass of a root."""
        by_hand = self._seen.by_hand.get(root.number)
        if by_hand is not None:
            by_hand.record.measure_late()

    def _begin_backward(self, task: int, root: RootWatch) -> None:
        found = running_backward(task)
        for call in root.recent:
            call.backward_place = call.backward_place or found.place
        if found.start is not None:
            node = found.start.grad_fn
            if node is not None and found.is_bad() and self._seen.first_bad is None:
                found.graph = graph_of_loss(node, root.recent, backward_frame())
            found.scale = self.scale = self.scaler.of(node)
            found.start = None  # it would keep the graph
        self._seen.passes[found.fills] += 1
        self.pending.append(found)
        if len(self.pending) > _MOST_PASSES:
            del self.pending[:-_MOST_PASSES]
        if not self._seen.optimizers:
            engine: Any = execution_engine
            engine.queue_callback(self._guard(self._backward_ended))

    def _backward_ended(self) -> None:
        """Note a backward pass of a script that has used no optimizer so far."""
        if self._seen.optimizers or not self.pending:
            return
        last = self.pending[-1]
        reached = [
            root
            for root in self._seen.roots.values()
            if root.number in last.roots and _may_train(last, root)
        ]
        for root in reached:
            if len(reached) > 1 and any(map(root.is_inside, reached)):
                continue
            by_hand = self._seen.by_hand.get(root.number)
            if by_hand is None or by_hand.fills < last.fills:
                record = self._record(root, None)
                by_hand = self._seen.by_hand[root.number] = ByHand(record, fills=last.fills)
            if by_hand.fills == last.fills:
                by_hand.backward_ended(last, self._is_sampled)

    def through(self, roots: Sequence[RootWatch]) -> list[BackwardPass]:
        """Return the backward passes since the last step that reached one of these roots."""
        ids = {root.number for root in roots}
        return [one for one in self.pending if not ids.isdisjoint(one.roots)]

    def of_step(self, records: Sequence[Record]) -> list[BackwardPass]:
        """Return the backward passes of the step that runs now, which trains all these records.

        Those of the last step are also those of other optimizers that step after it.
        """
        passes = self.pending or self._recent
        if not self.pending and any(id(record) in self._had_recent for record in records):
            return []  # none was seen, as while another thread calls the root
        own = passes_of_step(
            [
                one
                for one in passes
                if any(r.root.number in one.roots and one.computes(r.own) for r in records)
            ]
        )
        if own:
            return own
        for record in records:
            if not record.root.sees_backward and (record.steps or record.root.calls):
                # an output of an unknown form has no hooks
                return passes_of_step([one for one in passes if one.fills])
        return own

    def _is_sampled(self, step: int) -> bool:
        return is_selected(self._seen.job.training, step)

    def ended_step(self, records: Sequence[Record]) -> None:
        """Note that a step of these records ended: its passes are those of the last step now."""
        if self.pending:
            self._keep_norms_of_others(records)
            self._recent = list(self.pending)
            self._had_recent.clear()
            self.pending.clear()
        self._had_recent.update(map(id, records))

    def _keep_norms_of_others(self, records: Sequence[Record]) -> None:
        """Keep what passes of this step have added to gradients that others had left before it.

        A generator's pass adds to the gradients of its discriminator, which erases them later.
        """
        stepped = {id(record) for record in records}
        for other in self._seen.records if self.awaited - stepped else ():
            waits = id(other) in self.awaited - stepped
            if waits and any(one.left.get(id(other)) is True for one in self.pending):
                other.keep_gradient_norms()

    def join(self, part: RootWatch, whole: RootWatch) -> None:
        """Count the passes through a part as passes through the whole too."""
        for one in (*self.pending, *self._recent):
            if part.number in one.roots:
                one.roots.add(whole.number)


def _may_train(one: BackwardPass, root: RootWatch) -> bool:
    """Return whether a script may use the gradients of a pass to update a root by hand.

    Not if its calls had other parameters, as torch.func.functional_call gives it, or if all of its
    parameters are frozen: the gradient then passes through it to something else, such as an image.
    """
    if one.fills and not any(info.tensor.requires_grad for info in root.model.parameters()):
        return False
    if one.fills:
        return root.names_in_call.keys() & root.parameter_ids() != set() or any(
            info.tensor.grad is not None for info in root.model.parameters()
        )
    return (
        not one.is_inner
        and one.inputs is not None
        and not one.inputs.isdisjoint(root.parameter_ids())
    )
