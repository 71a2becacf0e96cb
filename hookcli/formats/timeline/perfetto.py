"""A timeline in Chrome's trace format, for ui.perfetto.dev and chrome://tracing.

Each rank is a process; phases, forward and backward are its threads. Hooks are instants on the
track of their phase. An arrow connects the forward of each call with its backward.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence

from hookcli.console import escape
from hookcli.formats.inspect.fold import DEEPEST
from hookcli.formats.parts.text import shape
from hookcli.formats.timeline.timings import OfRank, Span, TimedRun, timelines
from hookcli.formats.timeline.tracks import (
    Arrows,
    BackwardTrack,
    Event,
    Label,
    Track,
    TrackMoment,
    add_buckets,
    add_calls,
)
from hookcli.formats.trace.events import change, recorded
from hookcli.formats.view import View
from hookcli.outputs.escapes import json_text
from hookcli.report.events import EventRow
from hookcli.report.report import LayerRow, Report
from hookcli.report.values import Leaf
from hookcli.text import shorten

_TIDS = {"steps": 0, "phases": 1, "forward": 2, "backward": 3}  # of the main thread; others follow
_BUCKETS = 1_000_000  # the first id of the tracks of buckets
_LONGEST = 1000  # characters of a name
_ARROWS = 1_000_000_000  # the largest number of arrows of a rank

# Created at import: a model may replace the functions of `json`.
_encode = json.JSONEncoder(allow_nan=False, separators=(", ", ": ")).encode


def _leaves(leaves: Iterable[Leaf]) -> list[str]:
    return [f"{escape(leaf.path)} {shape(leaf.shape)} {escape(leaf.dtype)}".strip()
            for leaf in leaves]  # fmt: skip


def _short(name: str) -> str:
    """Return a name as a label, shortened, as every node of its module repeats it."""
    return shorten(escape(name), _LONGEST)


def _label(row: LayerRow) -> Label:
    """Return the label of a call: name and type, and the details that a click shows."""
    kind = _short(row.original_name or row.type)
    name = f"{_short(row.name)} ({kind})" if row.name else kind
    args: Event = {
        "name": _short(row.name or ""),
        "type": kind,
        "order": row.order,
        "call": row.call,
        "inputs": _leaves(row.inputs),
        "outputs": _leaves(row.outputs),
        "place": None if row.place is None else escape(row.place),
    }
    return Label(name, {**args, "recomputed": True} if row.recomputed else args)


def _paths(calls: Iterable[tuple[int, int | None]]) -> dict[int, tuple[int, ...]]:
    """Return the path of each call: the orders from the root down to it."""
    paths: dict[int, tuple[int, ...]] = {}
    for order, parent in calls:
        above = () if parent is None else paths.get(parent, ())
        # Calls below the deepest level are drawn in the slice above them.
        paths[order] = above if len(above) >= DEEPEST else (*above, order)
    return paths


class Tracks:
    """The tracks of one process, created on demand."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._tracks: dict[tuple[str, int], Track] = {}

    def get(self, what: str, thread: int = 0) -> Track:
        """Return the track of "phases", "forward", "backward" or "buckets" on a thread."""
        key = (what, thread)
        if key not in self._tracks:
            lane = "lane" if what == "buckets" else "thread"
            name = what if thread == 0 else f"{what}, {lane} {thread}"
            tid = _BUCKETS + thread if what == "buckets" else _TIDS[what] + 2 * thread
            self._tracks[key] = Track(self._pid, tid, name)
        return self._tracks[key]

    def all(self) -> list[Track]:
        """Return all tracks in the order in which a viewer shows them."""
        return sorted(self._tracks.values(), key=lambda track: track.tid)


def _by_thread(spans: Iterable[Span]) -> dict[int, list[Span]]:
    spans_by_thread: dict[int, list[Span]] = {}
    for span in spans:
        spans_by_thread.setdefault(span.thread, []).append(span)
    return spans_by_thread


def _passes(nodes: list[Span], times: TimedRun) -> Iterator[list[Span]]:
    """Group the nodes of one thread by phase."""
    starts = [phase.start for phase in times.phases]
    group: list[Span] = []
    seen = at = 0
    for node in nodes:
        while at < len(starts) and starts[at] <= node.start:
            at += 1
        if at != seen and group:
            yield group
            group = []
        seen = at
        group.append(node)
    if group:
        yield group


def instant(event: EventRow | None, seq: int) -> tuple[str, Event]:
    """Return the name of an event, and the details that a click shows."""
    if event is None:
        return f"event {seq}", {"seq": seq}
    args: Event = {
        "seq": seq,
        "target": escape(event.target),
        "call": event.call,
        "values": _leaves(event.values),
    }
    extra = {
        "node": event.node and escape(event.node),
        "hook": event.hook,
        "changed": event.changed,
        "change": change(event) or None,
    }
    return escape(event.kind), args | {key: v for key, v in extra.items() if v is not None}


