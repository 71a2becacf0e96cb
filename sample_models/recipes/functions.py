"""Hook functions of the recipes, with the signatures that PyTorch gives them."""

from __future__ import annotations

from typing import Any

import torch


def plus_one(grad: torch.Tensor) -> torch.Tensor:
    """Tensor hook: the return value replaces the gradient."""
    return grad + 1


def double_in_place(grad: torch.Tensor) -> None:
    """Wrong tensor hook: the gradient may also be that of another tensor."""
    grad.mul_(2)


def hundred(module: torch.nn.Module, args: tuple[Any, ...], output: torch.Tensor) -> torch.Tensor:
    """Forward hook: the return value replaces the output."""
    return torch.full_like(output, 100)


def start_allreduce(event: Any) -> None:
    """The point where Horovod sends a gradient, while backward continues with earlier layers."""
    print(f"{event.target}: all-reduce of {event.value.numel()} values starts")
