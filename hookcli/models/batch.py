"""The arguments of forward, and whether its signature accepts them."""

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
    """Return a batch: a tuple gives positional arguments, a mapping keyword arguments.

    Anything else is one argument, also a named tuple and a mapping with a key that is not a string.
    """
    if isinstance(value, Batch):
        return value
    if isinstance(value, tuple) and not hasattr(value, "_fields"):
        return Batch(value)
    if isinstance(value, Mapping) and all(isinstance(key, str) for key in value):
        return Batch((), dict(value))
    return Batch((value,))


def forward_signature(model: nn.Module) -> inspect.Signature | None:
    """Return the signature of the model's forward, or None if Python does not know it."""
    if is_scripted(model):
        return scripted_signature(model)
    try:
        return inspect.signature(model.forward)
    except (TypeError, ValueError):
        return None


def misfit(model: nn.Module, batch: Batch, *, partly: bool = False) -> str | None:
    """Return why the batch does not bind to forward's signature, or None if it does.

    With `partly`, required arguments may be missing.
    """
    signature = forward_signature(model)
    changed = bool(model._forward_pre_hooks) or type(model).__call__ is not nn.Module.__call__
    if signature is None or changed:  # the model's own hooks or `__call__` may add arguments
        return None
    try:
        (signature.bind_partial if partly else signature.bind)(*batch.args, **batch.kwargs)
    except TypeError as error:
        return str(error)
    return None


def map_batch(batch: Batch, change: Any) -> Batch:
    """Return the batch with every tensor changed."""
    args: tuple[Any, ...] = map_tensors(batch.args, change)
    kwargs: dict[str, Any] = map_tensors(batch.kwargs, change)
    return Batch(args, kwargs)
