"""What forward is called with, and whether its signature takes it."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from torch import nn

from hookcli.models.nested import map_tensors
from hookcli.models.scripted import is_scripted, scripted_signature


@dataclass(frozen=True, slots=True)
class Batch:
    """Positional and keyword arguments of forward."""

    args: tuple[Any, ...] = ()
    kwargs: dict[str, Any] = field(default_factory=dict)


def as_batch(value: Any) -> Batch:
    """A tuple is positional arguments, a mapping keyword ones, anything else one argument.

    A mapping with a key that is no string, and a named tuple, are one argument.
    """
    if isinstance(value, Batch):
        return value
    if isinstance(value, tuple) and not hasattr(value, "_fields"):
        return Batch(value)
    if isinstance(value, Mapping) and all(isinstance(key, str) for key in value):
        return Batch((), dict(value))
    return Batch((value,))


def forward_signature(model: nn.Module) -> inspect.Signature | None:
    """The signature of the model's forward, where Python knows it."""
    if is_scripted(model):
        return scripted_signature(model)
    try:
        return inspect.signature(model.forward)
    except (TypeError, ValueError):
        return None


def misfit(model: nn.Module, batch: Batch, *, partly: bool = False) -> str | None:
    """Why the batch does not bind to forward's signature, or None where it does.

    With `partly` it may leave out what is required.
    """
    signature = forward_signature(model)
    changed = bool(model._forward_pre_hooks) or type(model).__call__ is not nn.Module.__call__
    if signature is None or changed:  # its own hooks or call may add arguments
        return None
    try:
        (signature.bind_partial if partly else signature.bind)(*batch.args, **batch.kwargs)
    except TypeError as error:
        return str(error)
    return None


def map_batch(batch: Batch, change: Any) -> Batch:
    """The batch with every tensor changed."""
    args: tuple[Any, ...] = map_tensors(batch.args, change)
    kwargs: dict[str, Any] = map_tensors(batch.kwargs, change)
    return Batch(args, kwargs)
