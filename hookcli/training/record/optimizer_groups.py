"""What is read from the parameter groups of an optimizer."""

from __future__ import annotations

from typing import Any

import torch

from hookcli.report.rows.events import number
from hookcli.report.values import Number


def numbers(group: dict[str, Any]) -> dict[str, Number | bool]:
    """Return the options of a group that are numbers or flags; of `betas`, `betas[0]` and so on."""
    found: dict[str, Number | bool] = {}
    betas = group.get("betas")
    more = (
        {f"betas[{i}]": one for i, one in enumerate(betas)}
        if isinstance(betas, tuple | list)
        else {}
    )
    for name, value in {**group, **more}.items():
        if isinstance(value, bool):
            found[name] = value
        elif isinstance(value, int | float) or (
            isinstance(value, torch.Tensor) and value.numel() == 1
        ):
            found[name] = number(float(value))
    return found


def largest_decay(optimizer: Any) -> float | None:
    """Return the largest weight decay of all groups; None if no group has one."""
    values = [group.get("weight_decay") for group in optimizer.param_groups]
    return max((float(value) for value in values if value is not None), default=None)


def parameters_of(optimizer: Any) -> list[torch.Tensor]:
    """Return the parameters of all groups."""
    return [p for group in optimizer.param_groups for p in group["params"]]


def largest_rate(optimizer: Any) -> float | None:
    """Return the largest learning rate of several groups; None if there is only one group."""
    groups = optimizer.param_groups
    if len(groups) < 2:
        return None
    return max((float(g["lr"]) for g in groups if g.get("lr") is not None), default=None)


def learning_rate(optimizer: Any) -> float | None:
    """Return the learning rate of the first group."""
    for group in optimizer.param_groups:
        lr = group.get("lr")
        return None if lr is None else float(lr)
    return None
