"""Passes the batch of one model to another, whose forward has other names for the same inputs."""

from __future__ import annotations

from dataclasses import replace
from inspect import Parameter
from typing import Any

from torch import nn

from hookcli.models.batch import Batch, forward_signature

_BY_PLACE = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)


def adapted_batch(root: nn.Module, batch: Batch) -> tuple[Batch, list[str]] | None:
    """Return a batch that binds to the forward of `root`, and the names of inputs it lacks.

    Inputs of equal names stay. What forward requires beyond them is taken from the others, in their
    order. None if there are too few.
    """
    signature = forward_signature(root)
    if signature is None:
        return None
    parameters = [p for p in signature.parameters.values() if p.kind in _BY_PLACE]
    known = {p.name for p in parameters}
    known |= {p.name for p in signature.parameters.values() if p.kind is Parameter.KEYWORD_ONLY}
    named = {name: value for name, value in batch.kwargs.items() if name in known}
    others: list[tuple[str, Any]] = [(f"input {i}", value) for i, value in enumerate(batch.args)]
    others += [(name, value) for name, value in batch.kwargs.items() if name not in known]
    wanted = [p for p in parameters if p.default is Parameter.empty and p.name not in named]
    if len(wanted) > len(others):
        return None
    for parameter, (_, value) in zip(wanted, others, strict=False):
        named[parameter.name] = value
    first = [p.name for p in parameters if p.kind is Parameter.POSITIONAL_ONLY]
    args = tuple(named.pop(name) for name in first if name in named)
    dropped = [name for name, _ in others[len(wanted) :]]
    return replace(batch, args=args, kwargs=named), dropped
