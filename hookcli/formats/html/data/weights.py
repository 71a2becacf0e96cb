"""Weights, and the comparison of two files of them, as a record of a page.

Tensors take the place of layers, and their dtypes that of types.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from hookcli.formats.html.data.columns import rounded, text_column
from hookcli.formats.html.data.compared import NO_EVENTS
from hookcli.formats.parts.text import shape
from hookcli.report.weights.weights_diff import WeightsChange, WeightsDiff
from hookcli.report.weights.weights_report import WeightsReport, WeightsRow

_FIGURES = ("norm", "mean", "std", "min", "max", "zeros", "nans", "infs")


def tensors_record(report: WeightsReport) -> dict[str, Any]:
    """Return the record of a report: a row for each tensor."""
    rows = report.tensors
    stats = [row.stats or {} for row in rows]
    return _record(
        "inspect",
        {
            **_rows((row.name for row in rows), (row.dtype for row in rows), len(rows)),
            "status": text_column(map(_state, rows)),
            "shape": text_column(shape(row.shape) for row in rows),
            "bytes": [row.bytes for row in rows],
            "numel": [row.numel for row in rows],
            **{key: [rounded(figures.get(key)) for figures in stats] for key in _FIGURES},
            "file": text_column(row.file for row in rows),
            "part": text_column(row.part for row in rows),
            "layout": text_column(row.layout for row in rows),
            "shared": text_column(
                ", ".join(row.shared_with) if row.shared_with else None for row in rows
            ),
            "unread": text_column(row.unread for row in rows),
        },
    )


def _state(row: WeightsRow) -> str:
    """Return whether the values are finite, in one word: the page filters by it."""
    if row.stats is None:
        return "unread"
    return "not-finite" if row.stats["nans"] or row.stats["infs"] else "finite"


def changes_record(diff: WeightsDiff) -> dict[str, Any]:
    """Return the record of a comparison: a row for each tensor of A or B."""
    rows = diff.rows
    return _record(
        "diff",
        {
            **_rows(map(_name, rows), (_both(row.dtypes) for row in rows), len(rows)),
            "status": text_column(row.status for row in rows),
            "other": text_column(row.b if row.status == "renamed" else None for row in rows),
            "shape": text_column(
                _both([None if side is None else shape(side) for side in row.shapes])
                for row in rows
            ),
            "numel": [row.numel for row in rows],
            "relative": [rounded(row.relative) for row in rows],
            "largest": [rounded(row.largest) for row in rows],
            "norm": [rounded(row.norm) for row in rows],
            "differing": [row.differing for row in rows],
            "why": text_column(row.why for row in rows),
        },
    )


def _name(row: WeightsChange) -> str:
    return row.a or row.b or ""


def _both(sides: Iterable[str | None]) -> str:
    return " | ".join(dict.fromkeys(side for side in sides if side is not None))


def _rows(names: Iterable[str], dtypes: Iterable[str], count: int) -> dict[str, Any]:
    return {
        "count": count,
        "name": text_column(names),
        "type": text_column(dtypes),
        "call": [0] * count,
        "parent": [-1] * count,
    }


def _record(command: str, rows: dict[str, Any]) -> dict[str, Any]:
    return {
        "name": "",
        "command": command,
        "model": "",
        "layers": rows,
        "parameters": {"count": 0, "name": text_column(()), "layer": []},
        "events": NO_EVENTS,
        "edges": None,
        "checks": [],
        "distributed": None,
    }
