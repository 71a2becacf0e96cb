"""What reached each parameter: its gradient's figures, its own, and a verdict in a word."""

from __future__ import annotations

from typing import Any

import torch

from hookcli.models.model import Model
from hookcli.report.recording import ParameterStep
from hookcli.run.statistics.statistics import norm_of, statistics


def note_gradients(
    model: Model,
    taken: dict[int, torch.Tensor | None] | None,
    *,
    partly: bool = False,
    norms: bool = False,
) -> dict[int, ParameterStep]:
    """A note for each distinct parameter, by its key, before the optimizer steps.

    `taken` are gradients that torch.autograd.grad gave, by the parameters' keys; else `.grad`.
    Where backward came `partly`, a gradient that is not there may only not have come yet. With
    `norms` they are the only figures, in a third of the time.
    """
    measure = norm_of if norms else statistics
    notes: dict[int, ParameterStep] = {}
    for info in model.parameters():
        parameter = info.tensor
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
        return "none"
    if grad is None:
        return None  # it came, and has no values to tell more
    if grad["nans"] or grad["infs"]:
        return "non_finite"
    return "zero" if grad["norm"] == 0 else "ok"  # no square vanishes in a norm
