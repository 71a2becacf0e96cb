"""Measures one activation: a few of its values first, all of them only if these look suspicious.

Tensors must come from `readable`, with autograd, modes and dispatch aside.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from hookcli.engine.probes.activations.functions import Gate, Softmax, Squash
from hookcli.engine.probes.activations.samples import pieces, thin

# What a few values must exceed before all are read: below the defaults of the rules.
_DEAD, _SATURATED, _ONE_HOT = 0.4, 0.35, 0.7
_PER_UNIT, _UNITS, _VALUES, _ROWS = 16, 64, 1024, 32
_SHARP = 0.9975  # 4 p (1 - p) < 1 %, the relative slope of a softmax at its largest entry


def dead_units(values: Tensor, gate: Gate, dim: int, *, exact: bool) -> dict[str, Any] | None:
    """Return how many units block the gradient for the whole batch; None if a few values show few.

    A unit is an index of `dim`. `dead` units are low at every position and `on` ones high; `zero`
    is the share of low values of the units that are not dead, and `values` their number per unit.
    """
    dim %= values.dim()
    units = values.shape[dim]
    per_unit = values.numel() // max(1, units)
    if not values.numel():
        return None
    others = [i for i in range(values.dim()) if i != dim]
    if not exact:
        # Few units first: reading a value here and there costs a miss of the cache for each.
        some = values.transpose(0, dim)[:: -(-units // _UNITS)].transpose(0, dim)
        for part, count in ((some, _PER_UNIT // 2), (values, _PER_UNIT)):
            few = gate.low(thin(part, count, dim))
            if int(few.all(others).sum()) <= _DEAD * part.shape[dim]:
                return None
    low, high = torch.zeros(2, units, dtype=torch.int64, device=values.device)
    for piece in pieces(values) if dim else (values,):
        low += gate.low(piece).sum(others)
        high += gate.high(piece).sum(others)
    dead = int((low == per_unit).sum())
    alive = units - dead
    lows = int(low.sum()) - dead * per_unit
    return {
        "units": units,
        "dead": dead,
        "on": int((high == per_unit).sum()),
        "values": per_unit,
        "zero": lows / (alive * per_unit) if alive else None,
    }


def saturated(values: Tensor, squash: Squash, *, exact: bool) -> dict[str, Any] | None:
    """Return the number of values on a flat end; None if a few values show few."""
    if not values.numel():
        return None
    if not exact:
        few = squash.flat(thin(values, _VALUES))
        if int(few.sum()) <= _SATURATED * few.numel():
            return None
    flat = stuck = 0
    for piece in pieces(values) if values.dim() else (values,):
        flat += int(squash.flat(piece).sum())
        stuck += int(squash.stuck(piece).sum())
    return {"values": values.numel(), "flat": flat, "stuck": stuck}


def one_hot(values: Tensor, softmax: Softmax, *, exact: bool) -> dict[str, Any] | None:
    """Return the number of rows in which one entry has all the weight; None if few rows show few.

    A row is along the softmax's dimension. Rows of one entry are not counted.
    """
    if values.dim() == 0 or not values.numel():
        return None
    if values.shape[softmax.dim] == 1:
        return {"values": values.numel(), "flat": 0, "length": 1}
    if not exact:
        few = thin(values, _ROWS, softmax.dim).amax(softmax.dim)
        if int((few > _SHARP).sum()) <= _ONE_HOT * few.numel():
            return None
    most = values.amax(softmax.dim)
    sharp = int((most > _SHARP).sum())
    return {"values": most.numel(), "flat": sharp, "length": values.shape[softmax.dim]}
