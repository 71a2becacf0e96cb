"""The events of a trace: those that a view shows, and their cells."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase
from functools import partial
from operator import attrgetter

from hookcli.catalogue.kinds import CATALOGUE
from hookcli.console import escape
from hookcli.formats.names import COUNTS, TRACE, TRACE_COLUMNS, statistic
from hookcli.formats.order import Ordered, measured, notes as order_notes, ordered, sort_key
from hookcli.formats.parts import summary
from hookcli.formats.parts.grid import Column
from hookcli.formats.parts.style import Style
from hookcli.formats.parts.text import count, figure, leaf_text, leaves_full, shape
from hookcli.formats.view import View
from hookcli.report.events import ChangeRow, EventRow, Streamed
from hookcli.report.report import Report
from hookcli.text import counted, join_names


def owner(event: EventRow) -> str:
    """Return the qualified name at the start of a target: `fc` of `fc:output[0]`."""
    return event.target.partition(":")[0]


def _depth(event: EventRow) -> int:
    """Return the depth of the event's module; for a parameter, of the module that contains it."""
    name, colon, _ = event.target.partition(":")
    kind = CATALOGUE.get(event.kind)
    if not colon and kind is not None and kind.at.plain == "parameter":
        name = name.rpartition(".")[0]
    return name.count(".") + 1 if name else 0


def _matches(event: EventRow, glob: str) -> bool:
    return fnmatchcase(event.target, glob) or fnmatchcase(owner(event), glob)


def recorded(report: Report) -> tuple[EventRow, ...]:
    """Return the events in the report; none if they were streamed to a file."""
    return () if isinstance(report.events, Streamed) else report.events


def shown_events(report: Report, view: View) -> list[EventRow]:
    """Return the events of the view, in its order."""
    return ordered_events(report, view).rows


def ordered_events(report: Report, view: View) -> Ordered[EventRow]:
    """Return the events of the view, in its order, and how many have no value to sort by."""
    events = [
        event
        for event in recorded(report)
        if (view.phase is None or event.phase == view.phase)
        and (view.kinds is None or event.kind in view.kinds)
        and (view.depth is None or _depth(event) <= view.depth)
        and (view.only is None or _matches(event, view.only))
    ]
    if view.sort is None:
        return Ordered(events)
    key = sort_key(view.sort)
    return ordered(events, view.sort, _sort_value(key), words=key in {"kind", "target"})


def _sort_value(key: str) -> Callable[[EventRow], object]:
    """Return the function of an event's value by which it is sorted."""
    path = TRACE[key].stat if key in TRACE else ()
    if path:
        return lambda event: _largest([statistic(leaf.stats, path) for leaf in event.values])
    if key == "changed":
        return lambda event: event.changed
    return attrgetter("seq" if key == "order" else key)


def _largest(figures: Sequence[object]) -> object:
    """Return the largest figure of several tensors; NaN if one is NaN, None if none is known."""
    known = [number for value in figures if (number := measured(value)) is not None]
    return math.nan if any(map(math.isnan, known)) else max(known, default=None)


def target(event: EventRow) -> str:
    """Return the target for display: the name of the root is empty."""
    if event.target:
        return escape(event.target)
    kind = CATALOGUE.get(event.kind)
    return "(root)" if kind is None or kind.at_modules else "–"


def figures(event: EventRow, name: str = "norm") -> str:
    """Return a statistic of each value of an event that has statistics."""
    path, write = TRACE[name].stat, count if name in COUNTS else figure
    texts = [write(statistic(leaf.stats, path)) for leaf in event.values if leaf.stats is not None]
    return join_names(texts, 4, rest=" +{}")


def remarks(event: EventRow) -> str:
    """Return the notes of an event."""
    return "recomputed" if event.recomputed else ""


def changed(event: EventRow) -> str:
    """Return the 2-norm of the hook's change; "" if it only observed."""
    return "" if event.changed is None else figure(event.changed)


def change(event: EventRow) -> str:
    """Return the norm of each changed tensor before and after; "" if the hook changed none."""
    return join_names([_change(row) for row in event.changes or ()], 4, rest=" +{}")


def _change(row: ChangeRow) -> str:
    """Return the norm before and after, and the shapes and dtypes if they differ."""
    norm = _arrow([figure(statistic(stats, ("norm",))) for stats in (row.before, row.after)])
    sorts = []
    if row.shapes is not None:
        sorts.append(_arrow(["–" if sizes is None else shape(sizes) for sizes in row.shapes]))
    if row.dtypes is not None:
        sorts.append(_arrow(["–" if name is None else escape(name) for name in row.dtypes]))
    return f"{norm} ({', '.join(sorts)})" if sorts else norm


def _arrow(sides: Sequence[str]) -> str:
    return " → ".join(sides)


def _faint(event: EventRow) -> Style | None:
    return Style.FAINT if event.recomputed else None


