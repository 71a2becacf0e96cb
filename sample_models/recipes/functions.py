"""Hook functions of the recipes, with the signatures that PyTorch gives them."""

from __future__ import annotations

from typing import Any

import torch


def plus_one(grad: torch.Tensor) -> torch.Tensor:
    """A tensor hook: what it returns takes the gradient's place."""
    return grad + 1


def double_in_place(grad: torch.Tensor) -> None:
    """What a tensor hook must not do: the gradient may be another tensor's as well."""
    grad.mul_(2)


def hundred(module: torch.nn.Module, args: tuple[Any, ...], output: torch.Tensor) -> torch.Tensor:
    """A forward hook: what it returns takes the output's place."""
    return torch.full_like(output, 100)


def start_allreduce(event: Any) -> None:
    """Where Horovod hands a gradient to the network while backward goes on with earlier layers."""
    print(f"{event.target}: all-reduce of {event.value.numel()} values starts")
