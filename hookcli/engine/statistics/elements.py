"""Computes the moments of a strided tensor, in the fastest way for its size and device.

Modes, autograd and autocast must be off (`statistics` does that).
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from hookcli.engine.statistics.chunks import DEVICE_SIZE, chunks
from hookcli.engine.statistics.cpu import on_cpu
from hookcli.engine.statistics.moments import Elements, Moments, of_list

_TINY = 128  # elements up to which Python's arithmetic is faster than eight operators
_EXACT = 1 << 53  # float64 rounds integers from here on


def of_tensor(view: Tensor) -> Elements:
    """Return the moments of any number of elements; complex elements count as their moduli."""
    if view.numel() <= _TINY:
        values = view.reshape(-1).tolist()
        if view.is_complex():
            values = [math.hypot(z.real, z.imag) for z in values]
        elif view.dtype is torch.bool:
            values = [int(value) for value in values]
        return of_list(values)
    if view.device.type == "cpu":
        elements = on_cpu(view)
    else:
        try:
            elements = on_device(view)
        except (RuntimeError, TypeError):  # a device without float64, or without an operator
            elements = on_cpu(view.cpu())
    finite = elements.finite
    if not (view.is_floating_point() or view.is_complex()):
        finite.low, finite.high = int(finite.low), int(finite.high)
        if max(-finite.low, finite.high) >= _EXACT:
            finite.low, finite.high = _exact_ends(view)
    return elements


def _exact_ends(view: Tensor) -> tuple[int, int]:
    """Return the exact least and greatest of 64-bit integers; this is slow."""
    if view.dtype is torch.uint64:  # torch cannot compare them, so both halves become int64
        signed = view.contiguous().view(torch.int64)
        halves = [
            (half, lift)
            for half, lift in ((signed[signed >= 0], 0), (signed[signed < 0], 1 << 64))
            if half.numel()
        ]
        ends = [int(end) + lift for half, lift in halves for end in torch.aminmax(half)]
        return min(ends), max(ends)
    low, high = torch.aminmax(view)
    return int(low), int(high)


def on_device(view: Tensor) -> Elements:
    """Return the moments with operators that do not wait for the device, and one transfer."""
    inf = math.inf
    rows = []
    for chunk in chunks(view, DEVICE_SIZE):
        values = chunk.to(torch.complex128).abs() if chunk.is_complex() else chunk.double()
        good = values.isfinite()
        count = good.sum()
        low, high = values.where(good, inf).amin(), values.where(good, -inf).amax()
        unit = torch.maximum(-low, high).clamp(min=torch.finfo(torch.float64).tiny)
        clean = values.where(good, 0.0)
        mean = (clean / count).sum()
        norm = (clean / unit).square().sum().sqrt() * unit
        spread = ((values - mean) / unit).where(good, 0.0).square().sum().sqrt() * unit
        counts = [count, (values == 0).sum(), low, high, norm, mean, spread]
        counts += [values.isnan().sum(), (values == inf).sum(), (values == -inf).sum()]
        rows.append(torch.stack([figure.double() for figure in counts]))
    elements = Elements(Moments())
    for row in torch.stack(rows).tolist():
        elements.finite.merge(Moments(int(row[0]), int(row[1]), *row[2:7]))
        elements.nans += int(row[7])
        elements.above += int(row[8])
        elements.below += int(row[9])
    return elements
