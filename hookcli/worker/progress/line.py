"""What a run is doing, as one line that fits the terminal."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from unicodedata import east_asian_width

from hookcli.console import escape
from hookcli.spec.request import Attempt
from hookcli.worker.last_event import LastEvent

_PHASES = {
    "start": "importing torch",
    "import": "importing the model",
    "build": "building the model",
    "inputs": "preparing the batch",
    "optimizer": "optimizer step",
    "state_dict": "loading the state dict",
    "package": "packaging the model",
    "report": "writing the report",
}
_BEFORE = {"start", "import"}  # phases before any tensor exists, fake or real
_IN_STEP = {"forward", "loss", "backward", "optimizer"}
_MINUTE = 60  # seconds
_LEAST = 8  # columns: with fewer, a layer's name is omitted


@dataclass(frozen=True, slots=True, eq=False)
class Running:
    """A worker, with a function that returns its last event."""

    attempt: Attempt
    steps: int
    last: Callable[[], LastEvent]


def line(workers: Sequence[Running], label: str, seconds: int, width: int, encoding: str) -> str:
    """Return a line of at most `width` columns about what the first of these workers does.

    Such as "forward, fake run, step 2 of 5, 3 s: layer1.conv". Several workers are ranks.
    """
    events = [worker.last() for worker in workers]
    first, event = workers[0], events[0]
    parts = [*_activity(first.attempt, event), *_step(first.steps, event), *_ranks(events)]
    if seconds:
        parts.append(duration(seconds))
    head = (f"{label}: " if label else "") + ", ".join(parts)
    return fit(_encodable(head, encoding), _encodable(_layer(event), encoding), width, encoding)


def _activity(attempt: Attempt, event: LastEvent) -> list[str]:
    if attempt.for_batch and event.phase not in _BEFORE:
        return [escape(event.doing or "inferring the batch")]
    activity = escape(event.doing or _PHASES.get(event.phase, event.phase))
    if attempt.fallback is not None:
        return [activity, "real run as the fake run failed"]
    if attempt.tensors == "fake" and event.phase not in _BEFORE:
        return [activity, "fake run"]
    return [activity]


def _step(steps: int, event: LastEvent) -> list[str]:
    in_step = event.doing is None and event.phase in _IN_STEP
    return [f"step {event.step + 1} of {steps}"] if steps > 1 and in_step else []


def _ranks(events: Sequence[LastEvent]) -> list[str]:
    """Return how many ranks there are, and how many of them are in the phase of the first."""
    if len(events) == 1:
        return []
    same = sum(event.phase == events[0].phase for event in events)
    return [f"{len(events)} ranks" if same == len(events) else f"{same} of {len(events)} ranks"]


def _layer(event: LastEvent) -> str:
    return escape(event.layer) if event.layer and event.doing is None else ""


def duration(seconds: int) -> str:
    """Return a time as "7 s" or "2 min 05 s"."""
    minutes, rest = divmod(seconds, _MINUTE)
    return f"{minutes} min {rest:02} s" if minutes else f"{rest} s"


def _encodable(text: str, encoding: str) -> str:
    return text.encode(encoding, "backslashreplace").decode(encoding)


def fit(head: str, layer: str, width: int, encoding: str) -> str:
    """Return "head: layer" within `width` columns; the start of the layer's name is cut first."""
    mark = "…" if _encodable("…", encoding) == "…" else "~"
    room = width - columns(head) - len(": ")
    if not layer or room < _LEAST:
        return _cut_end(head, width, mark)
    if columns(layer) > room:
        layer = mark + _tail(layer, room - 1)
    return f"{head}: {layer}"


def columns(text: str) -> int:
    """Return the greatest number of terminal columns that a string may need.

    Combining characters count too, because terminals treat them differently, and a line that is
    too long cannot be erased.
    """
    return len(text) + sum(east_asian_width(letter) in {"W", "F"} for letter in text)


def _cut_end(text: str, width: int, mark: str) -> str:
    if columns(text) <= width:
        return text
    return _tail(text[::-1], width - 1)[::-1] + mark


def _tail(text: str, width: int) -> str:
    """Return the last characters that fit into `width` columns."""
    start = len(text)
    while start and (width := width - columns(text[start - 1])) >= 0:
        start -= 1
    return text[start:]
