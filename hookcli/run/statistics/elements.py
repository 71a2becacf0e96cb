"""What the elements of a strided tensor come to, by whichever way suits their number and place.

Modes, autograd and autocast must be off (`statistics` sees to that).
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from hookcli.run.statistics.chunks import DEVICE_SIZE, chunks
from hookcli.run.statistics.cpu import on_cpu
from hookcli.run.statistics.moments import Elements, Moments, of_list

_TINY = 128  # up to here a list and Python's arithmetic are faster than eight operators
_EXACT = 1 << 53  # beyond, float64 rounds integers


def of_tensor(view: Tensor) -> Elements:
    """Of any number of elements; those of a complex tensor count as their moduli."""
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
    """Of 64-bit integers, at whatever cost."""
    if view.dtype is torch.uint64:  # no operator compares them: halves that int64 holds do
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
    """The same by operators that never wait for the device, and one transfer at the end."""
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
