"""Roots that no optimizer has trained so far: the script may update them itself."""

from __future__ import annotations

from collections.abc import Callable

from hookcli.training.backward import BackwardPass
from hookcli.training.norms import gradient_norm
from hookcli.training.record.records import Record
from hookcli.training.root_watch import RootWatch


class ByHand:
    """The backward passes of a root that no optimizer has trained so far.

    They may turn out to be the micro-steps of an optimizer's first step: then this is dropped. The
    script updates the parameters itself if they differ at the next forward.

    `fills` tells whether the passes add to `.grad`. Those of torch.autograd.grad do not: the
    gradients are only known to the script, and they are steps only if the parameters change.
    """

    def __init__(self, record: Record, *, fills: bool = True) -> None:
        self.record = record
        self.fills = fills
        self.step = 0  # of which the forwards are now
        self.forwards = 0
        self._before = record.root.fingerprint()
        self._updated = False

    def backward_ended(self, one: BackwardPass, is_sampled: Callable[[int], bool]) -> None:
        """Note a backward pass that has ended. The script updates the parameters after it."""
        record = self.record
        record.own = [p.tensor for p in record.root.model.parameters() if p.tensor.requires_grad]
        record.passes = hash((record.passes, one.task))
        norm = gradient_norm(record.own) if self.fills else None
        record.begin(
            [one],
            forwards=record.root.forwards,
            norm=norm,
            lr=None,
            sampled=is_sampled(record.steps.total),
            noted=self.fills,
        )
        record.end(measured=False)
        self.forwards += record.root.forwards
        record.root.forwards = 0

    def is_new(self, root: RootWatch) -> bool:
        """Return whether the forward that begins now belongs to a new step."""
        self.record.measure_late(only_if_changed=True)
        if not self._updated:
            self._updated = self.changes()
        if not self._updated or self.step == self.record.steps.total:
            return False
        self.step = self.record.steps.total
        return True

    def changes(self) -> bool:
        """Return whether the parameters differ from those of the first backward pass."""
        return self._updated or self.record.root.fingerprint() != self._before
