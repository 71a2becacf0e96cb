"""The steps that are not watched: the steps of the optimizer are counted, and nothing else."""

from __future__ import annotations

import time
from typing import Any

from hookcli.training.backward_passes import BackwardPasses
from hookcli.training.guard import Guard
from hookcli.training.observed_script import ObservedScript
from hookcli.training.observers.catalogue import Observers
from hookcli.training.record.records import Record
from hookcli.training.root_calls import RootCalls
from hookcli.training.selection.rests import WINDOW, Rests


class Resting:
    """Stops watching after a step of the only record, and begins again after a later one.

    Both are at the end of a step of the optimizer, so that what is watched are whole steps. Scripts
    with several optimizers or ranks, with a GradScaler, and those that compile are always watched.
    """

    def __init__(
        self,
        seen: ObservedScript,
        guard: Guard,
        calls: RootCalls,
        backward: BackwardPasses,
        observers: Observers,
    ) -> None:
        self._seen, self._guard, self._calls, self._backward = seen, guard, calls, backward
        self._rests = Rests(seen.job.training)
        self._always_told = observers.always_told
        self._record: Record | None = None  # whose steps are not watched now
        self._optimizer: Any = None
        self._until = 0
        self._is_stepping = False
        self._ends: list[float] = []  # of the first steps, by time.perf_counter

    def step_ended(self, optimizer: Any, records: list[Record]) -> None:
        """Decide whether the steps after this one are not watched."""
        if len(records) != 1:
            return
        record = records[0]
        until = self._rests.until(record.steps)
        asked = record.sampling.next_asked(record.steps.total) if record.sampling.asked else None
        if until is None or (asked is not None and asked < until):
            return
        if not self._may_begin(record):
            self._rests.stop()
        elif not self._calls.are_running:
            self._begin(record, optimizer, until)

    def _may_begin(self, record: Record) -> bool:
        seen = self._seen
        return (
            seen.records == [record]
            and len(seen.optimizers) == 1
            and not seen.by_hand
            and not record.merged
            and not record.is_of_ranks
            and seen.ranks is None
            and not seen.compiles
            and self._backward.scale is None
        )

    def _begin(self, record: Record, optimizer: Any, until: int) -> None:
        self._record, self._optimizer, self._until = record, optimizer, until
        self._ends = [time.perf_counter()]
        self._guard.rests = True
        self._calls.unhook()
        self._backward.awaited.clear()
        record.forget_gradients()
        record.sampling.share = self._rests.share_in_detail
        for root in self._seen.roots.values():
            root.has_hidden_calls = True

    def __bool__(self) -> bool:
        """Return whether the step that runs now is not watched."""
        return self._record is not None

    def step_begins(self, optimizer: Any) -> None:
        """Note that an optimizer steps, perhaps one that another one then calls."""
        self._is_stepping = self._is_stepping or optimizer is self._optimizer

    def passed(self, optimizer: Any) -> None:
        """Count a step that was not watched; watch the next one if it is time."""
        record = self._record
        if record is None:
            return
        if optimizer is not self._optimizer:
            if not self._is_stepping:  # another one trains now
                self._rests.stop()
                self._end(record)
            return
        self._is_stepping = False
        if len(self._ends) <= WINDOW:
            self._ends.append(time.perf_counter())
        for tell in self._always_told:
            tell(optimizer, (record,))
        record.steps.pass_by()
        if record.steps.total >= self._until and not self._calls.is_inside_call():
            self._end(record)

    def _end(self, record: Record) -> None:
        self.stop()  # before hooks are attached again
        pairs = zip(self._ends, self._ends[1:], strict=False)
        self._rests.rested([end - start for start, end in pairs])
        self._calls.hook()
        record.steps.watched_again()

    def stop(self) -> None:
        """Let callbacks do something again."""
        self._record = self._optimizer = None
        self._is_stepping = False
        self._guard.rests = False
