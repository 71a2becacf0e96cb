"""Counts of a tensor's values in bins of equal width."""

from __future__ import annotations

import math
from typing import Any

import torch

from hookcli.engine.statistics.chunks import compact, pieces
from hookcli.engine.statistics.readable import aside, readable, whole
from hookcli.engine.statistics.statistics import statistics
from hookcli.torch_private import DisableTorchFunction, ExcludeDispatchKeyGuard

BINS = 32


def with_histogram(tensor: torch.Tensor) -> dict[str, Any] | None:
    """Return the statistics of a tensor's values, with `histogram`; None without readable values.

    `histogram` has `low` and `high`, the smallest and the largest finite element, and `counts`, how
    many finite elements are in each of BINS bins of equal width between them. A bin includes its
    lower end, and the last one also its upper end. If all elements are equal, they are in the first
    bin. It is None without finite elements, and for complex tensors.
    """
    row = statistics(tensor)
    if row is None:
        return None
    finite = row.get("finite") or row
    low, high = finite.get("min"), finite.get("max")
    if low is None or high is None or not math.isfinite(float(high) - float(low)):
        return {**row, "histogram": None}
    counts = _counts(whole(tensor), float(low), float(high))
    return {**row, "histogram": {"low": low, "high": high, "counts": counts}}


def _counts(tensor: torch.Tensor, low: float, high: float) -> list[int]:
    with DisableTorchFunction(), ExcludeDispatchKeyGuard(aside):
        result = readable(tensor)
        if result is None:  # another thread may have freed the storage
            return [0] * BINS
        values, implied = result
        view, times = compact(values)
        dtype = torch.float32 if values.device.type == "mps" else torch.float64
        counts = torch.zeros(BINS, dtype=torch.int64)
        scale = BINS / (high - low) if high > low else 0.0
        for piece in pieces(view, dtype):
            places = piece.sub_(low).mul_(scale)
            places = places[torch.isfinite(places)].floor_().clamp_(0, BINS - 1).long()
            counts += torch.bincount(places, minlength=BINS).cpu()
        total = [int(count) * times for count in counts.tolist()]
    if implied:
        total[min(int((0.0 - low) * scale), BINS - 1)] += implied
    return total
