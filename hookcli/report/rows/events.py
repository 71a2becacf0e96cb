"""Make the rows of events, and write figures as strict JSON allows them."""

from __future__ import annotations

import math
from typing import Any

from hookcli.report.events import ChangeRow, EventRow
from hookcli.report.recording import ChangeNote, EventNote
from hookcli.report.values import Leaf, Number


def number(value: float) -> Number:
    """Return a float as strict JSON can represent it."""
    if math.isfinite(value):
        return value
    return "nan" if math.isnan(value) else "inf" if value > 0 else "-inf"


def figures(stats: dict[str, Any] | None) -> dict[str, Any] | None:
    """Return statistics as strict JSON can represent them."""
    if stats is None:
        return None
    return {
        name: number(value)
        if isinstance(value, float)
        else figures(value)
        if isinstance(value, dict)
        else value
        for name, value in stats.items()
    }


def event_row(note: EventNote) -> EventRow:
    """Return the row of an event."""
    stats = note.stats or [None] * len(note.values)
    return EventRow(
        seq=note.seq,
        step=note.step,
        phase=note.phase,  # type: ignore[arg-type]  # the clock knows no others
        kind=note.kind,
        target=note.target,
        call=note.call,
        node=note.node,
        hook=note.hook,
        values=tuple(
            Leaf(path, shape, dtype, via="attribute" if via else None, stats=figures(leaf_stats))
            for (path, shape, dtype, via), leaf_stats in zip(note.values, stats, strict=True)
        ),
        changed=None if note.changed is None else number(note.changed),
        recomputed=note.recomputed,
        changes=tuple(map(_change_row, note.changes)) if note.changes else None,
    )


def _change_row(note: ChangeNote) -> ChangeRow:
    old, new = note.sort_before, note.sort_after
    shapes = old and old[0], new and new[0]
    dtypes = old and old[1], new and new[1]
    return ChangeRow(
        path=note.path,
        before=figures(note.before),
        after=figures(note.after),
        shapes=None if shapes[0] == shapes[1] else shapes,
        dtypes=None if dtypes[0] == dtypes[1] else dtypes,
    )
