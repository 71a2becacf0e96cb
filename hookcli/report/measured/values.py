"""The types of what was found in the values of a run."""

from __future__ import annotations

from typing import Any

from typing_extensions import TypedDict

from hookcli.report.values import Index, Size


class NonFinite(TypedDict):
    """Non-finite elements of a parameter or buffer."""

    at: str
    nans: Size
    infs: Size
    minus_infs: Size
    numel: Size
    order: Index | None
    step: Index


class NonFiniteCall(NonFinite):
    """Non-finite elements of an input or output of a call."""

    path: str
    type: str


class NonFiniteGradient(NonFiniteCall):
    """Non-finite elements of the gradient of an output, and the calls that used the output."""

    taken_by: list[Index]


class ActivationsRead(TypedDict):
    """How many activations, outputs and masks were read."""

    dead_units: Size
    saturated_values: Size
    one_hot_rows: Size
    constant_output: Size
    masked_rows: Size


_OF_TENSORS = {"parameter", "buffer", "parameter_gradient", "updated"}
COUNT = Size


def non_finite(_target: str, value: Any) -> Any:
    """Return the type of a place with non-finite elements: a tensor, a call, or a gradient."""
    at = value.get("at") if isinstance(value, dict) else None
    if not isinstance(at, str) or at in _OF_TENSORS:
        return NonFinite
    return NonFiniteGradient if at == "gradient" else NonFiniteCall
