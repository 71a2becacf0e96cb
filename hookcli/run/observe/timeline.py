"""When things happened: phases, calls, nodes, firings. Microseconds from the run's start."""

from __future__ import annotations

import threading
from time import perf_counter_ns
from typing import Any

import torch

from hookcli.hooks.attach.graph import nodes_since
from hookcli.hooks.portable import Portable
from hookcli.models.model import Call
from hookcli.report.recording import EventNote
from hookcli.run.observe.node_owners import NodeOwners


class _Started(Portable):
    """A node's prehook: it starts now."""

    def __init__(self, timeline: Timeline, number: int) -> None:
        self._timeline, self._number = timeline, number

    def __call__(self, _grads: Any) -> None:
        self._timeline.node_started(self._number)


class _Ended(Portable):
    """A node's hook: it has run."""

    def __init__(self, timeline: Timeline, number: int, owner: int | None, name: str) -> None:
        self._timeline, self._number, self._owner, self._name = timeline, number, owner, name

    def __call__(self, _inputs: Any, _outputs: Any) -> None:
        self._timeline.node_ended(self._number, self._owner, self._name)


class Timeline:
    """Collects times; `data` is the report's `timings`. `zero` is when they begin, by the clock."""

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

    def _now(self) -> float:
        return (perf_counter_ns() - self.zero) / 1000

    def _thread(self) -> int:
        return self._threads.setdefault(threading.get_ident(), len(self._threads))

    def phase(self, step: int, name: str) -> None:
        """A phase begins, and the one before ends."""
        self.end()
        self._phase = [step, name, self._now()]

    def end(self) -> None:
        """The phase that runs ends."""
        if self._phase is not None:
            self._phases.append([*self._phase, self._now()])
            self._phase = None

    def enter(self, call: Call) -> None:
        """A call starts."""
        self._open[call.order] = self._now()

    def leave(self, call: Call) -> None:
        """It ends."""
        start = self._open.pop(call.order, None)
        if start is not None:
            self._calls.append([call.order, self._thread(), start, self._now()])

    def event(self, note: EventNote) -> None:
        """A hook fired."""
        self._events.append([note.seq, self._now(), self._thread()])

    def watch(self, start: torch.Tensor, owners: NodeOwners) -> None:
        """Time every autograd node behind a tensor, told by the call that made it."""
        for i, node in enumerate(nodes_since([start], 0)):
            node.register_prehook(_Started(self, i))
            node.register_hook(_Ended(self, i, owners.of(node._sequence_nr()), node.name()))

    def node_started(self, number: int) -> None:
        """A node starts."""
        self._running[number] = self._now()

    def node_ended(self, number: int, owner: int | None, name: str) -> None:
        """It has run."""
        start = self._running.pop(number, None)
        if start is not None:
            self._nodes.append([owner, name, self._thread(), start, self._now()])

    def bucket(self, step: int, index: int, start: int, end: int) -> None:
        """A bucket of gradients was averaged; in nanoseconds of the process's clock."""
        self._buckets.append([step, index, *((at - self.zero) / 1000 for at in (start, end))])

    def data(self) -> dict[str, Any]:
        """The report's `timings`."""
        self.end()
        return {
            "unit": "us",
            "phases": self._phases,
            "calls": sorted(self._calls),
            "nodes": self._nodes,
            "events": sorted(self._events),
            **({"buckets": sorted(self._buckets)} if self._buckets else {}),
        }
