"""The tensors of a value, as events and calls describe them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeAlias

import torch

from hookcli.models.nested import argument_leaves, dtype_name, leaves, shape_of
from hookcli.report.recording import LeafNote


def value_notes(value: Any) -> tuple[LeafNote, ...]:
    """Return (path, shape, dtype, via) of each tensor of a value."""
    kind = type(value)
    if kind in _PLAIN:
        return _alone(value, "")
    if kind is tuple and len(value) == 1 and type(value[0]) in _PLAIN:  # most arguments
        return _alone(value[0], "[0]")
    return leaf_notes(leaves(value))


def leaf_notes(tensors: Iterable[tuple[str, Any, bool]]) -> tuple[LeafNote, ...]:
    """Return (path, shape, dtype, via) of tensors, which `leaves` gives."""
    return tuple((path, shape_of(t), dtype_name(t.dtype), via) for path, t, via in tensors)


def argument_notes(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[LeafNote, ...]:
    """Return (path, shape, dtype, via) of each tensor among a call's arguments."""
    if len(args) == 1 and not kwargs and type(args[0]) in _PLAIN:
        return _alone(args[0], "[0]")
    return leaf_notes(argument_leaves(args, kwargs))


_PLAIN = {torch.Tensor, torch.nn.Parameter}  # tensors of other classes may have symbolic shapes
_MOST = 4096
_known: dict[tuple[str, torch.Size, torch.dtype], tuple[LeafNote]] = {}


def _alone(tensor: torch.Tensor, path: str) -> tuple[LeafNote, ...]:
    """Return the notes of one tensor, cached by path, shape and dtype: a run has few of them."""
    try:
        key = (path, tensor.shape, tensor.dtype)
    except RuntimeError:  # a nested tensor has no single shape
        return ((path, shape_of(tensor), dtype_name(tensor.dtype), False),)
    notes = _known.get(key)
    if notes is None:
        if len(_known) > _MOST:
            _known.clear()
        notes = _known[key] = ((path, shape_of(tensor), dtype_name(tensor.dtype), False),)
    return notes


PathTensors: TypeAlias = list[tuple[str, torch.Tensor]]


def tensors_by_path(value: Any) -> PathTensors:
    """Return the tensors of a value with their paths."""
    return [(path, tensor) for path, tensor, _ in leaves(value)]
