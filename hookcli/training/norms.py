"""Norms of many tensors at once, cheap enough for every step of a training."""

from __future__ import annotations

import math
from collections.abc import Iterable
from contextlib import nullcontext
from typing import Any

import torch

from hookcli.engine.statistics.statistics import norm_of, norm_of_change
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
    found = []
    for parameter in parameters:
        grad = parameter.grad
        if grad is not None and not parameter.is_meta:
            found.append(grad if type(grad) is torch.Tensor else local(grad))
    return found


def gradient_norm(parameters: Iterable[torch.Tensor]) -> float | torch.Tensor:
    """Return the 2-norm of the gradients of these parameters: see `total_norm`.

    Each step of a training needs it. Dense gradients on the CPU, of one dtype and without a graph,
    are therefore looked at once only.
    """
    own = list(parameters)
    grads, dtype, strided = [], None, torch.strided
    for parameter in own:
        grad = parameter.grad
        if grad is None:
            continue
        dtype = dtype or grad.dtype
        if (
            type(grad) is not torch.Tensor
            or not grad.is_cpu
            or grad.dtype is not dtype
            or grad.layout is not strided
            or grad.requires_grad
        ):
            return total_norm(gradients_of(own))
        grads.append(grad)
    if dtype not in _PLAIN or count_dispatch_modes():
        return total_norm(gradients_of(own))
    return _norm_of_plain(grads)


def total_norm(tensors: list[torch.Tensor]) -> float | torch.Tensor:
    """Return the 2-norm of all elements: a number on the CPU, else a tensor that is not read yet.

    It is computed in the dtype of the tensors. A result of 0 or one that is not finite is computed
    again in double precision without overflow.
    """
    if not tensors:
        return 0.0
    if not (count_dispatch_modes() or _require_grad(tensors)):
        return _total_norm(tensors)  # contexts take longer than the norms of a small model
    with torch.no_grad(), outside_modes():
        return _total_norm(tensors)


def _require_grad(tensors: list[torch.Tensor]) -> bool:
    for tensor in tensors:  # noqa: SIM110  # a generator takes longer, at each step of a training
        if tensor.requires_grad:
            return True
    return False


def _total_norm(tensors: list[torch.Tensor]) -> float | torch.Tensor:
    return _norm_of_plain(tensors) if _are_plain(tensors) else careful_norm(tensors)


def _norm_of_plain(tensors: list[torch.Tensor]) -> float | torch.Tensor:
    norms = foreach_norm(tensors, 2)
    if not tensors[0].is_cpu:
        total: torch.Tensor = torch.linalg.vector_norm(torch.stack(norms).double())
        return total
    values = (
        [norm.item() for norm in norms]  # cheaper than to stack a few
        if len(norms) <= _FEW
        else torch.stack(norms).tolist()
    )
    value = math.hypot(*values)
    return value if value and math.isfinite(value) else careful_norm(tensors)


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
    first = tensors[0]
    dtype, device, strided = first.dtype, first.device, torch.strided
    if dtype not in _PLAIN:
        return False
    for tensor in tensors:
        if (
            type(tensor) not in _TYPES
            or tensor.dtype is not dtype
            or tensor.layout is not strided
            or not ((tensor.is_cpu and first.is_cpu) or tensor.device == device)
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
