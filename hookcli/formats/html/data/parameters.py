"""Parameters with their gradients, and their norms by step."""

from __future__ import annotations

from typing import Any

from hookcli.console import escape
from hookcli.formats.html.data.columns import figures, rounded, sparse, text_column
from hookcli.formats.html.data.references import References
from hookcli.formats.parts.text import shape
from hookcli.report.report import ParameterRow, Report


def parameters(report: Report, references: References) -> dict[str, Any]:
    """Return the columns of all parameters; `layer` is the row of the module that owns each.

    `steps` are the numbers of the steps, and `grid` has a list for each parameter with the norm of
    its gradient in each: a number, "nan", "inf", None for no gradient, "" if it was not measured.
    """
    rows = report.parameters
    steps = sorted({entry["step"] for row in rows for entry in row.steps})
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
        "grid": [_norms(row, steps) for row in rows] if steps else [],
    }


def _norm(stats: dict[str, Any] | None) -> Any:
    return None if stats is None else rounded(stats.get("norm"))


def _norms(row: ParameterRow, steps: list[int]) -> list[Any]:
    by_step = {entry["step"]: _norm(entry["grad"]) for entry in row.steps}
    return [by_step.get(step, "") for step in steps]
