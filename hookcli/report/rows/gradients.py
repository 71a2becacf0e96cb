"""Make the rows of parameters with their gradients, and the norm of all gradients."""

from __future__ import annotations

import math
from typing import Any

from hookcli.report.recording import ParameterInfo, ParameterStep, Recording
from hookcli.report.report import ParameterRow
from hookcli.report.rows.events import figures, number
from hookcli.report.values import Number


def parameter_rows(recording: Recording) -> tuple[ParameterRow, ...]:
    """Return one row per distinct parameter, with the gradients of the last step."""
    steps = recording.gradients
    numbers = recording.gradient_steps or range(len(steps))
    return tuple(_row(p, list(zip(numbers, steps, strict=True))) for p in recording.parameters)


def _row(
    parameter: ParameterInfo, steps: list[tuple[int, dict[int, ParameterStep]]]
) -> ParameterRow:
    taken = [(i, step[parameter.key]) for i, step in steps if parameter.key in step]
    last = taken[-1][1] if taken else None
    return ParameterRow(
        name=parameter.name,
        module_type=parameter.module_type,
        shape=parameter.shape,
        dtype=parameter.dtype,
        numel=parameter.numel,
        requires_grad=parameter.requires_grad,
        shared_with=parameter.aliases,
        stats=None if last is None else figures(last.weight),
        grad=None if last is None else figures(last.grad),
        grad_to_weight=None if last is None else _ratio(last.grad, last.weight),
        steps=tuple(
            {"step": i, "grad": figures(step.grad), "status": step.status} for i, step in taken
        )
        if len(steps) > 1
        else (),
        status=None if last is None else last.status,
    )


def _ratio(grad: dict[str, Any] | None, weight: dict[str, Any] | None) -> Number | None:
    """Return norm of gradient / norm of weight; None if one is not known or the weight's is 0."""
    if grad is None or weight is None or not weight["norm"]:
        return None
    return number(float(grad["norm"]) / float(weight["norm"]))


def total_norm(recording: Recording) -> Number | None:
    """Return the 2-norm over all gradients of the last step, as torch's clip_grad_norm_ does."""
    if not recording.gradients:
        return None
    norms = [step.grad["norm"] for step in recording.gradients[-1].values() if step.grad]
    if any(math.isnan(norm) for norm in norms):
        return "nan"
    return number(math.hypot(*norms)) if norms else 0.0
