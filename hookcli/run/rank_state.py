"""What all ranks should share after backward: parameters, and the gradients that were averaged."""

from __future__ import annotations

from typing import Any

import torch

from hookcli.distributed.merge import GRADIENT, PARAMETER, STATE
from hookcli.models.base import Model
from hookcli.report.event_rows import number
from hookcli.report.findings import Measurement
from hookcli.run.digests import digest
from hookcli.run.statistics import norm_of


def _state(tensor: torch.Tensor | None) -> dict[str, Any] | None:
    """Its bits, in few, and its 2-norm."""
    if tensor is None:
        return None
    norm = norm_of(tensor)
    return {"bits": digest(tensor), "norm": None if norm is None else number(norm["norm"])}


def state_rows(model: Model) -> list[Measurement]:
    """A measurement for each parameter."""
    return [
        Measurement(
            STATE,
            info.name,
            None,
            {PARAMETER: _state(info.tensor), GRADIENT: _state(info.tensor.grad)},
            None,
        )
        for info in model.parameters()
    ]
