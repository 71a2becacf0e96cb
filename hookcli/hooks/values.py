"""The tensors of a value: as an event shows them, and to compare with later."""

from __future__ import annotations

from typing import Any

import torch
from torch.utils._python_dispatch import _disable_current_modes

from hookcli.models.trees import dtype_name, leaves, shape_of
from hookcli.report.recording import LeafNote


def value_notes(value: Any) -> list[LeafNote]:
    """The tensors of a value as an event shows them."""
    if isinstance(value, torch.Tensor):
        return [("", shape_of(value), dtype_name(value.dtype), False)]
    if type(value) is tuple and len(value) == 1 and isinstance(value[0], torch.Tensor):
        return [("[0]", shape_of(value[0]), dtype_name(value[0].dtype), False)]  # most arguments
    return [(path, shape_of(t), dtype_name(t.dtype), via) for path, t, via in leaves(value)]


def tensors_in(value: Any) -> list[torch.Tensor]:
    """The tensors of a value."""
    return [tensor for _, tensor, _ in leaves(value)]


def copies_of(value: Any) -> list[torch.Tensor]:
    """Copies of them, made unseen by autograd and by modes."""
    with torch.no_grad(), _disable_current_modes():
        return [tensor.detach().clone() for tensor in tensors_in(value)]
