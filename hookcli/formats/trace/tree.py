"""A trace as a tree: a module's forward_pre opens a level, its last forward hook closes it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import TypeAlias

from hookcli.catalogue.kind import Moment
from hookcli.catalogue.kinds import CATALOGUE
from hookcli.console import escape
from hookcli.formats.document import common
from hookcli.formats.document.document import Document, TreeBlock
from hookcli.formats.inspect.fold import DEEPEST
from hookcli.formats.parts.style import Style, paint
from hookcli.formats.parts.text import leaves_full
from hookcli.formats.trace import events as trace_rows
from hookcli.formats.view import View
from hookcli.report.events import EventRow
from hookcli.report.report import Report

_OPENS = {k.name for k in CATALOGUE.values() if k.moment is Moment.BEFORE_FORWARD}
_CLOSES = {k.name for k in CATALOGUE.values() if k.moment is Moment.AFTER_FORWARD}
_Call: TypeAlias = tuple[str, int | None, bool]


@dataclass(frozen=True, slots=True)
class Glyphs:
    """The characters that draw the levels."""

    goes_on: str
    opens: str
    closes: str


_UNICODE = Glyphs("│ ", "┌ ", "└ ")
_ASCII = Glyphs("| ", "/ ", "\\ ")


def _call(event: EventRow) -> _Call:
    return event.target, event.call, event.recomputed


def guides(events: list[EventRow], glyphs: Glyphs) -> Iterator[tuple[EventRow, str]]:
    """Yield the events of one phase, each with its guides.

    A call with several hooks opens a level at the first and closes it at the last. An event without
    its counterpart (the view omits it, or the forward raised) does not change the levels around it.
    """
    last = {_call(event): i for i, event in enumerate(events) if event.kind in _CLOSES}
    levels: dict[_Call, None] = {}  # in the order in which they opened
    for i, event in enumerate(events):
        call = _call(event)
        if event.kind in _OPENS and call not in levels and last.get(call, -1) > i:
            yield event, _above(len(levels), glyphs) + glyphs.opens
            levels[call] = None
        elif event.kind in _CLOSES and call in levels and last[call] == i:
            while levels.popitem()[0] != call:
                pass
            yield event, _above(len(levels), glyphs) + glyphs.closes
        else:
            yield event, _above(len(levels), glyphs)


def _above(levels: int, glyphs: Glyphs) -> str:
    """Return the guides of the levels above, or of the innermost ones if there are too many."""
    if levels <= DEEPEST:
        return glyphs.goes_on * levels
    return "… " + glyphs.goes_on * (DEEPEST - 1)


def line(event: EventRow, above: str, wide: int, *, hooks: bool) -> str:
    """Return the line of an event: seq, guides, kind, target and details."""
    call = f" #{event.call}" if event.call else ""
    parts = [f"{event.seq:>{wide}}  {above}{escape(event.kind)}  {trace_rows.target(event)}{call}"]
    if event.node:
        parts.append(escape(event.node))
    if event.values:
        parts.append(leaves_full(event.values, inputs=True))
    if norm := trace_rows.figures(event):
        parts.append(f"norm {norm}")
    if changed := _changed(event):
        parts.append(changed)
    if hooks and event.hook is not None:
        parts.append(f"hooks[{event.hook}]")
    if event.recomputed:
        parts.append("(recomputed)")
    return "  ".join(parts)


def _changed(event: EventRow) -> str:
    """Return by how much the hook changed its value, and the norms; "" if it only observed."""
    by = "" if event.changed is None else f" by {trace_rows.changed(event)}"
    change = trace_rows.change(event)
    norms = f" (norm {change})" if change else ""
    return f"changed{by}{norms}" if by or norms else ""


def _heading(report: Report, event: EventRow) -> str:
    """Return the phase, with the step and the rank if there are several."""
    text = escape(event.phase)
    if report.run.steps > 1 or report.training is not None:
        text += f", step {event.step}"
    return f"{text}, rank {event.rank}" if report.run.world_size > 1 else text


def body(report: Report, view: View) -> list[str]:
    """Return the events by phase, each phase below a heading. Lines are not cut."""
    events = trace_rows.ordered_events(report, view).rows
    wide = max((len(str(event.seq)) for event in events), default=1)
    glyphs = _UNICODE if view.unicode else _ASCII
    hooks = trace_rows.several_hooks(events)
    by_rank = sorted(events, key=lambda event: event.rank)  # each rank's own order stays
    out = []
    for _, group in groupby(by_rank, key=lambda e: (e.rank, e.step, e.phase)):
        phase = list(group)
        heading = _heading(report, phase[0])
        out += ["", paint(heading, Style.TITLE, color=view.color)]
        out += [
            line(event, paint(above, Style.FAINT, color=view.color), wide, hooks=hooks)
            for event, above in guides(phase, glyphs)
        ]
    return out


def build(report: Report, view: View) -> Document:
    """Return the document with the phases as trees."""
    order = trace_rows.ordered_events(report, view)
    return common.document(
        report,
        view,
        [TreeBlock(body(report, view))],
        totals=trace_rows.totals(report, len(order.rows)),
        notes=trace_rows.notes(report, view, order),
    )
