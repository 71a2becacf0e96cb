"""The types of a report's open values: statistics, and measurements by probe.

The JSON Schema leaves them open. The keys that hookcli reads are checked strictly here; other keys
are ignored.
"""

from __future__ import annotations

from functools import cache
from typing import Any, Literal, TypeAlias

from pydantic import TypeAdapter
from typing_extensions import NotRequired, TypedDict

from hookcli.report.measured.training import (
    BY_PARAMETER,
    TRAINING,
    FailedMeasurement,
    NotMeasured,
)
from hookcli.report.values import Count, Dimension, Index, Number, Size

_Figure: TypeAlias = Number | None


class Figures(TypedDict, total=False):
    """Figures of a tensor's elements."""

    norm: _Figure
    mean: _Figure
    std: _Figure
    min: _Figure
    max: _Figure
    abs_max: _Figure


class Statistics(Figures, total=False):
    """The result of `stats`; `finite` contains the figures of the finite elements."""

    numel: Size | None
    zeros: Size | None
    nans: Size | None
    infs: Size | None
    finite: Figures | None


class StepStatistics(TypedDict, total=False):
    """A parameter in one step; steps count from 0."""

    step: Index
    grad: Statistics | None
    status: str | None


class OperatorInput(TypedDict, total=False):
    """An input of the operator that made the first value that is not finite."""

    name: str | None
    dtype: str | None
    shape: list[Size | None] | None
    min: _Figure
    max: _Figure
    nans: Size | None
    infs: Size | None


class TensorSketch(TypedDict):
    """A summary of a tensor in a few numbers."""

    digest: str
    norm: Number
    nonfinite: Size
    projections: list[Number]


class CallSketch(TypedDict):
    """The tensors of one call."""

    order: Index
    inputs: list[TensorSketch | None]
    outputs: list[TensorSketch | None]


class Misfit(TypedDict):
    """A weight with different shapes in A and B."""

    name: str
    a_shape: list[Size | None]
    b_shape: list[Size | None]


class TakenWeights(TypedDict):
    """The result of loading A's weights into B."""

    loaded: Count
    differed: list[str]
    misfits: list[Misfit]
    only_a: list[str]
    only_b: list[str]


class CountedPasses(TypedDict):
    """The numbers of forwards and backwards, and the rules that required them."""

    mode: str
    forwards: Count
    backwards: Count
    rules: list[str]


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


class Samples(TypedDict):
    """How much the output of a sample changes with the other samples."""

    samples: Size
    dim: Dimension
    relative: Number
    dtype: str
    output: str
    sample: Index


class Repeated(TypedDict):
    """The differences between two runs with the same seed."""

    compared: Count
    differ: list[str]
    largest: Number


class ActivationsRead(TypedDict):
    """How many activations, outputs and masks were read."""

    dead_units: Size
    saturated_values: Size
    one_hot_rows: Size
    constant_output: Size
    masked_rows: Size


class GradientCut(TypedDict):
    """An operator at which the path of a gradient ends; `behind` are the parts in front of it."""

    kind: Literal["detach", "no_grad", "integer", "operator", "function", "number"]
    operator: str
    layer: str | None
    module: str
    place: str | None
    behind: list[str]


class CutCount(TypedDict):
    """The number of cuts, or of parameters that got no gradient or only zeros."""

    count: Count


class LostPath(TypedDict):
    """Why parameters got no gradient: `cut_off` are the parts of the model that contain them."""

    why: str
    parameters: Count
    cut_off: list[str]


class LostAtOutput(LostPath):
    """The parameters are behind an output that the loss does not use."""

    output: str


class LostAtLayer(LostPath):
    """The parameters are behind the output of a call that nothing uses."""

    layer: str | None
    module: str
    place: str | None


class LostAtOperator(LostAtLayer):
    """An operator is the reason; `copy_of` names the original if the parts are copies."""

    kind: Literal["detach", "no_grad", "integer", "operator", "function", "number"]
    operator: str
    copy_of: NotRequired[str]


_REPEATED: Any = NotMeasured | FailedMeasurement | Repeated
_COUNT: Any = Size | None
_SKETCH: Any = TensorSketch | None
_PROBES: dict[str, Any] = {
    "sketch": CallSketch,
    "sketch_parameter": _SKETCH,
    "sketch_buffer": _SKETCH,
    "sketch_gradient": _SKETCH,
    "weights": TakenWeights | None,
    "passes": CountedPasses,
    "values_read": Size,
    "activations_read": ActivationsRead,
    "samples": NotMeasured | FailedMeasurement | Samples,
    "repeat_eval": _REPEATED,
    "repeat_train": _REPEATED,
    "cuts": NotMeasured | FailedMeasurement | CutCount | GradientCut,
    "connected": bool,
    **TRAINING,
    "backward_flops": _COUNT,
    "backward_flops_total": _COUNT,
    "saved_for_backward": _COUNT,
    "training_memory_estimate": _COUNT,
}
# What the row of a part without a gradient contains, by the reason.
_LOST: dict[Any, Any] = {
    "unused": LostPath,
    "unknown": LostPath,
    "other_output": LostAtOutput,
    "unused_output": LostAtLayer,
}
_OF_TENSORS = {"parameter", "buffer", "parameter_gradient", "updated"}


@cache
def _adapter(kind: Any) -> TypeAdapter[Any]:
    return TypeAdapter(kind)


def check_statistics(*values: Any) -> None:
    """Check the statistics of tensors.

    Raises
    ------
    pydantic.ValidationError : hookcli does not write such statistics.
    """
    _check_each(Statistics, values)


def check_step(*values: Any) -> None:
    """Check the figures of parameters in a step; raises as above."""
    _check_each(StepStatistics, values)


def check_input(*values: Any) -> None:
    """Check the inputs of an operator; raises as above."""
    _check_each(OperatorInput, values)


def _check_each(kind: Any, values: tuple[Any, ...]) -> None:
    if len(values) == 1:  # the path of the error then begins in the value
        _adapter(kind).validate_python(values[0], strict=True)
    elif values:
        _adapter(tuple[kind, ...]).validate_python(values, strict=True)


def check_measured(probe: str, target: str, value: Any) -> None:
    """Check the value of a measurement if its probe is known; raises as above."""
    kind = _PROBES.get(probe)
    if probe == "step":
        kind = bool if target else FailedMeasurement
    elif probe in BY_PARAMETER:
        kind = BY_PARAMETER[probe][0 if target else 1]
    elif probe == "non_finite":
        at = value.get("at") if isinstance(value, dict) else None
        plain = at in _OF_TENSORS if isinstance(at, str) else True
        kind = NonFinite if plain else NonFiniteGradient if at == "gradient" else NonFiniteCall
    elif probe == "unreached":
        lost = isinstance(value, dict) and "cut_off" in value
        why = value.get("why") if lost and isinstance(value.get("why"), str) else None
        kind = NotMeasured | FailedMeasurement | CutCount
        kind = _LOST.get(why, LostAtOperator) if lost else kind
    if kind is not None:
        _adapter(kind).validate_python(value, strict=True)
