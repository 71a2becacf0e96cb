"""The flow of tensors between calls: the edges of the diagram."""

from __future__ import annotations

from typing import Any

from hookcli.formats.html.data.columns import text_column
from hookcli.formats.html.data.references import References
from hookcli.formats.parts.text import shape
from hookcli.report.report import Report
from hookcli.report.values import Leaf


def edges(report: Report, references: References) -> dict[str, Any] | None:
    """Return the columns of all edges, None if the report has none.

    `source` and `target` are rows of layers; a source of -1 is the batch. `end` is 1 if the tensor
    is part of the target's output, not of its input. `shape` is that of the tensor at the target.
    """
    rows = report.edges
    if rows is None:
        return None
    row_of = references.row_of
    return {
        "count": len(rows),
        "source": [-1 if r.source is None else row_of.get(r.source, -1) for r in rows],
        "target": [row_of.get(r.target, -1) for r in rows],
        "end": [int(r.end == "output") for r in rows],
        "shape": text_column(_shape(report, row_of.get(r.target), r.end, r.input) for r in rows),
        "through": text_column(", ".join(r.through) for r in rows),
    }


def _shape(report: Report, row: int | None, end: str, path: str) -> str | None:
    if row is None:
        return None
    layer = report.layers[row]
    leaves: tuple[Leaf, ...] = layer.outputs if end == "output" else layer.inputs
    return next((shape(leaf.shape) for leaf in leaves if leaf.path == path), None)
