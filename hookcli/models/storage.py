"""The memory behind a tensor, which several tensors may share."""

from __future__ import annotations

from typing import Any

import torch


def storage_of(tensor: torch.Tensor) -> Any:
    """A tensor's storage; None where it has none that tells (sparse, nested, uninitialised)."""
    try:
        storage = tensor.untyped_storage()
        storage.nbytes()
    except (NotImplementedError, RuntimeError, ValueError):
        return None
    return storage
