"""The activation functions that are measured, and where their values are found.

A value is read from what an operator saved for its backward, or from the output of a module.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import log
from typing import Any, TypeAlias

from torch import Tensor

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
