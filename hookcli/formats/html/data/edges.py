"""The flow of tensors between calls: the edges of the diagram."""

from __future__ import annotations

from typing import Any

from hookcli.formats.html.data.columns import text_column
from hookcli.formats.html.data.references import References
from hookcli.formats.parts.text import shape
from hookcli.report.report import LayerRow, Report
from hookcli.report.values import Leaf


def edges(report: Report, references: References) -> dict[str, Any] | None:
    """Return the columns of all edges, None if the report has none.

    `source` and `target` are rows of layers; a source of -1 is the batch. `end` is 1 if the tensor
    is part of the target's output, not of its input. `output` and `input` are the paths of the
    tensor at the source and at the target, `made` and `shape` its shapes there. `through` has the
    operators between them, the nearest to the target last.
    """
    rows = report.edges
    if rows is None:
        return None
    layers = {layer.order: layer for layer in report.layers}
    row_of = references.row_of
    known = [r for r in rows if r.target in row_of and (r.source is None or r.source in row_of)]
    return {
        "count": len(known),
        "source": [-1 if r.source is None else row_of[r.source] for r in known],
        "target": [row_of[r.target] for r in known],
        "end": [int(r.end == "output") for r in known],
        "output": text_column(r.output for r in known),
        "input": text_column(r.input for r in known),
        "made": text_column(_made(layers, r.source, r.output) for r in known),
        "shape": text_column(_arrived(layers[r.target], r.end, r.input) for r in known),
        "through": text_column(", ".join(r.through) for r in known),
    }


def _made(layers: dict[int, LayerRow], source: int | None, path: str) -> str | None:
    """Return the shape of a tensor that a call made; a batch's is known where it arrives."""
    return None if source is None else _shape(layers[source].outputs, path)


def _arrived(layer: LayerRow, end: str, path: str) -> str | None:
    return _shape(layer.outputs if end == "output" else layer.inputs, path)


def _shape(leaves: tuple[Leaf, ...], path: str) -> str | None:
    return next((shape(leaf.shape) for leaf in leaves if leaf.path == path), None)
