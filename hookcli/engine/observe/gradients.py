"""Statistics of each parameter and its gradient, and the gradient's status."""

from __future__ import annotations

from collections.abc import Container
from typing import Any

import torch

from hookcli.engine.statistics.statistics import norm_of, statistics
from hookcli.models.model import Model
from hookcli.report.recording import ParameterStep


def note_gradients(
    model: Model,
    taken: dict[int, torch.Tensor | None] | None,
    *,
    partly: bool = False,
    norms: bool = False,
    only: Container[int] | None = None,
) -> dict[int, ParameterStep]:
    """Return a note for each distinct parameter, by its key, before the optimizer steps.

    `taken` are gradients computed by torch.autograd.grad, by the parameters' keys; if it is None,
    `.grad` is used. With `partly`, backward was interrupted, so a missing gradient has no status.
    With `norms` only norms are computed, in a third of the time. `only` are the keys of the
    parameters to note.
    """
    measure = norm_of if norms else statistics
    notes: dict[int, ParameterStep] = {}
    for info in model.parameters():
        parameter = info.tensor
        if only is not None and id(parameter) not in only:
            continue
        gradient = parameter.grad if taken is None else taken.get(id(parameter))
        weight = measure(parameter)
        grad = None if gradient is None else measure(gradient)
        notes[id(parameter)] = ParameterStep(
            grad,
            weight,
            None if partly and gradient is None else _status(parameter, gradient, grad),
        )
    return notes


def _status(
    parameter: torch.Tensor, gradient: torch.Tensor | None, grad: dict[str, Any] | None
) -> Any:
    if not parameter.requires_grad:
        return "frozen"
    if gradient is None:
        # FSDP1 gives a rank without elements of a parameter no gradient either.
        empty = hasattr(parameter, "_fsdp_flattened") and parameter.numel() == 0
        return None if empty else "none"
    if grad is None:
        return None  # there is a gradient, but its values cannot be read
    if grad["nans"] or grad["infs"]:
        return "non_finite"
    if grad["norm"] == 0 and not grad["numel"] and gradient.numel():
        return "ok"  # another rank has the elements
    return "zero" if grad["norm"] == 0 else "ok"  # squares do not underflow in this norm
