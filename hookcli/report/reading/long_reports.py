"""Read the events of a long report in pieces: the reader of JSON holds several times its input.

This knows the lines that hookcli writes, a row on each. A report with other lines, or with an
error, is left to the caller.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cache

from pydantic import TypeAdapter, ValidationError

from hookcli.report.events import EventRow
from hookcli.report.report import Report
from hookcli.report.values import LARGEST_INDEX

LONG = 1 << 20  # bytes: a shorter report is read at once
_PIECE = 1 << 18
_START, _END = b'\n  "events": [\n', b"\n  ]"
_PLACEHOLDER = LARGEST_INDEX - 7  # number of the event that stands for all of them
_ROW = (
    b'{"seq": %d, "step": 0, "phase": "forward", "kind": "", "target": "", "call": null, '
    b'"node": null, "hook": null}' % _PLACEHOLDER
)


@cache
def _rows_adapter() -> TypeAdapter[tuple[EventRow, ...]]:
    return TypeAdapter(tuple[EventRow, ...])


def read_in_pieces(adapter: TypeAdapter[Report], text: bytes, *, strict: bool) -> Report | None:
    """Return the report; None if it must be read at once, to find its events or its error."""
    start = text.find(_START)
    end = text.find(_END, start)
    if start < 0 or end < 0 or text.find(_START, end) >= 0:
        return None
    start += len(_START)
    try:
        report = adapter.validate_json(b"".join((text[:start], _ROW, text[end:])), strict=strict)
        if not isinstance(report.events, tuple) or len(report.events) != 1:
            return None
        if report.events[0].seq != _PLACEHOLDER:  # the lines are those of another key
            return None
        events: list[EventRow] = []
        for piece in _pieces(text, start, end):
            events += _rows_adapter().validate_json(piece, strict=strict)
    except ValidationError:
        return None
    return replace(report, events=tuple(events))


def _pieces(text: bytes, start: int, end: int) -> Iterator[bytes]:
    """Yield JSON arrays of the rows between two positions. A line ends between two tokens."""
    while start < end:
        stop = text.find(b",\n", min(start + _PIECE, end), end)
        stop = end if stop < 0 else stop
        yield b"".join((b"[", text[start:stop], b"]"))
        start = stop + 1
