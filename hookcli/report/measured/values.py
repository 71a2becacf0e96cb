"""The types of what was found in the values of a run."""

from __future__ import annotations

from typing import Any

from typing_extensions import TypedDict


class NonFinite(TypedDict):
    """Non-finite elements of a parameter or buffer."""

    at: str
    nans: int
    infs: int
    minus_infs: int
    numel: int
    order: int | None
    step: int


class NonFiniteCall(NonFinite):
    """Non-finite elements of an input or output of a call."""

    path: str
    type: str


class NonFiniteGradient(NonFiniteCall):
    """Non-finite elements of the gradient of an output, and the calls that used the output."""

    taken_by: list[int]


class ActivationsRead(TypedDict):
    """How many activations, outputs and masks were read."""

    dead_units: int
    saturated_values: int
    one_hot_rows: int
    constant_output: int
    masked_rows: int


_OF_TENSORS = {"parameter", "buffer", "parameter_gradient", "updated"}
COUNT = int


def non_finite(_target: str, value: Any) -> Any:
    """Return the type of a place with non-finite elements: a tensor, a call, or a gradient."""
    at = value.get("at") if isinstance(value, dict) else None
    if not isinstance(at, str) or at in _OF_TENSORS:
        return NonFinite
    return NonFiniteGradient if at == "gradient" else NonFiniteCall
