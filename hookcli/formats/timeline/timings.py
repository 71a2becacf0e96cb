"""Parse the timings of a report: when each phase, call, autograd node and hook ran."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from hookcli.errors import RequestError
from hookcli.report.report import Report

_HINT = "run `hookcli trace MODEL -f perfetto=timeline.json`"
_PLACE = "-f perfetto"
_MOST = 1e18  # microseconds: thirty thousand years, a float is exact to the millisecond
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Span:
    """A phase (`name` and `step`), a call (`order`) or a node (`name`, and `order` of its call).

    Times are in microseconds since the start of the run, rounded to nanoseconds.
    """

    start: float
    end: float
    thread: int = 0
    order: int | None = None
    name: str = ""
    step: int = 0


@dataclass(frozen=True, slots=True)
class TimedRun:
    """All times of a run, in the order of their start; `instants` are (seq, at, thread)."""

    phases: tuple[Span, ...]
    calls: tuple[Span, ...]
    nodes: tuple[Span, ...]
    instants: tuple[tuple[int, float, int], ...]
    buckets: tuple[Span, ...] = ()  # of gradients; `order` is torch's index of the bucket


@dataclass(frozen=True, slots=True)
class OfRank:
    """The timeline of one rank; `layers` are (order, parent, name, type) if not as on rank 0."""

    rank: int
    times: TimedRun
    layers: tuple[tuple[int, int | None, str | None, str], ...] | None = None


def _number(value: Any) -> float:
    known = isinstance(value, int | float) and not isinstance(value, bool)
    if not known or not abs(value) < _MOST:
        raise ValueError(f"expected a time in microseconds, got {value!r:.40}")
    return float(value)


def _whole(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ValueError(f"expected an integer of at least 0, got {value!r:.40}")
    return value


def _read(rows: Any, make: Callable[[Any], T]) -> list[T]:
    if not isinstance(rows, list | tuple):
        raise ValueError("expected a list")
    return [make(row) for row in rows]


def _horizon(timings: dict[str, Any]) -> float:
    """Return the last time of all."""
    ends = [row[-1] for key in ("phases", "calls", "nodes") for row in timings.get(key, ())]
    ends += [row[1] for row in timings.get("events", ())]
    ends += [row[-1] for row in timings.get("buckets", ())]
    return max((_number(end) for end in ends if end is not None), default=0.0)


def _parse(timings: dict[str, Any], shift: float = 0.0) -> TimedRun:
    last = _horizon(timings)

    def _time(value: Any) -> float:
        return round(_number(value) + shift, 3)

    def _until(start: float, end: Any, horizon: float) -> float:
        return max(start, horizon + shift if end is None else _time(end))

    def phase(row: Any) -> Span:
        step, name, start, end = row
        at = _time(start)
        return Span(at, _until(at, end, last), name=str(name), step=_whole(step))

    def call(row: Any) -> Span:
        order, thread, start, end = row
        at = _time(start)
        return Span(at, _until(at, end, last), _whole(thread), _whole(order))

    def node(row: Any) -> Span:
        order, name, thread, start, end = row
        at = _time(start)
        owner = None if order is None else _whole(order)
        return Span(at, _until(at, end, last), _whole(thread), owner, str(name))

    def instant(row: Any) -> tuple[int, float, int]:
        seq, at, thread = row
        return _whole(seq), _time(at), _whole(thread)

    def bucket(row: Any) -> Span:
        step, index, start, end = row
        at = _time(start)
        return Span(at, _until(at, end, last), order=_whole(index), step=_whole(step))

    def ordered(spans: list[Span]) -> tuple[Span, ...]:
        return tuple(sorted(spans, key=lambda s: (s.start, -s.end)))

    return TimedRun(
        ordered(_read(timings.get("phases", ()), phase)),
        ordered(_read(timings.get("calls", ()), call)),
        ordered(_read(timings.get("nodes", ()), node)),
        tuple(
            sorted(
                _read(timings.get("events", ()), instant), key=lambda event: (event[1], event[0])
            )
        ),
        ordered(_read(timings.get("buckets", ()), bucket)),
    )


def _layer(row: Any) -> tuple[int, int | None, str | None, str]:
    order, parent, name, kind = row
    above = None if parent is None else _whole(parent)
    return _whole(order), above, None if name is None else str(name), str(kind)


def _of_ranks(timings: dict[str, Any]) -> list[OfRank]:
    """Parse each rank; its `start` is the zero of its times on the common clock."""
    ranks = _read(timings.get("ranks", ()), dict)
    all_of = [{"rank": 0, **timings}, *ranks]
    starts = [_number(entry.get("start", 0.0)) for entry in all_of]
    parsed = []
    for entry, start in zip(all_of, starts, strict=True):
        layers = entry.get("layers")
        rows = None if layers is None else tuple(_read(layers, _layer))
        parsed.append(OfRank(_whole(entry["rank"]), _parse(entry, start - min(starts)), rows))
    return parsed


def timelines(report: Report) -> list[OfRank]:
    """Return the timeline of each rank, on one clock that begins with the first rank's start.

    Raises
    ------
    RequestError : the report has no timings, or they are invalid.
    """
    timings = report.timings
    if timings is None:
        raise RequestError("the report has no timings", place=_PLACE, hint=_HINT)
    unit = timings.get("unit", "us")
    if unit != "us":
        raise RequestError(f"unknown unit of time {unit!r}", place=_PLACE, hint=_HINT)
    try:
        return _of_ranks(timings)
    except (ValueError, TypeError, LookupError) as error:
        raise _unreadable(error) from None


def _unreadable(error: Exception) -> RequestError:
    return RequestError(f"cannot read the timings of the report: {error}", place=_PLACE, hint=_HINT)


def step_times(report: Report) -> dict[int, tuple[float, float]]:
    """Return the start and the end of each step of a training whose times are known.

    Raises
    ------
    RequestError : the timings are invalid.
    """
    timings = report.timings or {}
    last = 0.0

    def step(row: Any) -> tuple[int, tuple[float, float]]:
        nonlocal last
        number, start, end = row
        last = max(last, _number(start))  # steps do not overlap
        span = last, max(last, _number(end))
        last = span[1]
        return _whole(number), span

    try:
        return dict(_read(timings.get("steps", ()), step))
    except (ValueError, TypeError, LookupError) as error:
        raise _unreadable(error) from None
