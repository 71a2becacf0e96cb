"""Weights that are far larger than torch initializes them: why a gradient may be large."""

from __future__ import annotations

import math

from hookcli.report.report import ParameterRow, Report
from hookcli.rules.training.series import real

WIDE = 5.0  # times the standard deviation of torch's own initialization
_LAYERS = {"Linear"} | {f"Conv{kind}{dims}d" for kind in ("", "Transpose") for dims in (1, 2, 3)}


def usual_deviation(inputs: int) -> float:
    """Return the standard deviation with which torch initializes the weights of a unit.

    They are uniform between -1 / sqrt(inputs) and 1 / sqrt(inputs).
    """
    return 1 / math.sqrt(3 * inputs)


def wide_weights(report: Report) -> tuple[str, str] | None:
    """Return the name of the widest weight, and a clause on it and others; None if none is wide."""
    sizes = {row.name: size for row in report.parameters if (size := _size(row)) is not None}
    wide = {name: size for name, size in sizes.items() if size[0] > WIDE * size[1]}
    if not wide:
        return None
    name = max(wide, key=lambda name: wide[name][0] / wide[name][1])
    mean, usual = wide[name]
    clause = (
        f"the values of '{name}' have a root mean square of {mean:.2g}, {mean / usual:.0f} times "
        "that of torch's initialization"
    )
    if len(wide) > 1:
        clause += f"; {len(wide) - 1} more weights are more than {WIDE:g} times as large"
    return name, clause


def _size(row: ParameterRow) -> tuple[float, float] | None:
    """Return the root mean square of the weight of a layer, and that of a new one."""
    norm = real((row.stats or {}).get("norm"))
    inputs = math.prod(size or 0 for size in row.shape[1:])
    is_weight = row.module_type in _LAYERS and row.name.rpartition(".")[2] == "weight"
    if norm is None or not is_weight or not row.numel or not inputs:
        return None
    return norm / math.sqrt(row.numel), usual_deviation(inputs)
