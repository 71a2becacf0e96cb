"""The tensors of a value: as an event shows them, and to compare with later."""

from __future__ import annotations

from typing import Any

import torch

from hookcli.models.nested import argument_leaves, dtype_name, leaves, shape_of
from hookcli.report.recording import LeafNote


def value_notes(value: Any) -> tuple[LeafNote, ...]:
    """The tensors of a value as an event shows them."""
    kind = type(value)
    if kind in _PLAIN:
        return _alone(value, "")
    if kind is tuple and len(value) == 1 and type(value[0]) in _PLAIN:  # most arguments
        return _alone(value[0], "[0]")
    return tuple((path, shape_of(t), dtype_name(t.dtype), via) for path, t, via in leaves(value))


def argument_notes(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[LeafNote, ...]:
    """The tensors of a call's arguments in the same way."""
    if len(args) == 1 and not kwargs and type(args[0]) in _PLAIN:
        return _alone(args[0], "[0]")
    tensors = argument_leaves(args, kwargs)
    return tuple((path, shape_of(t), dtype_name(t.dtype), via) for path, t, via in tensors)


_PLAIN = {torch.Tensor, torch.nn.Parameter}  # of other classes a shape may be symbolic
_MOST = 4096
_known: dict[tuple[str, torch.Size, torch.dtype], tuple[LeafNote]] = {}


def _alone(tensor: torch.Tensor, path: str) -> tuple[LeafNote, ...]:
    """One tensor, as one object for all of its shape and dtype: a run has few of them."""
    try:
        key = (path, tensor.shape, tensor.dtype)
    except RuntimeError:  # nested: without one shape
        return ((path, shape_of(tensor), dtype_name(tensor.dtype), False),)
    notes = _known.get(key)
    if notes is None:
        if len(_known) > _MOST:
            _known.clear()
        notes = _known[key] = ((path, shape_of(tensor), dtype_name(tensor.dtype), False),)
    return notes


def tensors_in(value: Any) -> list[torch.Tensor]:
    """The tensors of a value."""
    return [tensor for _, tensor, _ in leaves(value)]
