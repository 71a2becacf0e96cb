"""What a model holds, as plain data: modules, distinct parameters, distinct buffers."""

from __future__ import annotations

import torch
from torch.nn.parameter import is_lazy

from hookcli.models.base import Model
from hookcli.models.trees import dtype_name, shape_of
from hookcli.report.recording import BufferInfo, ParameterInfo, Recording

Versions = dict[str, tuple[int, int | None]]


def _version(tensor: torch.Tensor) -> int | None:
    try:
        return tensor._version  # counts in-place writes
    except RuntimeError:  # inference tensors keep no count
        return None


def buffer_versions(model: Model) -> Versions:
    """Identity and write count of each buffer, to tell later which were written."""
    return {b.name: (id(b.tensor), _version(b.tensor)) for b in model.buffers()}


def take_inventory(model: Model, recording: Recording, before: Versions) -> None:
    """Fill in the recording's modules, parameters and buffers as they are after the run."""
    recording.modules = model.modules()
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


def _changed(before: tuple[int, int | None] | None, tensor: torch.Tensor) -> bool | None:
    if before is None:
        return True
    version = _version(tensor)
    if before[0] != id(tensor):
        return True
    return None if version is None or before[1] is None else version != before[1]


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
