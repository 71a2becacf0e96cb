"""The arguments of forward and the target of the loss, and whether forward accepts them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import nn

from hookcli.models.nested import map_tensors
from hookcli.models.scripted import is_scripted, scripted_signature
from hookcli.report.report import TargetOrigin


@dataclass(frozen=True, slots=True)
class LossTarget:
    """The target of the loss: given by the user, or the second part of the batch."""

    value: Any
    origin: TargetOrigin


@dataclass(frozen=True, slots=True)
class Batch:
    """Positional and keyword arguments of forward, and the target of the loss if there is one.

    `whole` is the batch as a loader gave it; None if it was not given as a whole.
    """

    args: tuple[Any, ...] = ()
    kwargs: dict[str, Any] = field(default_factory=dict)
    target: LossTarget | None = None
    whole: Any = None

    def as_loaded(self) -> Any:
        """Return the batch as a DataLoader gives it: the inputs, or (inputs, target)."""
        if self.whole is not None:
            return self.whole
        inputs: Any = dict(self.kwargs) if self.kwargs and not self.args else self.args
        if isinstance(inputs, tuple) and len(inputs) == 1 and not self.kwargs:
            inputs = inputs[0]
        elif self.args and self.kwargs:
            inputs = (*self.args, dict(self.kwargs))
        return inputs if self.target is None else (inputs, self.target.value)


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


def map_batch(batch: Batch, change: Callable[[torch.Tensor], torch.Tensor]) -> Batch:
    """Return the batch with every tensor changed, each distinct tensor once."""
    known: dict[int, torch.Tensor] = {}

    def changed(tensor: torch.Tensor) -> torch.Tensor:
        if id(tensor) not in known:
            known[id(tensor)] = change(tensor)
        return known[id(tensor)]

    def mapped(value: Any) -> Any:
        return map_tensors(value, changed)

    target = None
    if batch.target is not None:
        target = LossTarget(mapped(batch.target.value), batch.target.origin)
    return Batch(mapped(batch.args), mapped(batch.kwargs), target, mapped(batch.whole))
