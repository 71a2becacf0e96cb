"""Times of phases, calls, nodes and events, in microseconds from the start of the run."""

from __future__ import annotations

import threading
from time import perf_counter_ns
from typing import Any

import torch

from hookcli.engine.observe.node_owners import NodeOwners
from hookcli.engine.watcher import Watcher
from hookcli.hooks.attach.graph import nodes_since
from hookcli.hooks.portable import Portable
from hookcli.models.model import Call, CallInputs
from hookcli.report.recording import EventNote


class _Started(Portable):
    """A prehook that notes the start of a node."""

    def __init__(self, timeline: Timeline, number: int) -> None:
        self._timeline, self._number = timeline, number

    def __call__(self, _grads: Any) -> None:
        self._timeline.node_started(self._number)


class _Ended(Portable):
    """A hook that notes the end of a node."""

    def __init__(self, timeline: Timeline, number: int, owner: int | None, name: str) -> None:
        self._timeline, self._number, self._owner, self._name = timeline, number, owner, name

    def __call__(self, _inputs: Any, _outputs: Any) -> None:
        self._timeline.node_ended(self._number, self._owner, self._name)


class CallEnds(Watcher):
    """Notes the ends of calls."""

    def __init__(self, timeline: Timeline) -> None:
        self._timeline = timeline

    def leave(self, call: Call, output: Any, error: BaseException | None) -> None:
        """Note the end of a call."""
        self._timeline.call_ended(call)


class Timeline(Watcher):
    """Collects times; `data` returns the report's `timings`.

    It is the last watcher, so that the others are not measured when a call starts. When a call
    ends they are not measured either: `ends` is the first watcher.

    `zero` is the start in nanoseconds of `perf_counter_ns`.
    """

    def __init__(self) -> None:
        self.zero = perf_counter_ns()
        self._threads: dict[int, int] = {threading.get_ident(): 0}
        self._phase: list[Any] | None = None
        self._phases: list[list[Any]] = []
        self._open: dict[int, float] = {}
        self._calls: list[list[Any]] = []
        self._running: dict[int, float] = {}
        self._nodes: list[list[Any]] = []
        self._events: list[list[Any]] = []
        self._buckets: list[list[Any]] = []
        self.ends = CallEnds(self)

    def _now(self) -> float:
        return (perf_counter_ns() - self.zero) / 1000

    def _thread(self) -> int:
        return self._threads.setdefault(threading.get_ident(), len(self._threads))

    def begin_phase(self, name: str, step: int) -> None:
        """Begin a phase, and end the previous one."""
        self._end_phase()
        self._phase = [step, name, self._now()]

    def _end_phase(self) -> None:
        if self._phase is not None:
            self._phases.append([*self._phase, self._now()])
            self._phase = None

    def enter(self, call: Call, batch: CallInputs) -> None:
        """Note the start of a call."""
        self._open[call.order] = self._now()

    def call_ended(self, call: Call) -> None:
        """Note the end of a call."""
        start = self._open.pop(call.order, None)
        if start is not None:
            self._calls.append([call.order, self._thread(), start, self._now()])

    def event(self, note: EventNote) -> None:
        """Note the time of an event."""
        self._events.append([note.seq, self._now(), self._thread()])

    def graph(self, start: torch.Tensor, owners: NodeOwners) -> None:
        """Measure every autograd node of a tensor's graph; `owners` finds the call that made it."""
        for i, node in enumerate(nodes_since([start], 0)):
            node.register_prehook(_Started(self, i))
            node.register_hook(_Ended(self, i, owners.of(node._sequence_nr()), node.name()))

    def node_started(self, number: int) -> None:
        """Note the start of a node."""
        self._running[number] = self._now()

    def node_ended(self, number: int, owner: int | None, name: str) -> None:
        """Note the end of a node."""
        start = self._running.pop(number, None)
        if start is not None:
            self._nodes.append([owner, name, self._thread(), start, self._now()])

    def bucket(self, step: int, index: int, start: int, end: int) -> None:
        """Note the averaging of a gradient bucket, with times of `perf_counter_ns`."""
        self._buckets.append([step, index, *((time - self.zero) / 1000 for time in (start, end))])

    def data(self) -> dict[str, Any]:
        """Return the report's `timings`."""
        self._end_phase()
        return {
            "unit": "us",
            "phases": self._phases,
            "calls": sorted(self._calls),
            "nodes": self._nodes,
            "events": sorted(self._events),
            **({"buckets": sorted(self._buckets)} if self._buckets else {}),
        }
