"""How an observer reads tensors: a few values that are cheap to read, or pieces that cover all."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress

import torch
from torch import Tensor

from hookcli.engine.statistics.readable import aside
from hookcli.torch_private import DisableTorchFunction, ExcludeDispatchKeyGuard

_PIECE = 1 << 20  # elements that are compared at a time


def thin(values: Tensor, most: int, *keep: int) -> Tensor:
    """Return a view with about `most` evenly spaced positions; `keep` are dimensions kept whole.

    Small dimensions are kept whole first, so that the batch is represented.
    """
    kept = {dim % values.dim() for dim in keep}
    index = [slice(None)] * values.dim()
    others = sorted(set(range(values.dim())) - kept, key=lambda dim: values.shape[dim])
    for i, dim in enumerate(others):
        size = values.shape[dim]
        count = min(size, max(1, round(most ** (1 / (len(others) - i)))))
        most = max(1, most // count)
        step = size // count
        if step > 1:
            start = step // 2
            index[dim] = slice(start, start + (count - 1) * step + 1, step)
    return values[tuple(index)]


def distinct(values: Tensor) -> Tensor:
    """Return the values without the repetitions of expanded dimensions, which may have any size."""
    if 0 not in values.stride():
        return values
    once = (slice(0, 1) if stride == 0 else slice(None) for stride in values.stride())
    return values[tuple(once)]


def pieces(values: Tensor) -> Iterator[Tensor]:
    """Yield views along dimension 0 that cover the tensor, so that masks of them are small."""
    inner = max(1, values[0].numel())
    yield from torch.split(values, max(1, _PIECE // inner))


# Nothing of the model's sees the operators of an observer that reads.

_UNREADABLE = (RuntimeError, NotImplementedError, TypeError, IndexError)  # a device or a subclass


@contextmanager
def reading() -> Iterator[None]:
    """Read values here; the block ends without an error where a tensor cannot be read."""
    with suppress(*_UNREADABLE), DisableTorchFunction(), ExcludeDispatchKeyGuard(aside):
        yield
