"""Splits what a loader or a function gives into the arguments of forward and the target."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import nn

from hookcli.inputs.loaders import FirstBatch
from hookcli.models.batch import Batch, LossTarget, as_batch, forward_signature, misfit
from hookcli.text import nearest

TARGET_KEYS = ("target", "targets", "label", "labels", "y")  # of a batch that is a mapping


@dataclass(frozen=True, slots=True)
class Positions:
    """How many arguments forward takes by position: the least and the most. `names` are theirs."""

    least: int
    most: int
    names: tuple[str, ...]


def split_batch(root: nn.Module, first: FirstBatch) -> Batch:
    """Return the batch of a value that a function or a loader gave.

    A mapping goes by keyword if forward has parameters of these names, else it is one argument. Of
    a tuple or list, the last item is the target if forward does not take as many arguments.
    """
    value = first.value
    if isinstance(value, Batch):
        return value
    positions = _positions(root)
    if isinstance(value, Mapping) and all(isinstance(key, str) for key in value):
        return replace(_of_mapping(root, value, positions), whole=value)
    sequence = isinstance(value, tuple) and not hasattr(value, "_fields")
    if (
        positions is not None
        and len_of(value) > 1
        and (sequence or (isinstance(value, list) and (first.loaded or _is_pair(value))))
    ):
        batch = _of_sequence(root, list(value), positions, loaded=first.loaded)
        if batch is not None:
            return replace(batch, whole=value)
    if first.loaded and isinstance(value, list | tuple) and len(value) == 1:
        return replace(as_batch(tuple(value)), whole=value)  # as of a TensorDataset of one tensor
    return replace(as_batch(value), whole=value)


def len_of(value: Any) -> int:
    """Return the length of a tuple or list, 0 for anything else."""
    return len(value) if isinstance(value, list | tuple) else 0


def _positions(root: nn.Module) -> Positions | None:
    signature = forward_signature(root)
    if signature is None:
        return None
    plain = [
        p
        for p in signature.parameters.values()
        if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
    ]
    least = sum(p.default is inspect.Parameter.empty for p in plain)
    rest = any(p.kind is p.VAR_POSITIONAL for p in signature.parameters.values())
    return Positions(least, 1000 if rest else len(plain), tuple(p.name for p in plain))


def _of_mapping(root: nn.Module, value: Mapping[str, Any], positions: Positions | None) -> Batch:
    named = Batch((), dict(value))
    if misfit(root, named) is None:
        return named
    key = next((key for key in TARGET_KEYS if key in value), None)
    if key is not None:
        rest = Batch(
            (), {k: v for k, v in value.items() if k != key}, LossTarget(value[key], "batch")
        )
        if misfit(root, rest) is None:
            return rest
    whole = Batch((value,), {}, None if key is None else LossTarget(value[key], "batch"))
    takes_one = positions is not None and positions.least == 1
    if takes_one and positions is not None and nearest(positions.names[0], value) is None:
        return whole
    return named  # the error names the keys


def _of_sequence(
    root: nn.Module, items: list[Any], positions: Positions, *, loaded: bool
) -> Batch | None:
    """Return the batch of several items; None if forward takes neither all nor all but the last."""
    *inputs, last = items
    target = LossTarget(last, "batch")
    if len(items) == 2 and (batch := _of_group(root, inputs[0], positions, target)) is not None:
        return batch
    whole = Batch(tuple(items))
    all_fit = misfit(root, whole) is None
    if all_fit and len(items) > positions.least and loaded:
        optional = positions.names[len(items) - 1 : len(items)]
        if optional and optional[0] in TARGET_KEYS:
            return replace(whole, target=target)
        all_fit = positions.least > len(inputs)
    if all_fit:
        return whole
    rest = Batch(tuple(inputs), {}, target)
    return rest if misfit(root, rest) is None else None


def _of_group(
    root: nn.Module, inputs: Any, positions: Positions, target: LossTarget
) -> Batch | None:
    """Return the batch of (inputs, target) if the inputs are themselves several arguments."""
    if isinstance(inputs, Mapping) and all(isinstance(key, str) for key in inputs):
        batch = Batch((), dict(inputs), target)
        return batch if inputs and misfit(root, batch) is None else None
    if isinstance(inputs, list | tuple) and len(inputs) == positions.least > 1:
        return Batch(tuple(inputs), {}, target)
    return None


def _is_pair(items: list[Any]) -> bool:
    """Return whether a list that a function returned is (inputs, target), and not one argument.

    Its two tensors have the same first size, and another dtype or number of dimensions.
    """
    if len(items) != 2 or not all(isinstance(item, torch.Tensor) and item.dim() for item in items):
        return False
    a, b = items
    return bool(a.shape[0] == b.shape[0] and (a.dtype != b.dtype or a.dim() != b.dim()))
