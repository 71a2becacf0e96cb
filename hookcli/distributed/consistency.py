"""Checks that all ranks built the same model, before torch waits for data that never arrives."""

from __future__ import annotations

import torch
from torch.nn.parameter import is_lazy

from hookcli.distributed.group import Group
from hookcli.errors import ModelError
from hookcli.models.model import Model

_Row = tuple[str, str, bool]


def _rows(model: Model) -> list[_Row]:
    """Return the name, the shape and dtype, and requires_grad of each parameter."""
    return [(info.name, _form(info.tensor), info.tensor.requires_grad)
            for info in model.parameters()]  # fmt: skip


def _form(tensor: torch.Tensor) -> str:
    """Return shape and dtype as a string; a lazy parameter has no shape yet."""
    shape = "uninitialized" if is_lazy(tensor) else str(list(tensor.shape))
    return f"{shape} {str(tensor.dtype).removeprefix('torch.')}"


def _difference(first: list[_Row], other: list[_Row], rank: int) -> str:
    """Return the first difference between a rank and rank 0, as a sentence."""
    for ours, theirs in zip(first, other, strict=False):
        if ours[0] != theirs[0]:
            return f"rank {rank} has {theirs[0]}, but rank 0 has {ours[0]}"
        if ours[1] != theirs[1]:
            return f"{ours[0]} is {theirs[1]} on rank {rank}, but {ours[1]} on rank 0"
        if ours[2] != theirs[2]:
            word = "trainable" if theirs[2] else "frozen"
            return f"{ours[0]} is {word} on rank {rank}, but not on rank 0"
    return f"rank {rank} has {len(other)} parameters, but rank 0 has {len(first)}"


def check_alike(model: Model, group: Group, place: str) -> None:
    """Check that every rank has the same parameters.

    Raises
    ------
    ModelError : the parameters of two ranks differ. All ranks raise the same error.
    """
    rows_by_rank = group.gather(_rows(model))
    for rank, rows in enumerate(rows_by_rank):
        if rows != rows_by_rank[0]:
            raise ModelError(
                f"the ranks built different models: {_difference(rows_by_rank[0], rows, rank)}",
                place=place,
                hint="check whether the model's code reads RANK or draws a random size",
            )
