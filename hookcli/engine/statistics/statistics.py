"""Statistics of a tensor's values: fast, as exact as float32, and without side effects.

Nothing is recorded, written or kept. Autograd, modes, autocast and function transforms are disabled
while the values are read, so this works anywhere in a model's run.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import torch

from hookcli.engine.statistics.chunks import chunks, compact, pieces
from hookcli.engine.statistics.cpu import quick_norm, quick_norm_of_sum, sum_of_squares
from hookcli.engine.statistics.elements import of_tensor
from hookcli.engine.statistics.moments import Elements, Moments
from hookcli.engine.statistics.readable import aside, dense, readable, whole
from hookcli.torch_private import (
    DisableTorchFunction,
    ExcludeDispatchKeyGuard,
    disable_current_modes,
)

_FIGURES = ("norm", "mean", "std", "min", "max", "abs_max")


def statistics(tensor: torch.Tensor) -> dict[str, Any] | None:
    """Return the statistics of a tensor's values; None if it has no readable values.

    Returns
    -------
    dict
        `numel`; `norm` (the 2-norm), `mean`, `std` (unbiased), `min`, `max`, `abs_max`; and the
        counts `zeros`, `nans`, `infs`. With NaN or inf the six statistics follow IEEE, and
        `finite` has them for the finite elements (each None if there are none). `std` is None
        for fewer than two elements. Without elements `norm` is 0.0 and the others are None.

        `min`, `max` and `abs_max` of integers and booleans are `int`. For a complex tensor the
        moduli are used: `mean`, `std`, `min` and `max` are None, and an element is NaN or
        infinite if its modulus is. Quantized values are dequantized. A sparse tensor includes its
        implicit zeros, with duplicates summed. A nested tensor has the elements of all components.

    Without readable values are: meta and fake tensors, tensors of a function transform or of a
    trace, lazy parameters, freed storages, subclasses that wrap other tensors, and dtypes that
    torch cannot convert. A DTensor is read, but its `full_tensor` is a collective, so every rank
    must call this.
    """
    tensor = whole(tensor)
    with DisableTorchFunction(), ExcludeDispatchKeyGuard(aside):
        result = readable(tensor)
        if result is None:
            return None
        values, implied = result
        return _row(_elements(values, implied), moduli=values.is_complex())


def norm_of(tensor: torch.Tensor) -> dict[str, Any] | None:
    """Return the same dict with only `norm`, about three times as fast; the others are None.

    If an element is NaN or infinite, all statistics are computed.
    """
    tensor = whole(tensor)
    with DisableTorchFunction(), ExcludeDispatchKeyGuard(aside):
        result = readable(tensor)
        if result is None:
            return None
        values, implied = result
        view, times = compact(values)
        norm = quick_norm(view)
        if norm is None:
            row = _row(_elements(values, implied), moduli=values.is_complex())
            if row["nans"] or row["infs"]:
                return row
            norm = row["norm"]
        else:
            norm *= math.sqrt(times)
        return {**_NORM_ALONE, "numel": values.numel() + implied, "norm": norm}


def norm_of_sum(tensor: torch.Tensor, other: torch.Tensor) -> dict[str, Any] | None:
    """Return `norm_of` the sum of two tensors of one shape, without a copy if strides are equal."""
    with DisableTorchFunction(), ExcludeDispatchKeyGuard(aside):
        plain = (
            type(tensor) is type(other) is torch.Tensor
            and tensor.layout is other.layout is torch.strided
        )
        results = (readable(tensor), readable(other)) if plain else (None, None)
        if results[0] and results[1] and results[0][0].stride() == results[1][0].stride():
            (a, times), (b, _) = compact(results[0][0]), compact(results[1][0])
            norm = quick_norm_of_sum(a, b)
            if norm is not None:
                return {**_NORM_ALONE, "numel": tensor.numel(), "norm": norm * math.sqrt(times)}
    with DisableTorchFunction(), torch.no_grad(), disable_current_modes():
        total = tensor + other
    return norm_of(total)


_NORM_ALONE = {
    "numel": 0, **dict.fromkeys(_FIGURES), "zeros": None, "nans": 0, "infs": 0
}  # fmt: skip


def _elements(values: torch.Tensor, implied: int) -> Elements:
    """Return the moments of a strided tensor with this number of implicit zeros."""
    view, times = compact(values)
    elements = of_tensor(view) if view.numel() else Elements(Moments())
    if times > 1:
        elements.repeat(times)
    if implied:
        zero = 0.0 if values.is_floating_point() or values.is_complex() else 0
        elements.finite.merge(Moments(implied, implied, zero, zero))
    return elements


def _row(elements: Elements, *, moduli: bool) -> dict[str, Any]:
    finite = elements.finite
    infs = elements.above + elements.below
    others = elements.nans + infs
    figures = _ieee(elements) if others else _figures(finite)
    row = {"numel": finite.count + others, **figures, "zeros": finite.zeros}
    row |= {"nans": elements.nans, "infs": infs}
    if others:
        row["finite"] = _figures(finite) if finite.count else dict.fromkeys(_FIGURES)
    if moduli:
        for part in (row, row.get("finite", {})):
            part.update(dict.fromkeys(("mean", "std", "min", "max")))
    return row


def _figures(m: Moments) -> dict[str, Any]:
    if not m.count:
        return {**dict.fromkeys(_FIGURES), "norm": 0.0}
    return {
        "norm": m.norm,
        "mean": m.mean,
        "std": m.spread / math.sqrt(m.count - 1) if m.count > 1 else None,
        "min": m.low,
        "max": m.high,
        "abs_max": max(abs(m.low), abs(m.high)),
    }


def _ieee(elements: Elements) -> dict[str, Any]:
    """Return the IEEE statistics of elements of which some are not finite."""
    nan, inf, m = math.nan, math.inf, elements.finite
    std = nan if m.count + elements.nans + elements.above + elements.below > 1 else None
    if elements.nans:
        return {**dict.fromkeys(_FIGURES, nan), "std": std}
    return {
        "norm": inf,
        "mean": nan if elements.above and elements.below else inf if elements.above else -inf,
        "std": std,
        "min": -inf if elements.below else m.low,  # +inf if no element is finite
        "max": inf if elements.above else m.high,
        "abs_max": inf,
    }


def norm_of_change(before: torch.Tensor, after: torch.Tensor) -> float | None:
    """Return the 2-norm of `after - before`, in float64, by pieces; NaN and inf follow IEEE.

    The result is None if the shapes differ or a tensor has no readable values. Dtypes, strides,
    layouts and devices may differ. Sparse tensors are made dense first.
    """
    before, after = whole(before), whole(after)
    with DisableTorchFunction(), ExcludeDispatchKeyGuard(aside):
        old, new = dense(before), dense(after)
        if old is None or new is None or old.shape != new.shape:
            return None
        if not new.numel():
            return 0.0
        if old.stride() == new.stride():
            (old, _), (new, times) = compact(old), compact(new)
            return _distance(old, new) * math.sqrt(times)
        return _distance(old, new)


def _length(piece: torch.Tensor) -> float:
    norm = math.sqrt(sum_of_squares(piece))
    if 1e-140 < norm < 1e140:
        return norm
    low, high = (end.item() for end in torch.aminmax(piece))  # the squares may leave the range
    unit = max(-low, high)
    if low != low or not 0 < unit < math.inf:
        return norm
    return math.sqrt(sum_of_squares(piece.div_(unit))) * unit


def _distance(old: torch.Tensor, new: torch.Tensor) -> float:
    if old.device != new.device or old.device.type == "mps":  # mps has no float64
        old, new = old.cpu(), new.cpu()
    distance = 0.0
    for piece in _differences(old, new):
        norm = _length(piece)
        if norm != norm:
            return norm
        distance = math.hypot(distance, norm)
    return distance


def _differences(old: torch.Tensor, new: torch.Tensor) -> Iterator[torch.Tensor]:
    """Yield `new - old` in one-dimensional pieces of float64."""
    if old.is_complex() or new.is_complex():
        wide = torch.complex128
        for a, b in zip(chunks(old), chunks(new), strict=True):
            yield torch.view_as_real(b.to(wide) - a.to(wide)).reshape(-1)
        return
    for a, b in zip(pieces(old, torch.float64), pieces(new, torch.float64), strict=True):
        yield b.sub_(a)
