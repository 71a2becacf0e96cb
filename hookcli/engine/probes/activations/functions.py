"""The activation functions that are measured, and where their values are found.

A value is read from what an operator saved for its backward, or from the output of a module.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import log
from typing import Any, TypeAlias

import torch
from torch import Tensor

from hookcli.engine.probes.activations.reading import pieces, thin

Test: TypeAlias = Callable[[Tensor], Tensor]

# |slope| of these is less than 2**-23, the resolution of float32, at and below the input.
_NO_SLOPE = {"gelu": -6.0, "silu": -20.0, "mish": -20.0, "elu": -16.0, "softplus": -16.0}
_FLAT = 0.01  # of the greatest slope


@dataclass(frozen=True, slots=True)
class Gate:
    """A function that blocks the gradient of part of its inputs, as ReLU does.

    `low` marks the values at which its slope is zero because the input is low; `high` marks those
    that are as far on the other side.
    """

    name: str
    low: Test
    high: Test


@dataclass(frozen=True, slots=True)
class Squash:
    """A function with two flat ends. `flat` marks values with less than 1 % of its greatest slope.

    `stuck` marks those whose slope is zero in float32.
    """

    name: str
    flat: Test
    stuck: Test


@dataclass(frozen=True, slots=True)
class Softmax:
    """A softmax along a dimension."""

    name: str
    dim: int


Function: TypeAlias = Gate | Squash | Softmax


def _zero_is_low(name: str) -> Gate:
    """Return a function whose result is zero where it blocks."""
    return Gate(name, lambda y: y == 0, lambda y: y > 0)


def _below(name: str, low: float, high: float) -> Gate:
    """Return a function that blocks inputs up to `low`; `high` is as far on the other side."""
    return Gate(name, lambda x: x <= low, lambda x: x >= high)


def _smooth(name: str, scale: float = 1.0) -> Gate:
    limit = _NO_SLOPE[name] / scale
    return _below(name, limit, -limit)


def _elu(slope: float, scale: float) -> Gate:
    """Return ELU, whose slope below zero is slope * scale * exp(scale * x)."""
    limit = (_NO_SLOPE["elu"] - log(max(1.0, slope * scale))) / scale
    return _below("elu", limit, -limit)


RELU = _zero_is_low("relu")
# 4 y (1 - y) and 1 - y^2 are the slopes relative to the greatest.
SIGMOID = Squash(
    "sigmoid",
    lambda y: y * (1 - y) < _FLAT / 4,
    lambda y: (y == 1) | (y < 1e-10),  # the inputs 17 and -23
)
TANH = Squash("tanh", lambda y: y * y > 1 - _FLAT, lambda y: y.abs() >= 1 - 2**-24)


def _clipped(name: str, low: float, high: float) -> Squash:
    def ends(x: Tensor) -> Tensor:
        return (x <= low) | (x >= high)

    return Squash(name, ends, ends)


def _hardtanh(low: float, high: float) -> Function:
    if low == 0:
        return _below("relu6" if high == 6 else "hardtanh", 0.0, 0.0)
    return _clipped("hardtanh", low, high)


def _clamp(node: Any) -> Function | None:
    low, high = node._saved_min, node._saved_max
    return None if low != 0 or high is not None else _below("clamp", 0.0, 0.0)


# Autograd's nodes, by class → the function of a node, and the name of the value that it saved.
NODES: dict[str, tuple[Callable[[Any], Function | None], str]] = {
    "ReluBackward0": (lambda _: RELU, "result"),
    "ThresholdBackward0": (
        lambda node: _below("threshold", node._saved_threshold, node._saved_threshold), "self",
    ),
    "HardtanhBackward0": (
        lambda node: _hardtanh(node._saved_min_val, node._saved_max_val), "self",
    ),
    "ClampBackward1": (_clamp, "self"),
    "ClampMinBackward0": (
        lambda node: _below("clamp", 0.0, 0.0) if node._saved_min == 0 else None, "self",
    ),
    "HardswishBackward0": (lambda _: _below("hardswish", -3.0, 3.0), "self"),
    "GeluBackward0": (lambda _: _smooth("gelu"), "self"),
    "SiluBackward0": (lambda _: _smooth("silu"), "self"),
    "MishBackward0": (lambda _: _smooth("mish"), "self"),
    "EluBackward0": (
        lambda node: _elu(node._saved_alpha * node._saved_scale, node._saved_input_scale), "self",
    ),
    "CeluBackward0": (lambda node: _smooth("elu", 1 / node._saved_alpha), "self"),
    "SoftplusBackward0": (lambda node: _smooth("softplus", node._saved_beta), "self"),
    "SigmoidBackward0": (lambda _: SIGMOID, "result"),
    "TanhBackward0": (lambda _: TANH, "result"),
    "HardsigmoidBackward0": (lambda _: _clipped("hardsigmoid", -3.0, 3.0), "self"),
    "SoftmaxBackward0": (lambda node: Softmax("softmax", _signed(node._saved_dim)), "result"),
    "SafeSoftmaxBackward0": (lambda node: Softmax("softmax", _signed(node._saved_dim)), "result"),
}  # fmt: skip


def _signed(dim: int) -> int:
    """Return a dimension that torch saved as an unsigned integer."""
    return dim - (1 << 64) if dim >= 1 << 63 else dim


# Modules of torch.nn, by class → the function of their outputs.
MODULES: dict[str, Callable[[Any], Function | None]] = {
    "ReLU": lambda _: RELU,
    "ReLU6": lambda _: RELU,
    "Hardtanh": lambda m: RELU if m.min_val == 0 else _clipped("hardtanh", m.min_val, m.max_val),
    "Hardsigmoid": lambda _: _clipped("hardsigmoid", 0.0, 1.0),
    "Hardswish": lambda _: _zero_is_low("hardswish"),
    "Sigmoid": lambda _: SIGMOID,
    "Tanh": lambda _: TANH,
    "Softmax": lambda m: None if m.dim is None else Softmax("softmax", m.dim),
    "Softmax2d": lambda _: Softmax("softmax", -3),
}


# An activation is measured by a few of its values first, by all of them only if these look
# suspicious. Tensors must come from `readable`, with autograd, modes and dispatch aside.

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
