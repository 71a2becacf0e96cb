"""Norms of many tensors at once, cheap enough for every step of a training."""

from __future__ import annotations

import math
from collections.abc import Iterable
from contextlib import nullcontext
from typing import Any

import torch

from hookcli.run.statistics.statistics import norm_of, norm_of_change
from hookcli.torch_private import (
    count_dispatch_modes,
    disable_current_modes,
    foreach_norm,
    foreach_sub_,
)

_PLAIN = (torch.float32, torch.float64)
_TYPES = {torch.Tensor, torch.nn.Parameter}
_LEAST = 1e-15  # below it, squares of single precision are too small
_FEW = 16  # tensors
_no_modes = nullcontext()


def outside_modes() -> Any:
    """Return a context in which no dispatch mode sees an operator, free if there is none."""
    return disable_current_modes() if count_dispatch_modes() else _no_modes


def local(tensor: torch.Tensor) -> torch.Tensor:
    """Return the part of a sharded tensor that this rank has, else the tensor."""
    to_local: Any = getattr(tensor, "_local_tensor", None)
    return tensor if to_local is None else to_local


def is_part(tensor: torch.Tensor) -> bool:
    """Return whether a rank has a part of a tensor: a shard of a DTensor or of FSDP1."""
    if getattr(tensor, "_is_flat_param", False) or hasattr(tensor, "_fsdp_flattened"):
        return True
    placements: Any = getattr(tensor, "placements", None)
    return placements is not None and not all(one.is_replicate() for one in placements)


def gradients_of(parameters: Iterable[torch.Tensor]) -> list[torch.Tensor]:
    """Return the gradients of those parameters that have one, each as far as this rank has it."""
    return [local(p.grad) for p in parameters if p.grad is not None and not p.is_meta]


def total_norm(tensors: list[torch.Tensor]) -> float | torch.Tensor:
    """Return the 2-norm of all elements: a number on the CPU, else a tensor that is not read yet.

    It is computed in the dtype of the tensors. A result of 0 or one that is not finite is computed
    again in double precision without overflow.
    """
    if not tensors:
        return 0.0
    first = tensors[0]
    without_graph = torch.no_grad() if any(t.requires_grad for t in tensors) else _no_modes
    with without_graph, outside_modes():
        if _are_plain(tensors):
            norms = foreach_norm(tensors, 2)
            if first.device.type != "cpu":
                total: torch.Tensor = torch.linalg.vector_norm(torch.stack(norms).double())
                return total
            values = (
                [norm.item() for norm in norms]  # cheaper than to stack a few
                if len(norms) <= _FEW
                else torch.stack(norms).tolist()
            )
            value = math.hypot(*values)
            if value and math.isfinite(value):
                return value
    return careful_norm(tensors)


def is_not_zero(tensor: torch.Tensor) -> bool:
    """Return whether an element is not zero; the first ones are read first."""
    if tensor.is_meta:
        return False
    if tensor.layout is not torch.strided:
        return bool(norm_of(tensor) is None or careful_norm([tensor]))
    return bool(tensor[:1].any() if tensor.dim() else tensor) or bool(tensor.any())


def each_norm(tensors: list[torch.Tensor]) -> list[float]:
    """Return the 2-norm of each of these tensors."""
    with torch.no_grad(), outside_modes():
        if _are_plain(tensors):
            return [float(norm) for norm in torch.stack(foreach_norm(tensors, 2)).tolist()]
        return [careful_norm([tensor]) for tensor in tensors]


def change_norms(before: list[torch.Tensor], after: list[torch.Tensor]) -> list[float | None]:
    """Return the 2-norm of each change; None if it is not known. `before` is overwritten."""
    with torch.no_grad(), outside_modes():
        if not _are_plain([*before, *after]):
            return [norm_of_change(*pair) for pair in zip(before, after, strict=True)]
        foreach_sub_(before, after)
        norms = torch.stack(foreach_norm(before, 2)).tolist()
        return [
            norm if _LEAST < norm < math.inf else careful_norm([change])
            for norm, change in zip(norms, before, strict=True)
        ]


def _are_plain(tensors: list[torch.Tensor]) -> bool:
    """Return whether there are tensors, all dense, of one common dtype and on one device."""
    if not tensors:
        return False
    dtype, device = tensors[0].dtype, tensors[0].device
    if dtype not in _PLAIN:
        return False
    for tensor in tensors:
        if (
            type(tensor) not in _TYPES
            or tensor.dtype is not dtype
            or tensor.layout is not torch.strided
            or tensor.device != device
        ):
            return False
    return True


def careful_norm(tensors: list[torch.Tensor]) -> float:
    """Return the 2-norm of all elements, in double precision and without overflow."""
    figures = [norm_of(tensor) for tensor in tensors]
    norms = [float(row["norm"]) for row in figures if row is not None]
    if any(math.isnan(norm) for norm in norms):
        return math.nan
    return math.hypot(*norms)
