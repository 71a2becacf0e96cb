"""Parameters with their gradients, and their norms by step."""

from __future__ import annotations

from typing import Any

from hookcli.console import escape
from hookcli.formats.html.data.columns import figures, rounded, sparse, text_column
from hookcli.formats.html.data.references import References
from hookcli.formats.parts.color_scale import PALETTE, cell_kind, robust_range
from hookcli.formats.parts.text import shape
from hookcli.report.report import ParameterRow, Report


def parameters(report: Report, references: References) -> dict[str, Any]:
    """Return the columns of all parameters; `layer` is the row of the module that owns each.

    `steps` are the numbers of the steps, and `grid` has a list for each parameter with the norm of
    its gradient in each: a number, 0 if all its elements are zero, "nan", "inf", None for no
    gradient, "frozen" if it needs none, "" if it was not measured. `scale` has the norms at the
    ends of `palette`, None if no gradient has a norm above 0.
    """
    rows = report.parameters
    steps = sorted({entry["step"] for row in rows for entry in row.numbered_steps()})
    grid = [_cells(row, steps) for row in rows] if steps else []
    shown = (cell for cells in grid for cell in cells) if steps else (_norm(r.grad) for r in rows)
    span = robust_range(shown)
    return {
        "count": len(rows),
        "name": text_column(r.name for r in rows),
        "layer": [references.owner(r.name) for r in rows],
        "module_type": text_column(r.module_type for r in rows),
        "shape": text_column(shape(r.shape) for r in rows),
        "dtype": text_column(r.dtype for r in rows),
        "numel": [r.numel for r in rows],
        "requires_grad": [int(r.requires_grad) for r in rows],
        "status": text_column(r.status for r in rows),
        "weight_norm": [_norm(r.stats) for r in rows],
        "grad_norm": [_norm(r.grad) for r in rows],
        "ratio": [rounded(r.grad_to_weight) for r in rows],
        "shared_with": sparse([escape(n) for n in r.shared_with] for r in rows),
        "weight": sparse(figures(r.stats) for r in rows),
        "grad": sparse(figures(r.grad) for r in rows),
        "steps": steps,
        "grid": grid,
        "scale": None if span is None else [rounded(norm) for norm in span],
        "palette": ["#{:02x}{:02x}{:02x}".format(*color) for color in PALETTE],
    }


def _norm(stats: dict[str, Any] | None) -> Any:
    return None if stats is None else rounded(stats.get("norm"))


def _cells(row: ParameterRow, steps: list[int]) -> list[Any]:
    by_step = {e["step"]: _cell(e["grad"], e.get("status")) for e in row.numbered_steps()}
    return [by_step.get(step, "") for step in steps]


def _cell(grad: dict[str, Any] | None, status: str | None) -> Any:
    cell = cell_kind(grad, status)
    if cell == "value":
        return _norm(grad)
    if cell == "zero":
        return "" if status == "ok" else 0  # ok: another rank has the elements
    return {"none": None, "unknown": ""}.get(cell, cell)
