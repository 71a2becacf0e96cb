"""Reads a tensor's elements in pieces that fit in the CPU cache, without copying the whole."""

from __future__ import annotations

import math
from collections.abc import Iterator

import torch
from torch import Tensor

SIZE = 1 << 19
"""Elements per piece: large enough for few parallel operators (each costs microseconds, and a time
slice if another process has the core), small enough for the cache. Counts in float32 are exact up
to 1 << 24."""

DEVICE_SIZE = 1 << 24
"""The same for an accelerator, which has no such cache, and must be waited for at every piece."""


def compact(tensor: Tensor) -> tuple[Tensor, int]:
    """Return a view of a strided tensor's distinct elements in memory order, and their repetition.

    The view has one dimension if the elements are contiguous in memory in any order of dimensions
    (transposed, channels_last). Dimensions with stride 0 are removed and counted as repetition.
    """
    if tensor.is_contiguous():
        return tensor.view(-1), 1
    repeats = 1
    sizes: list[int] = []
    strides: list[int] = []
    for stride, size in sorted(zip(tensor.stride(), tensor.shape, strict=True), reverse=True):
        if size == 1:
            continue
        if stride == 0:
            repeats *= size
        elif strides and strides[-1] == stride * size:
            sizes[-1] *= size
            strides[-1] = stride
        else:
            sizes.append(size)
            strides.append(stride)
    if not sizes:
        sizes, strides = [1], [1]
    return tensor.as_strided(sizes, strides, tensor.storage_offset()), repeats


def chunks(tensor: Tensor, size: int = SIZE) -> Iterator[Tensor]:
    """Yield views of at most `size` elements each that cover the tensor."""
    if tensor.numel() <= size:
        yield tensor
        return
    inner = tensor[0].numel() if tensor.dim() > 1 else 1
    if inner <= size:
        yield from torch.split(tensor, size // inner)
    else:
        for row in tensor.unbind(0):
            yield from chunks(row, size)


def pieces(tensor: Tensor, dtype: torch.dtype) -> Iterator[Tensor]:
    """Yield the elements in `dtype` in one-dimensional pieces that the caller may write to.

    A piece may overwrite the previous one. Complex elements are read as their moduli, which needs
    float64.
    """
    buffer: Tensor | None = None
    for chunk in chunks(tensor, SIZE if tensor.device.type == "cpu" else DEVICE_SIZE):
        count = chunk.numel()
        if chunk.is_complex():
            yield _moduli(chunk)
            continue
        if buffer is None or buffer.numel() < count:
            buffer = torch.empty(count, dtype=dtype, device=tensor.device)
        piece = buffer if buffer.numel() == count else buffer.narrow(0, 0, count)
        (piece if chunk.dim() == 1 else piece.view(chunk.shape)).copy_(chunk)
        yield piece


def _moduli(chunk: Tensor) -> Tensor:
    if chunk.dtype is not torch.complex128:  # float64 can represent the squares without hypot
        moduli, imaginary = chunk.real.double(), chunk.imag.double()
        moduli.mul_(moduli).addcmul_(imaginary, imaginary).sqrt_()
        if math.isfinite(moduli.sum().item()):
            return moduli.reshape(-1)
    # abs() returns inf if a part is infinite, even if the other is NaN
    return chunk.to(torch.complex128).abs().reshape(-1)
