"""The events of hooks, in the order in which they fired."""

from __future__ import annotations

from typing import Any

from hookcli.catalogue.kinds import CATALOGUE
from hookcli.console import escape
from hookcli.formats.html.data.columns import figures, rounded, sparse, text_column
from hookcli.formats.html.data.layers import tensor
from hookcli.formats.html.data.references import References
from hookcli.formats.parts.text import leaves_full, shape
from hookcli.formats.trace.events import recorded
from hookcli.report.events import EventRow, Streamed
from hookcli.report.report import Report


def events(report: Report, references: References) -> dict[str, Any]:
    """Return the columns of all events; `layer` and `parameter` are the rows that each refers to.

    `changed` is the 2-norm of what the hook changed. `changes` has [path, figures before, figures
    after, shapes, dtypes] for each tensor that a hook changed, the last two as pairs if they
    differ, and `tensors` those with statistics. `streamed`
    names the file that has the events, if they are not in the report. `kinds` tells when each kind
    fires, in a sentence, and whether that is before or after the forward of its module.
    """
    rows = recorded(report)
    at = [references.of(row.target, row.call) for row in rows]
    return {
        "count": len(rows),
        "seq": [r.seq for r in rows],
        "step": [r.step for r in rows],
        "phase": text_column(r.phase for r in rows),
        "kind": text_column(r.kind for r in rows),
        "target": text_column(r.target for r in rows),
        "call": [r.call for r in rows],
        "node": text_column(r.node for r in rows),
        "hook": [r.hook for r in rows],
        "values": text_column(leaves_full(r.values) for r in rows),
        "changed": [rounded(r.changed) for r in rows],
        "recomputed": [int(r.recomputed) for r in rows],
        "rank": [r.rank for r in rows],
        "layer": [reference.layer for reference in at],
        "parameter": [reference.parameter for reference in at],
        "tensors": sparse(_tensors(r) for r in rows),
        "changes": sparse(_changes(r) for r in rows),
        "kinds": {escape(name): _kind(name) for name in dict.fromkeys(r.kind for r in rows)},
        "streamed": report.events.file if isinstance(report.events, Streamed) else None,
    }


def _kind(name: str) -> dict[str, str | None]:
    kind = CATALOGUE.get(name)
    if kind is None:
        return {"fires": None, "moment": None}
    return {"fires": kind.fires, "moment": None if kind.moment is None else kind.moment.value}


def _tensors(row: EventRow) -> list[Any]:
    return [tensor(leaf) for leaf in row.values] if any(v.stats for v in row.values) else []


def _changes(row: EventRow) -> list[Any]:
    return [
        [
            escape(change.path),
            figures(change.before),
            figures(change.after),
            None if change.shapes is None else [s and shape(s) for s in change.shapes],
            None if change.dtypes is None else [d and escape(d) for d in change.dtypes],
        ]
        for change in row.changes or ()
    ]
