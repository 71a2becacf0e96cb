"""Loads A's weights into B through a map: transposed, split, joined and reshaped."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import nn

from hookcli.models.nested import shape_of
from hookcli.refusals import raise_if_external
from hookcli.spec.request import MadeTensor, WeightPart


def load_mapped_weights(
    root: nn.Module, theirs: Mapping[str, Any], made: Sequence[MadeTensor]
) -> dict[str, Any]:
    """Write what the map makes of A's tensors into the parameters and buffers of B.

    The result has the keys of `load_matching_weights`.
    """
    own: dict[str, torch.Tensor] = dict(root.named_parameters(remove_duplicate=False))
    own.update(root.named_buffers(remove_duplicate=False))
    misfits: list[dict[str, Any]] = []
    differed: list[str] = []
    dtypes: set[str] = set()
    loaded = 0
    for row in made:
        current = own.get(row.target)
        if current is None:
            continue
        value = _made(row, theirs, current)
        if value is None:
            first = theirs.get(row.parts[0].name)
            shape = list(shape_of(first)) if isinstance(first, torch.Tensor) else []
            shapes = {"a_shape": shape, "b_shape": list(shape_of(current))}
            misfits.append({"name": row.target, **shapes})
            continue
        loaded += 1
        dtypes.add(str(value.dtype).removeprefix("torch."))
        with torch.no_grad():
            if not torch.equal(current, value):
                differed.append(row.target)
                current.copy_(value)
    targets = {row.target for row in made}
    used = {part.name for row in made for part in row.parts}
    return {
        "loaded": loaded,
        "differed": differed,
        "misfits": misfits,
        "only_a": [name for name in theirs if name not in used],
        "only_b": [name for name in root.state_dict() if name not in targets],
        "dtypes": sorted(dtypes),
    }


def _made(row: MadeTensor, theirs: Mapping[str, Any], current: torch.Tensor) -> torch.Tensor | None:
    """Return the tensor that the map makes, in the shape and dtype of B's; None if it misfits."""
    try:
        parts = [_part(part, theirs[part.name]) for part in row.parts]
        value = parts[0] if len(parts) == 1 else torch.cat(parts)
        if row.turned and value.dim() >= 2:
            value = value.transpose(0, 1)
        if value.numel() != current.numel():
            return None
        return value.reshape(current.shape).to(current.dtype)
    except (KeyError, RuntimeError, TypeError, IndexError) as error:
        raise_if_external(error)
        return None


def _part(part: WeightPart, tensor: torch.Tensor) -> torch.Tensor:
    if part.turned and tensor.dim() >= 2:
        tensor = tensor.transpose(0, 1)
    if part.rows is not None:
        start, stop = part.rows
        if not 0 <= start < stop <= tensor.shape[0]:
            raise IndexError(part.name)
        tensor = tensor[start:stop]
    return tensor
