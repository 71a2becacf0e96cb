"""Turns any tensor into a strided tensor that plain operators can read."""

from __future__ import annotations

import sys
from typing import Any

import torch
from torch import Tensor
from torch.nn.parameter import Buffer, Parameter, is_lazy

from hookcli.torch_private import (
    DispatchKey,
    DispatchKeySet,
    FakeTensor,
    disable_current_modes,
    get_tracing_state,
    is_functorch_wrapped_tensor,
    mkldnn,
)


def _everything_between() -> DispatchKeySet:
    """Return the dispatch keys between an operator and its kernel: autograd, autocast, modes, ….

    Excluding all of them at once costs half the time of no_grad alone.
    """
    keys = DispatchKeySet(DispatchKey.AutogradFunctionality)
    for name in (
        "AutogradOther", "AutogradNestedTensor", "ADInplaceOrView",
        "AutocastCPU", "AutocastCUDA", "AutocastMPS", "AutocastXPU", "AutocastHPU", "AutocastIPU",
        "AutocastPrivateUse1", "Python", "PythonTLSSnapshot", "PythonDispatcher", "PreDispatch",
        "Functionalize", "FuncTorchDynamicLayerFrontMode", "FuncTorchDynamicLayerBackMode",
        "FuncTorchGradWrapper", "FuncTorchVmapMode", "FuncTorchBatched",
        "FuncTorchBatchedDecomposition",
    ):  # fmt: skip
        keys = keys | DispatchKeySet(getattr(DispatchKey, name))
    return keys


aside = _everything_between()

# The last is in torch 2.7 and newer.
_FLOAT8_NAMES = (
    "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu",
)  # fmt: skip
FLOAT8 = frozenset(getattr(torch, name) for name in _FLOAT8_NAMES if hasattr(torch, name))

_READABLE = frozenset(
    {torch.float64, torch.float32, torch.float16, torch.bfloat16, *FLOAT8, torch.int64,
     torch.int32, torch.int16, torch.int8, torch.uint64, torch.uint32, torch.uint16, torch.uint8,
     torch.bool, torch.complex128, torch.complex64, torch.complex32}
)  # fmt: skip

# Dtypes for which `coalesce` has no kernel → wider dtypes for which it has one.
_UNSUMMED = {
    **dict.fromkeys(FLOAT8, torch.float32), torch.complex32: torch.complex64,
    torch.uint16: torch.int64, torch.uint32: torch.int64, torch.uint64: torch.int64,
}  # fmt: skip

_ORDINARY = frozenset({torch.Tensor, Parameter, Buffer})


class _Parts:
    """Whether a DTensor is read as the part of this rank, without communication."""

    only = False


_parts = _Parts()


def read_parts(*, only: bool) -> None:
    """Set whether of a DTensor only the part of this rank is read.

    The full tensor is a collective, which must not run at arbitrary places of a script.
    """
    _parts.only = only


def whole(tensor: Tensor) -> Tensor:
    """Return the tensor, or the full one of a DTensor. Must run before dispatch is bypassed."""
    module = sys.modules.get("torch.distributed.tensor")
    if module is None or not isinstance(tensor, module.DTensor):
        return tensor
    if _parts.only:
        part: Tensor = tensor._local_tensor
        return part
    with torch.no_grad(), disable_current_modes():
        full: Tensor = tensor.full_tensor()
    return full


def readable(tensor: Tensor) -> tuple[Tensor, int] | None:
    """Return a strided tensor of the values and the number of implicit zeros; None without values.

    The result has no lazy conj or neg bit, and shares the tensor's memory if possible.
    """
    if not _holds_values(tensor):
        return None
    if tensor.is_nested:
        return _joined(_components(tensor))
    if tensor.layout is torch.strided:
        values = _strided(tensor)
        return None if values is None else (values, 0)
    if tensor.layout is mkldnn:
        return tensor.to_dense(), 0
    values = _stored(tensor)
    return values, tensor.numel() - values.numel()


def dense(tensor: Tensor) -> Tensor | None:
    """Return all values as a strided tensor of the same shape (one dimension if nested)."""
    result = readable(tensor)
    if result is None or tensor.is_nested or tensor.layout is torch.strided:
        return None if result is None else result[0]
    return tensor.to_dense()


def _holds_values(tensor: Tensor) -> bool:
    if type(tensor) not in _ORDINARY and (isinstance(tensor, FakeTensor) or is_lazy(tensor)):
        return False
    return not (
        tensor.device.type == "meta"
        or (tensor.dtype not in _READABLE and not tensor.is_quantized)
        or is_functorch_wrapped_tensor(tensor)
        # a trace would record our operators as the model's
        or get_tracing_state() is not None
    )


def _strided(tensor: Tensor) -> Tensor | None:
    """Return the values without lazy conj or neg bit; None if the tensor has no memory."""
    if tensor.is_quantized:
        return tensor.dequantize()
    # wrapper subclasses and freed storages have no memory
    if tensor.data_ptr() == 0 and tensor.numel():
        return torch.zeros_like(tensor) if tensor._is_zerotensor() else None
    if tensor.is_neg():
        return tensor.resolve_neg()
    if tensor.is_conj():
        return tensor.resolve_conj()
    return tensor


def _components(tensor: Tensor) -> list[Tensor]:
    """Return the components of a nested tensor."""
    if tensor.layout is torch.strided:
        return list(tensor.unbind())
    # A jagged tensor is a Python class that needs dispatch, which is bypassed: read its fields.
    jagged: Any = tensor
    dim = jagged._ragged_idx - 1
    ends = jagged._offsets.tolist()
    if jagged._lengths is None:
        return [jagged._values.narrow(dim, ends[0], ends[-1] - ends[0])]
    return [
        jagged._values.narrow(dim, start, length)
        for start, length in zip(ends, jagged._lengths.tolist(), strict=False)
    ]


def _joined(components: list[Tensor]) -> tuple[Tensor, int] | None:
    results = [readable(component) for component in components]
    values = [values.reshape(-1) for values, _ in filter(None, results)]
    if len(values) < len(results):
        return None
    return values[0] if len(values) == 1 else torch.cat(values or [torch.empty(0)]), 0


def _stored(tensor: Tensor) -> Tensor:
    """Return the values that a sparse tensor stores, with duplicate indices summed."""
    if tensor.layout is not torch.sparse_coo:
        return tensor.values()
    if tensor.is_coalesced():
        return tensor._values()
    if tensor.dtype in _UNSUMMED:
        wide = tensor._values().to(_UNSUMMED[tensor.dtype])
        tensor = torch.sparse_coo_tensor(
            tensor._indices(), wide, tensor.shape, check_invariants=False
        )
    return tensor.coalesce()._values()
