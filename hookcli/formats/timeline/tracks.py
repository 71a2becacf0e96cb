"""Tracks of a Chrome trace, whose slices always nest correctly.

The format: "Trace Event Format" of the Chromium project. A slice is a B and an E event on one
thread of one process; an arrow is an "s" event inside one slice and an "f" event with `bp: e`
inside another.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from hookcli.console import escape
from hookcli.formats.timeline.timings import Span

Event: TypeAlias = dict[str, Any]


@dataclass(slots=True)
class TrackMoment:
    """Events at one time that stay together: the begin of a slice and its arrows."""

    at: float
    events: list[Event]


@dataclass(slots=True)
class Track:
    """One thread of one process in a viewer."""

    pid: int
    tid: int
    name: str
    moments: list[TrackMoment] = field(default_factory=list)

    def add(self, at: float, phase: str, **more: Any) -> TrackMoment:
        """Add one event."""
        moment = TrackMoment(
            at, [{"ph": phase, "pid": self.pid, "tid": self.tid, "ts": at, **more}]
        )
        self.moments.append(moment)
        return moment

    def begin(self, at: float, name: str, cat: str, args: Event) -> TrackMoment:
        """Open a slice."""
        return self.add(at, "B", name=name, cat=cat, args=args)

    def end(self, at: float) -> None:
        """Close the innermost slice."""
        self.add(at, "E")


@dataclass(frozen=True, slots=True)
class Label:
    """The name of a slice, and the details that a click shows."""

    name: str
    args: Event


class Arrows:
    """Arrows to each backward from the latest forward of its call, each forward once."""

    def __init__(self, first: int = 0) -> None:
        self._tails: dict[int, list[tuple[Track, TrackMoment]]] = {}
        self._count = first  # the id of an arrow is unique among all processes

    def tail(self, order: int, track: Track, moment: TrackMoment) -> None:
        """Record that the forward of a call began."""
        self._tails.setdefault(order, []).append((track, moment))

    def head(self, order: int, track: Track, moment: TrackMoment) -> None:
        """Record that the backward of a call began."""
        tails = self._tails.get(order, [])
        before = [entry for entry in tails if entry[1].at <= moment.at]
        if not before:
            return
        start, tail = max(before, key=lambda entry: entry[1].at)
        self._tails[order] = [entry for entry in tails if entry[1].at > moment.at]
        self._join(start, tail, "s", {})
        self._join(track, moment, "f", {"bp": "e"})
        self._count += 1

    def _join(self, track: Track, moment: TrackMoment, phase: str, more: Event) -> None:
        moment.events.append({
            "ph": phase, "pid": track.pid, "tid": track.tid, "ts": moment.at,
            "name": "backward", "cat": "autograd", "id": self._count, **more,
        })  # fmt: skip


def add_buckets(lane: Callable[[int], Track], buckets: Sequence[Span]) -> None:
    """Add buckets of gradients; overlapping ones are on separate tracks."""
    ends: list[float] = []
    for span in buckets:
        at = next((i for i, end in enumerate(ends) if end <= span.start), len(ends))
        ends[at : at + 1] = [span.end]
        track = lane(at)
        args = {"step": span.step, "bucket": span.order}
        track.begin(span.start, f"bucket {span.order}", "bucket", args)
        track.end(span.end)


def add_calls(
    track: Track, calls: Sequence[Span], labels: Mapping[int, Label], arrows: Arrows
) -> None:
    """Add the forward calls of one thread, sorted by start; none outlasts its caller."""
    ends: list[float] = []
    for span in calls:
        label = labels.get(-1 if span.order is None else span.order)
        if span.order is None or label is None:
            continue
        while ends and ends[-1] <= span.start:
            track.end(ends.pop())
        begun = track.begin(span.start, label.name, "forward", label.args)
        arrows.tail(span.order, track, begun)
        ends.append(min(span.end, ends[-1]) if ends else span.end)
    while ends:
        track.end(ends.pop())


@dataclass(frozen=True, slots=True)
class _Frame:
    """An open slice: of a layer, or of a running node, which has an end."""

    order: int | None
    end: float | None = None


class BackwardTrack:
    """The nodes of one thread as slices, inside the slices of the calls that created them.

    The slice of a call lasts from its first node to its last, unless nodes of other calls run in
    between. A node without a call (AccumulateGrad) is in the slices that its neighbours share.
    """

    def __init__(
        self,
        track: Track,
        labels: Mapping[int, Label],
        paths: Mapping[int, tuple[int, ...]],
        arrows: Arrows,
    ) -> None:
        self._track, self._labels, self._paths, self._arrows = track, labels, paths, arrows
        self._frames: list[_Frame] = []
        self._active = 0.0  # when the last node ended

    def add(self, nodes: Sequence[Span]) -> None:
        """Add the nodes of one backward phase, sorted by start, after all earlier nodes."""
        floor = self._active
        nodes = [
            replace(node, start=max(node.start, floor), end=max(node.end, floor)) for node in nodes
        ]
        following: tuple[int, ...] = ()
        paths: list[tuple[int, ...] | None] = [self._path(node) for node in nodes]
        nexts: list[tuple[int, ...]] = []
        for path in reversed(paths):
            following = following if path is None else path
            nexts.append(following)
        for node, path, after in zip(nodes, paths, reversed(nexts), strict=True):
            self._close_ended(node.start)
            self._open(node, path, after)
        self._close(0)

    def _path(self, node: Span) -> tuple[int, ...] | None:
        return None if node.order is None else self._paths.get(node.order)

    def _close(self, keep: int) -> None:
        """Close all slices except the first `keep`."""
        while len(self._frames) > keep:
            frame = self._frames.pop()
            self._active = self._active if frame.end is None else frame.end
            self._track.end(self._active)

    def _close_ended(self, now: float) -> None:
        """Close the nodes that have ended, with all open slices inside them.

        A node ends no later than the node around it, so the search stops at the innermost running
        node.
        """
        keep = len(self._frames)
        for index in range(keep - 1, -1, -1):
            end = self._frames[index].end
            if end is not None and end > now:
                break
            if end is not None:
                keep = index
        self._close(keep)

    def _open(self, node: Span, path: tuple[int, ...] | None, after: tuple[int, ...]) -> None:
        running = [i for i, frame in enumerate(self._frames) if frame.end is not None]
        base = running[-1] + 1 if running else 0
        outside = {frame.order for frame in self._frames[:base]}
        now = [frame.order for frame in self._frames[base:]]
        wanted = [order for order in (after if path is None else path) if order not in outside]
        common = 0
        while common < min(len(now), len(wanted)) and now[common] == wanted[common]:
            common += 1
        self._close(base + common)
        for order in wanted[common:] if path is not None else ():
            label = self._labels[order]
            begun = self._track.begin(node.start, label.name, "backward", label.args)
            self._arrows.head(order, self._track, begun)
            self._frames.append(_Frame(order))
        limit = self._frames[running[-1]].end if running else None
        self._track.begin(node.start, escape(node.name), "node", {"made by": self._maker(node)})
        self._frames.append(_Frame(None, node.end if limit is None else min(node.end, limit)))

    def _maker(self, node: Span) -> str | None:
        label = None if node.order is None else self._labels.get(node.order)
        return None if label is None else label.name
