"""One run of an operator, as a dispatch mode sees it."""

from __future__ import annotations

from dataclasses import dataclass
from types import FrameType
from typing import Any

import torch

from hookcli.models.model import Call


@dataclass(frozen=True, slots=True)
class OperatorRun:
    """An operator with its arguments as they were before it ran, and the tensors that it wrote."""

    func: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    outputs: list[torch.Tensor]
    frame: FrameType  # the caller's
    call: Call | None
    phase: str
