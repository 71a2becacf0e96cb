"""Judges each step of a training before it updates the weights, or as soon as its values are read.

Steps are judged that an optimizer makes after a backward pass. Those that run backward themselves
(LBFGS), those inside of a backward pass, and updates by hand are not: their gradients come and go
before they could be looked at. With --stop-on spike, several ranks are only judged by the norm of a
gradient that is the same on all of them: they must end at the same step.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias

from hookcli.report.training import Spike
from hookcli.spec.training import RunJob
from hookcli.training.guard import Guard
from hookcli.training.non_finite.find import PATIENCE
from hookcli.training.non_finite.forward_call import ForwardCall
from hookcli.training.record.records import Record
from hookcli.training.spikes.batch_ring import AwaitedStep, BatchRing
from hookcli.training.spikes.detector import Excess, SpikeDetector
from hookcli.training.spikes.observed_spike import observed_spike
from hookcli.training.steps import TrainingStep

_UNJUDGED = (
    "--stop-on spike judged no step: gradients inside of a backward pass, of LBFGS, of sharded "
    "parameters, and updates by hand are not looked at"
)
_REPLAYS = 3  # that nobody asked for,
_UNASKED = 10.0  # and the seconds that each of them may take
_MOST = 20  # spikes of a training that are observed

Found: TypeAlias = tuple[Literal["loss", "gradient"], Excess]


@dataclass(slots=True)
class _Detectors:
    gradient: SpikeDetector = field(default_factory=SpikeDetector)
    loss: SpikeDetector = field(default_factory=SpikeDetector)

    @property
    def have_judged(self) -> bool:
        """Whether a figure was compared with those of enough steps before it."""
        return self.gradient.has_judged or self.loss.has_judged

    def judge(self, step: TrainingStep, *, with_loss: bool) -> Found | None:
        """Return the figure that is a spike: the gradient norm if both are."""
        found: Found | None = None
        if with_loss and isinstance(step.loss, float):
            over = self.loss.judge(step.loss)
            found = None if over is None else ("loss", over)
        norm = step.unclipped_norm or step.grad_norm  # clipping hides how large it was
        if isinstance(norm, float):
            over = self.gradient.judge(norm)
            found = found if over is None else ("gradient", over)
        return found


class SpikeWatch:
    """The spikes of a training. The `guard` is closed while a replay calls hooks."""

    def __init__(self, job: RunJob, guard: Guard) -> None:
        self._job, self._guard = job, guard
        self._stops = job.training.stop_on == "spike"
        self._detectors: dict[int, _Detectors] = {}
        self._ring = BatchRing(job.training.keep_batches)
        self._is_saved = job.batch is None
        self._unjudged: set[int] = set()  # ids of records
        self._found: list[tuple[Record, Spike]] = []
        self.notes: list[str] = []

    def spikes(self) -> tuple[Spike, ...] | None:
        """Return the first spikes; None if no step was judged."""
        if not any(one.have_judged for one in self._detectors.values()):
            return None
        return tuple(replace(spike, record=record.name) for record, spike in self._found)

    def before_update(
        self, record: Record, step: TrainingStep, calls: Sequence[ForwardCall]
    ) -> bool:
        """Judge a step whose gradients are there; return whether it is a spike, as known now.

        A step whose values are on a GPU waits in the ring: see `later`.
        """
        if (
            not step.backwards
            or id(record) in self._unjudged
            or step.skipped
            or (self._stops and step.parts is not None)
        ):
            return False
        now = AwaitedStep(record, step, tuple(calls))
        if now.is_known:
            return self._judge(now, is_now=True)
        self._ring.add(record, step, calls)
        return False

    def runs_backward_itself(self, record: Record) -> None:
        """Do not judge the steps of a record: they begin with gradients of the step before."""
        self._unjudged.add(id(record))
        self._detectors.pop(id(record), None)

    def later(self) -> None:
        """Judge the steps that have waited, as far as their values are read by now."""
        if self._ring:
            for waited in self._ring.known():
                self._judge(waited, is_now=False)

    def _may_replay(self) -> float:
        """Return the seconds that a replay may take: few, and few times, if nobody asked for it."""
        if self._job.batch is not None:
            return PATIENCE
        return _UNASKED if len(self._found) < _REPLAYS else 0.0

    def finish(self, records: Sequence[Record]) -> None:
        """Judge the last steps, and tell if none could be."""
        for record in records:
            record.steps.read()
        self.later()
        if self._stops and records and not self._detectors:
            self.notes.append(_UNJUDGED)

    def _judge(self, one: AwaitedStep, *, is_now: bool) -> bool:
        detectors = self._detectors.get(id(one.record))
        if detectors is None:
            detectors = self._detectors[id(one.record)] = _Detectors()
        together = one.record.is_of_ranks and self._stops  # each rank must stop at the same step
        found = detectors.judge(one.step, with_loss=not together)
        if found is None:
            return False
        if len(self._found) < _MOST:
            self._guard.is_open = False
            try:
                spike, notes = observed_spike(
                    one.record, one.step, found, one.calls, self._job,
                    is_now=is_now, saves=not self._is_saved, replays=self._may_replay(),
                )  # fmt: skip
            finally:
                self._guard.is_open = True
            self._is_saved = self._is_saved or spike.batch is not None
            self._found.append((one.record, spike))
            self.notes += notes
        return True