def _labels(
    report: Report, timeline: OfRank
) -> tuple[dict[int, Label], dict[int, tuple[int, ...]]]:
    """Return the label and the path of each call of a rank, by order."""
    if timeline.layers is None:
        rows = [(row.order, row.parent) for row in report.layers]
        return {row.order: _label(row) for row in report.layers}, _paths(rows)
    labels = {}
    for order, _, name, kind in timeline.layers:
        shown = f"{_short(name)} ({_short(kind)})" if name else _short(kind)
        labels[order] = Label(shown, {"name": _short(name or ""), "type": _short(kind)})
    return labels, _paths([(order, parent) for order, parent, _, _ in timeline.layers])


def fill(tracks: Tracks, report: Report, timeline: OfRank) -> None:
    """Add the phases, calls, autograd nodes and hooks of a rank to the tracks."""
    labels, paths = _labels(report, timeline)
    times = timeline.times
    arrows = Arrows(timeline.rank * _ARROWS)
    add_phases(tracks.get("phases"), times.phases, several=report.run.steps > 1)
    for thread, calls in _by_thread(times.calls).items():
        add_calls(tracks.get("forward", thread), calls, labels, arrows)
    for thread, nodes in _by_thread(times.nodes).items():
        backward = BackwardTrack(tracks.get("backward", thread), labels, paths, arrows)
        for group in _passes(nodes, times):
            backward.add(group)
    add_buckets(lambda lane: tracks.get("buckets", lane), times.buckets)
    rows = {event.seq: event for event in recorded(report)}
    for seq, at, thread in times.instants:
        row = rows.get(seq)
        phase = row.phase if row is not None else "phases"
        track = tracks.get(phase, thread) if phase in _TIDS else tracks.get("phases")
        name, args = instant(row, seq)
        track.add(at, "i", name=name, cat="hook", s="t", args=args)


def add_phases(track: Track, phases: tuple[Span, ...], *, several: bool) -> None:
    """Add the phases; a phase that overlaps the next one is cut."""
    for i, phase in enumerate(phases):
        name = f"step {phase.step}: {escape(phase.name)}" if several else escape(phase.name)
        track.begin(phase.start, name, "phase", {"step": phase.step})
        after = phases[i + 1].start if i + 1 < len(phases) else phase.end
        track.end(min(phase.end, after))


def names(tracks: Tracks, name: str, rank: int) -> Iterator[Event]:
    """Yield the events that name a rank's process and its threads."""
    yield {"ph": "M", "pid": rank, "name": "process_name", "args": {"name": name}}
    yield {"ph": "M", "pid": rank, "name": "process_sort_index", "args": {"sort_index": rank}}
    for track in tracks.all():
        head = {"ph": "M", "pid": rank, "tid": track.tid}
        yield {**head, "name": "thread_name", "args": {"name": track.name}}
        yield {**head, "name": "thread_sort_index", "args": {"sort_index": track.tid}}


def render(report: Report, view: View) -> str:  # a view does not change a timeline
    """Render strict JSON in object form, with the events in order of time.

    Raises
    ------
    RequestError : the report has no timings.
    """
    titles: list[Event] = []
    moments: list[TrackMoment] = []
    for timeline in timelines(report):
        tracks = Tracks(timeline.rank)
        fill(tracks, report, timeline)
        name = f"{escape(report.model.type or report.model.source)}, rank {timeline.rank}"
        titles += names(tracks, name, timeline.rank)
        moments += [moment for track in tracks.all() for moment in track.moments]
    run, environment = report.run, report.environment
    other = {
        "schema": report.schema, "command": escape(report.command),
        "model": escape(report.model.source), "mode": run.mode, "device": escape(run.device),
        "tensors": run.tensors, "hookcli": environment.hookcli, "torch": environment.torch,
    }  # fmt: skip
    return written(titles, moments, other)


def written(titles: Sequence[Event], moments: list[TrackMoment], other: Event) -> str:
    """Return the trace: the names of tracks, then the events in order of time."""
    moments.sort(key=lambda moment: moment.at)  # stable: the order within a track is kept
    events = [*titles, *(event for moment in moments for event in moment.events)]
    lines = ",\n".join(f"  {_encode(event)}" for event in events)
    return json_text(
        f'{{"traceEvents": [\n{lines}\n],\n"displayTimeUnit": "ms",\n'
        f'"otherData": {_encode(other)}}}\n'
    )
