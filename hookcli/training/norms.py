"""Norms of many tensors at once, cheap enough for every step of a training."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from contextlib import nullcontext
from typing import Any, TypeAlias

import torch

from hookcli.engine.statistics.statistics import norm_of, norm_of_change
from hookcli.torch_private import (
    count_dispatch_modes,
    disable_current_modes,
    foreach_norm,
    foreach_sub_,
)

_PLAIN = (torch.float32, torch.float64)
_SHORT = (torch.bfloat16, torch.float16)  # their norms are computed in single precision
_TYPES = {torch.Tensor, torch.nn.Parameter}
_LEAST = 1e-15  # below it, squares of single precision are too small
_FEW = 16  # tensors
_LONG = 1 << 16  # elements
_no_modes = nullcontext()


def outside_modes() -> Any:
    """Return a context in which no dispatch mode sees an operator, free if there is none."""
    return disable_current_modes() if count_dispatch_modes() else _no_modes


def local(tensor: torch.Tensor) -> torch.Tensor:
    """Return the part of a sharded tensor that this rank has, else the tensor."""
    to_local: Any = getattr(tensor, "_local_tensor", None)
    return tensor if to_local is None else to_local


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

    It is computed in the dtype of the tensors, or in a longer one if that is short. On the CPU, a
    result of 0 or one that is not finite is computed again in double precision without
    overflow.
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
    if _are_plain(tensors):
        return _norm_of_plain(tensors)
    groups = _groups_of(tensors)
    if groups is None:
        return careful_norm(tensors)
    return _norm_of_groups(tensors, groups)


_Groups: TypeAlias = dict[tuple[torch.device, torch.dtype], list[torch.Tensor]]


def _groups_of(tensors: list[torch.Tensor]) -> _Groups | None:
    """Return the tensors by device and dtype; None if some are not dense, or of other dtypes."""
    groups: _Groups = {}
    for tensor in tensors:
        dense = type(tensor) in _TYPES and tensor.layout is torch.strided
        if not dense or tensor.is_meta or tensor.dtype not in (*_PLAIN, *_SHORT):
            return None
        groups.setdefault((tensor.device, tensor.dtype), []).append(tensor)
    return groups


def _norm_of_groups(tensors: list[torch.Tensor], groups: _Groups) -> float | torch.Tensor:
    """Return the norm of tensors of several dtypes and devices; see `total_norm`."""
    parts: list[torch.Tensor] = []
    for (_, dtype), group in groups.items():
        longer = None
        if dtype in _SHORT:  # sums of single precision are exact enough where they are short
            longer = torch.float64 if group[0].is_cpu else torch.float32
        norms = foreach_norm(_in_parts(group), 2, dtype=longer)
        parts.append(torch.linalg.vector_norm(torch.stack(norms).double()))
    elsewhere = [part.device for part in parts if not part.is_cpu]
    if elsewhere:  # what is on the CPU is filled in, which does not wait for the GPU
        device = elsewhere[0]
        moved = [
            torch.full((), part.item(), dtype=torch.float64, device=device)
            if part.is_cpu
            else part.to(device)
            for part in parts
        ]
        total: torch.Tensor = torch.linalg.vector_norm(torch.stack(moved))
        return total
    value = math.hypot(*[part.item() for part in parts])
    return value if value and math.isfinite(value) else careful_norm(tensors)


def _in_parts(tensors: list[torch.Tensor]) -> list[torch.Tensor]:
    """Return the tensors, large ones on the CPU as views of parts.

    PyTorch adds the squares of a tensor on the CPU one after another in single precision: the norm
    of 10 million elements is off by 4e-4.
    """
    for tensor in tensors:
        if tensor.numel() > _LONG:
            return [part for tensor in tensors for part in _parts_of(tensor)]
    return tensors


def _parts_of(tensor: torch.Tensor) -> Sequence[torch.Tensor]:
    if tensor.numel() <= _LONG or not tensor.is_cpu or not tensor.is_contiguous():
        return [tensor]
    return torch.split(tensor.view(-1), _LONG)


def _norms_of_plain(tensors: list[torch.Tensor]) -> list[float]:
    """Return the norm of each of these tensors."""
    parts = [_parts_of(tensor) for tensor in tensors]
    flat = [part for several in parts for part in several]
    values = iter(torch.stack(foreach_norm(flat, 2)).tolist())
    return [math.hypot(*(next(values) for _ in several)) for several in parts]


def _norm_of_plain(tensors: list[torch.Tensor]) -> float | torch.Tensor:
    norms = foreach_norm(_in_parts(tensors), 2)
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
            return _norms_of_plain(tensors)
        return [careful_norm([tensor]) for tensor in tensors]


def change_norms(before: list[torch.Tensor], after: list[torch.Tensor]) -> list[float | None]:
    """Return the 2-norm of each change; None if it is not known. `before` is overwritten."""
    with torch.no_grad(), outside_modes():
        if not _are_plain([*before, *after]):
            return [norm_of_change(*pair) for pair in zip(before, after, strict=True)]
        foreach_sub_(before, after)
        norms = _norms_of_plain(before)
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
