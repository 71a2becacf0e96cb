"""The contents of a model as plain data: modules, distinct parameters, distinct buffers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import torch
from torch.nn.parameter import is_lazy

from hookcli.models.bits import same_bits
from hookcli.models.converted.quantized import quantized_types
from hookcli.models.model import Model
from hookcli.models.nested import dtype_name, shape_of
from hookcli.report.recording import BufferInfo, ParameterInfo, Recording
from hookcli.torch_private import FakeTensor


@dataclass(frozen=True, slots=True)
class _Before:
    tensor: torch.Tensor
    version: int | None
    copy: torch.Tensor | None  # None for a fake tensor, which has no values


Before: TypeAlias = dict[str, _Before]


def _version(tensor: torch.Tensor) -> int | None:
    return None if tensor.is_inference() else tensor._version  # counts most in-place writes


def note_buffers(model: Model, *, copies: bool = True) -> Before:
    """Return the state of each buffer, to find later which changed; without copies by versions."""
    return {
        b.name: _Before(
            b.tensor,
            _version(b.tensor),
            b.tensor.detach().clone() if copies and not isinstance(b.tensor, FakeTensor) else None,
        )
        for b in model.buffers()
        if not is_lazy(b.tensor)
    }


def _changed(before: _Before | None, tensor: torch.Tensor) -> bool | None:
    """Whether a buffer changed; None for a buffer without a copy whose version is the same.

    torch's batch norm writes its statistics without increasing the version.
    """
    if before is None or before.tensor is not tensor:
        return True
    if before.copy is not None:
        return not same_bits(tensor, before.copy)
    return True if _version(tensor) != before.version else None


def take_inventory(model: Model, recording: Recording, before: Before) -> None:
    """Fill in the recording's modules, parameters and buffers, after the run."""
    recording.modules = model.modules()
    if quantized_types(model.root):
        recording.warnings.append("parameters packed inside quantized modules are not counted")
    recording.parameters = tuple(
        _parameter(p.tensor, p.name, p.aliases, p.module_type) for p in model.parameters()
    )
    recording.buffers = tuple(
        BufferInfo(
            name=b.name,
            shape=shape_of(b.tensor),
            dtype=dtype_name(b.tensor.dtype),
            numel=b.tensor.numel(),
            nbytes=b.tensor.numel() * b.tensor.element_size(),
            changed=_changed(before.get(b.name), b.tensor),
        )
        for b in model.buffers()
        if not is_lazy(b.tensor)
    )


def _parameter(
    tensor: torch.Tensor, name: str, aliases: tuple[str, ...], module_type: str
) -> ParameterInfo:
    lazy = is_lazy(tensor)
    return ParameterInfo(
        key=id(tensor),
        name=name,
        aliases=aliases,
        module_type=module_type,
        shape=() if lazy else shape_of(tensor),
        dtype=dtype_name(tensor.dtype),
        numel=None if lazy else tensor.numel(),
        nbytes=None if lazy else tensor.numel() * tensor.element_size(),
        requires_grad=tensor.requires_grad,
    )
