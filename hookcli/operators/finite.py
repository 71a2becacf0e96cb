"""Counts the values of a tensor that are not finite, and its range."""

from __future__ import annotations

import math
from typing import Any

import torch

from hookcli.models.bits import once
from hookcli.models.nested import dtype_name, shape_of
from hookcli.refusals import raise_if_external

_CHUNK = 1 << 24  # elements that are counted at a time


def is_finite(tensor: torch.Tensor) -> bool:
    """Whether the sum is finite: one pass, no copy. It is False too if the sum overflows."""
    return bool(torch.isfinite(tensor.sum()))


def count(tensor: torch.Tensor) -> dict[str, int]:
    """Return the counts of NaN, inf and -inf. A complex number counts as its worst part."""
    counts = {"nans": 0, "infs": 0, "minus_infs": 0, "numel": tensor.numel()}
    for piece in torch.split(tensor.reshape(-1), _CHUNK):
        if piece.is_complex():
            nans = torch.isnan(piece)
            counts["infs"] += int((torch.isinf(piece) & ~nans).sum())
        else:
            nans = torch.isnan(piece)
            counts["infs"] += int(torch.isposinf(piece).sum())
            counts["minus_infs"] += int(torch.isneginf(piece).sum())
        counts["nans"] += int(nans.sum())
    return counts


def figures(tensor: torch.Tensor) -> dict[str, int] | None:
    """Return the counts of a floating-point tensor; None if it has no non-finite values."""
    plain = tensor.detach()
    if plain.layout is not torch.strided:
        plain = plain.coalesce().values() if plain.layout is torch.sparse_coo else plain.values()
    whole, plain = plain.numel(), once(plain)
    if plain.dtype.itemsize == 1:
        plain = plain.float()  # float8 has no sum
    if is_finite(plain):
        return None
    times = whole // max(1, plain.numel())
    counts = {name: times * number for name, number in count(plain).items()}
    return counts if counts["nans"] or counts["infs"] or counts["minus_infs"] else None


def is_readable(value: object) -> bool:
    """Whether a value is a tensor whose floating-point or complex values can be read."""
    if not isinstance(value, torch.Tensor) or value.is_meta:
        return False
    return value.is_floating_point() or value.is_complex()


def counts_of(tensor: torch.Tensor) -> dict[str, int] | None:
    """Return `figures` of a tensor; None too if it has no values that can be read."""
    if not is_readable(tensor):
        return None
    try:
        return figures(tensor)
    except (RuntimeError, NotImplementedError) as error:  # an unsupported layout or device
        raise_if_external(error)
        return None


def described(name: str, value: Any) -> dict[str, Any]:
    """Return a tensor or a number as data: dtype, shape, range of the finite values, counts."""
    if not isinstance(value, torch.Tensor):
        return {"name": name, "value": value if math.isfinite(value) else str(value)}
    row: dict[str, Any] = {
        "name": name,
        "dtype": dtype_name(value.dtype),
        "shape": list(shape_of(value)),
        "min": None,
        "max": None,
    }
    if value.is_meta or value.layout is not torch.strided or value.is_quantized:
        return {**row, "finite": None}
    counts = counts_of(value)
    low, high = finite_range(value)
    return {**row, "min": low, "max": high, "finite": counts is None, **_only(counts)}


def _only(counts: dict[str, int] | None) -> dict[str, int]:
    return {} if counts is None else {k: n for k, n in counts.items() if k != "numel" and n}


def finite_range(tensor: torch.Tensor) -> tuple[float | None, float | None]:
    """Return the least and the greatest finite value; None if there is none or it is complex."""
    if tensor.is_complex() or tensor.dtype is torch.bool or not tensor.numel():
        return None, None
    plain = once(tensor.detach())
    if plain.dtype.itemsize == 1 and plain.is_floating_point():
        plain = plain.float()
    if plain.is_floating_point():
        plain = plain[torch.isfinite(plain)]
        if not plain.numel():
            return None, None
    return plain.min().item(), plain.max().item()


def first_place(tensor: torch.Tensor) -> str:
    """Return where the values that are not finite are, such as " in 1 of 192 values, at [8, 3]"."""
    if tensor.layout is not torch.strided or not tensor.dim() or tensor.is_quantized:
        return ""
    places = (~torch.isfinite(tensor.detach())).nonzero()
    if not len(places):
        return ""
    first = ", the first" if len(places) > 1 else ""
    return f" in {len(places):,} of {tensor.numel():,} values{first} at {places[0].tolist()}"
