"""The memory behind a tensor, which several tensors may share."""

from __future__ import annotations

from typing import Any

import torch


def sized_storage(tensor: torch.Tensor) -> tuple[Any, int] | None:
    """A tensor's storage and its bytes; None where it has none that tells.

    So have sparse, nested and uninitialised ones.
    """
    try:
        storage = tensor.untyped_storage()
        return storage, storage.nbytes()
    except (NotImplementedError, RuntimeError, ValueError):
        return None


def storage_of(tensor: torch.Tensor) -> Any:
    """A tensor's storage; None as above."""
    sized = sized_storage(tensor)
    return None if sized is None else sized[0]


def once(tensor: torch.Tensor, like: torch.Tensor | None = None) -> torch.Tensor:
    """A view without the repetitions of an expanded tensor (those of `like`)."""
    if tensor.layout is not torch.strided or tensor.is_nested:
        return tensor
    strides = (tensor if like is None else like).stride()
    for dim, (size, stride) in enumerate(zip(tensor.shape, strides, strict=True)):
        if stride == 0 and size > 1:
            tensor = tensor.narrow(dim, 0, 1)
    return tensor
