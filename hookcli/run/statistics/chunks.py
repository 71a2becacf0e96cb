"""Reading a tensor's elements in pieces that fit in a cache, without a copy of the whole."""

from __future__ import annotations

import math
from collections.abc import Iterator

import torch
from torch import Tensor

SIZE = 1 << 19
"""Elements per piece: large enough that few parallel operators start (each costs microseconds,
and a time slice where another process has the core), small enough for the cache. Counts in
float32 are exact up to 1 << 24."""

DEVICE_SIZE = 1 << 24
"""The same for an accelerator, which has no such cache, and where every piece is a wait."""


def compact(tensor: Tensor) -> tuple[Tensor, int]:
    """A view of a strided tensor's distinct elements in memory order, and how often each stands.

    One dimension wherever the elements lie side by side, in whatever order the dimensions are
    (transposed, channels_last); dimensions of stride 0 are left out and counted instead.
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
    """Views of at most `size` elements that together are the tensor, of one dimension or more."""
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
    """The elements in `dtype`, piece by piece: one-dimensional, and the caller's to write.

    The next piece may overwrite the one before. Complex elements are read as their moduli, which
    needs float64.
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
    if chunk.dtype is not torch.complex128:  # float64 holds the squares: no need of hypot
        moduli, imaginary = chunk.real.double(), chunk.imag.double()
        moduli.mul_(moduli).addcmul_(imaginary, imaginary).sqrt_()
        if math.isfinite(moduli.sum().item()):
            return moduli.reshape(-1)
    # which knows that an infinite part makes an infinite modulus, also beside NaN
    return chunk.to(torch.complex128).abs().reshape(-1)
