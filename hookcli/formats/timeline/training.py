"""A training on a timeline: a process for each record, with its steps, its figures and its hooks.

A report of a training has times only if it was made for this format. Without them each step lasts a
millisecond, and the hooks of a step are evenly distributed in it; `otherData` says so.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields

from hookcli.console import escape
from hookcli.formats.order import measured
from hookcli.formats.timeline.perfetto import Tracks, fill, instant, names, written
from hookcli.formats.timeline.timings import step_times, timelines
from hookcli.formats.timeline.tracks import Event, Track, TrackMoment
from hookcli.formats.trace.events import recorded
from hookcli.formats.training.facts import finite, title, training_of
from hookcli.formats.view import View
from hookcli.report.events import EventRow
from hookcli.report.report import Report
from hookcli.report.steps import StepRow
from hookcli.report.training import TrainingReport

_STEP = 1000.0  # microseconds of a step whose times are not known
_UNTIMED = "not measured: each step lasts 1 ms, its hooks are evenly distributed"
_TIMED = "those of steps are measured; hooks without a time are evenly distributed in their step"
_COUNTERS = {"loss": "loss", "gradient norm": "grad_norm", "learning rate": "lr"}


def render(report: TrainingReport, view: View) -> str:  # a view does not change a timeline
    """Render strict JSON in object form, with the events in order of time.

    Raises
    ------
    RequestError : the timings of a record are invalid.
    """
    titles: list[Event] = []
    moments: list[TrackMoment] = []
    timed = bool(report.records) and all(step_times(record) for record in report.records)
    for number, record in enumerate(report.records):
        tracks = Tracks(number)
        _fill(tracks, record, timed=timed)
        titles += names(tracks, title(record), number)
        moments += [moment for track in tracks.all() for moment in track.moments]
    environment = report.environment
    other: Event = {
        "schema": report.schema,
        "script": escape(report.script.name),
        "times": _TIMED if timed else _UNTIMED,
        "hookcli": environment.hookcli,
        "torch": environment.torch,
    }
    return written(titles, moments, other)


def _fill(tracks: Tracks, record: Report, *, timed: bool) -> None:
    rows = training_of(record).steps
    spans = step_times(record) if timed else {}
    spans = spans or {row.step: (row.step * _STEP, (row.step + 1) * _STEP) for row in rows}
    track = tracks.get("steps")
    for row in rows:
        if row.step in spans:
            _add_step(track, row, spans[row.step])
    if timed and record.timings is not None and record.timings.get("events"):
        for timeline in timelines(record)[:1]:
            fill(tracks, record, timeline)
    else:
        _add_events(tracks.get("phases"), recorded(record), spans)


def _add_step(track: Track, row: StepRow, span: tuple[float, float]) -> None:
    """Add a step as a slice with its figures, and its figures as counters."""
    start, end = span
    figures = {field.name: getattr(row, field.name) for field in fields(row)}
    args = {key: value for key, value in figures.items() if value is not None and key != "local"}
    track.begin(start, f"step {row.step}" + (", skipped" if row.skipped else ""), "step", args)
    for name, field in _COUNTERS.items():
        value = next(finite([measured(getattr(row, field))]), None)
        if value is not None:  # a counter cannot be NaN
            track.add(start, "C", name=name, args={"value": value})
    track.end(end)


def _add_events(
    track: Track, events: tuple[EventRow, ...], spans: Mapping[int, tuple[float, float]]
) -> None:
    """Add events as instants in their order, evenly distributed in their step."""
    by_step: dict[int, list[EventRow]] = {}
    for event in events:
        by_step.setdefault(event.step, []).append(event)
    for step, group in sorted(by_step.items()):
        if step not in spans:
            continue
        start, end = spans[step]
        for i, event in enumerate(group, 1):
            name, args = instant(event, event.seq)
            at = round(start + (end - start) * i / (len(group) + 1), 3)
            more = {"phase": event.phase, **args}
            track.add(at, "i", name=name, cat="hook", s="t", args=more)