COLUMNS: dict[str, Column[EventRow]] = {
    "seq": Column(TRACE_COLUMNS["seq"], lambda e: str(e.seq), right=True),
    "rank": Column(TRACE_COLUMNS["rank"], lambda e: str(e.rank), right=True),
    "step": Column(TRACE_COLUMNS["step"], lambda e: str(e.step), right=True),
    "phase": Column(TRACE_COLUMNS["phase"], lambda e: escape(e.phase)),
    "kind": Column(TRACE_COLUMNS["kind"], lambda e: escape(e.kind), style=_faint),
    "target": Column(TRACE_COLUMNS["target"], target, least=32, style=_faint, distinct=True),
    "call": Column(
        TRACE_COLUMNS["call"], lambda e: "" if e.call is None else str(e.call), right=True
    ),
    "node": Column(TRACE_COLUMNS["node"], lambda e: escape(e.node or ""), least=16),
    "values": Column(
        TRACE_COLUMNS["values"],
        lambda e: leaves_full(e.values, inputs=True) if e.values else "",
        least=14,
        fit=lambda e, width: leaf_text(e.values, width, inputs=True),
    ),
    "dtype": Column(
        TRACE_COLUMNS["dtype"],
        lambda e: ", ".join(dict.fromkeys(escape(leaf.dtype) for leaf in e.values)),
        least=8,
    ),
    **{
        name: Column(facts.title, partial(figures, name=name), right=True, least=9)
        for name, facts in TRACE.items()
        if facts.stat
    },
    "changed": Column(TRACE_COLUMNS["changed"], changed, right=True),
    "change": Column(TRACE_COLUMNS["change"], change, least=9),
    "hook": Column(
        TRACE_COLUMNS["hook"], lambda e: "" if e.hook is None else str(e.hook), right=True
    ),
    "notes": Column(TRACE_COLUMNS["notes"], remarks),
}

# Dropped on a narrow terminal, in this order, unless the user chose the columns.
_GIVE_WAY = ("hook", "norm", "notes", "call", "changed", "node", "phase", "values")
_ALWAYS = frozenset({"seq", "phase", "kind", "target", "call", "values"})


def several_hooks(events: list[EventRow]) -> bool:
    """Return whether several hooks have the same kind, so that the kind does not identify them."""
    return len({(event.kind, event.hook) for event in events}) > len({e.kind for e in events})


def columns(report: Report, view: View, events: list[EventRow]) -> dict[str, Column[EventRow]]:
    """Return the chosen columns, else those that distinguish the events."""
    if view.asked is not None:
        return {name: COLUMNS[name] for name in view.asked if name in COLUMNS}
    useful = {
        "step": report.run.steps > 1,
        "rank": report.run.world_size > 1,
        "node": any(event.node for event in events),
        "norm": any(leaf.stats is not None for event in events for leaf in event.values),
        "changed": any(event.changed is not None for event in events),
        "hook": several_hooks(events),
        "notes": any(event.recomputed for event in events),
    }
    by = None if view.sort is None else sort_key(view.sort)
    shown = {*_ALWAYS, by, *(name for name, use in useful.items() if use)}
    return {name: column for name, column in COLUMNS.items() if name in shown}


def give_way(view: View, events: list[EventRow]) -> tuple[str, ...]:
    """Return the columns to drop; the call comes first if each event is of a first call."""
    if view.asked is not None:
        return ()
    names = _GIVE_WAY if any(event.call for event in events) else ("call", *_GIVE_WAY)
    return tuple(name for name in names if view.sort is None or name != sort_key(view.sort))


def totals(report: Report, shown: int) -> list[tuple[str, str]]:
    """Return the numbers of events, also by phase, and of operations if they were counted."""
    lines: list[tuple[str, str]] = []
    events = recorded(report)
    if events:
        lines.append(("Events", f"{len(events):,}"))
        phases = Counter(event.phase for event in events)
        if len(phases) > 1:
            lines += [(f"  {escape(phase)}", f"{count:,}") for phase, count in phases.items()]
        if shown != len(events):
            lines.append(("  shown", f"{shown:,}"))
    elif not isinstance(report.events, Streamed):
        lines.append(("Events", "0"))
    return lines + summary.flops(report)


def notes(report: Report, view: View, events: Ordered[EventRow]) -> list[str]:
    """Return the notes below the events."""
    more: list[str] = []
    if isinstance(report.events, Streamed):
        streamed = report.events
        lost = f", {streamed.dropped:,} more were dropped" if streamed.dropped else ""
        more.append(f"{counted(streamed.count, 'event')} in {escape(streamed.file)}{lost}")
    elif report.events and not events.rows:
        more.append(_nothing(view))
    if any(event.recomputed for event in recorded(report)):
        more.append("recomputed: fired again during the backward pass, because checkpointing runs "
                    "the forward a second time")  # fmt: skip
    more += order_notes(view.sort, events)
    more += _statistics_notes(events.rows, view)
    return summary.run_notes(report, [*more, *summary.neutral(report)])


def _statistics_notes(events: Sequence[EventRow], view: View) -> list[str]:
    """Return notes about statistics: chosen ones that no hook recorded, and those not shown."""
    every = [leaf.stats for event in events for leaf in event.values if leaf.stats is not None]
    found = {
        name
        for name, facts in TRACE.items()
        if facts.stat and any(statistic(stats, facts.stat) is not None for stats in every)
    }
    if view.asked is not None:
        missing = [name for name in view.asked if TRACE[name].stat and name not in found]
        if every:  # the others have no value if all elements are finite
            missing = [name for name in missing if not name.startswith("finite_")]
        return summary.not_measured(missing, "the hooks") if events else []
    hidden = [name for name in TRACE if name in found - {"norm", "numel"}]
    none = {name for name in COUNTS if not any(statistic(s, TRACE[name].stat) for s in every)}
    hidden = [name for name in hidden if name not in none]
    if not hidden:
        return []
    return [f"recorded, but not shown: {', '.join(hidden)} (use `--columns`)"]


def _nothing(view: View) -> str:
    """Return the note that a view matches no event."""
    given = [
        f"{flag} {escape(str(value))}"
        for flag, value in (
            ("--only", view.only),
            ("--phase", view.phase),
            ("--kinds", None if view.kinds is None else ",".join(view.kinds)),
            ("--depth", view.depth),
        )
        if value is not None
    ]
    return f"no event matches {' '.join(given)}"
