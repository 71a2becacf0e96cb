"""The types of a report's open values: statistics, and measurements by probe.

The JSON Schema leaves them open. The keys that hookcli reads are checked strictly here; other keys
are ignored.
"""

from __future__ import annotations

from functools import cache
from typing import Any, TypeAlias

from pydantic import TypeAdapter
from typing_extensions import NotRequired, TypedDict

from hookcli.report.values import Number

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

    numel: int | None
    zeros: int | None
    nans: int | None
    infs: int | None
    finite: Figures | None


class StepStatistics(TypedDict, total=False):
    """A parameter in one step."""

    grad: Statistics | None
    status: str | None


class TensorSketch(TypedDict):
    """A summary of a tensor in a few numbers."""

    digest: str
    norm: Number
    nonfinite: int
    projections: list[Number]


class CallSketch(TypedDict):
    """The tensors of one call."""

    order: int
    inputs: list[TensorSketch | None]
    outputs: list[TensorSketch | None]


class Misfit(TypedDict):
    """A weight with different shapes in A and B."""

    name: str
    a_shape: list[int | None]
    b_shape: list[int | None]


class TakenWeights(TypedDict):
    """The result of loading A's weights into B."""

    loaded: int
    differed: list[str]
    misfits: list[Misfit]
    only_a: list[str]
    only_b: list[str]


class CountedPasses(TypedDict):
    """The numbers of forwards and backwards, and the rules that required them."""

    mode: str
    forwards: int
    backwards: int
    rules: list[str]


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


class FailedMeasurement(TypedDict):
    """The error that prevented a measurement."""

    error: str
    place: NotRequired[str | None]


class NotMeasured(TypedDict):
    """The reason why nothing was measured."""

    why: str


class Samples(TypedDict):
    """How much the output of a sample changes with the other samples."""

    samples: int
    dim: int
    relative: Number
    dtype: str
    output: str
    sample: int


class Repeated(TypedDict):
    """The differences between two runs with the same seed."""

    compared: int
    differ: list[str]
    largest: Number


_REPEATED: Any = NotMeasured | FailedMeasurement | Repeated
_COUNT: Any = int | None
_SKETCH: Any = TensorSketch | None
_PROBES: dict[str, Any] = {
    "sketch": CallSketch,
    "sketch_parameter": _SKETCH,
    "sketch_buffer": _SKETCH,
    "sketch_gradient": _SKETCH,
    "weights": TakenWeights | None,
    "passes": CountedPasses,
    "values_read": int,
    "samples": NotMeasured | FailedMeasurement | Samples,
    "repeat_eval": _REPEATED,
    "repeat_train": _REPEATED,
    "backward_flops_total": _COUNT,
    "saved_for_backward": _COUNT,
    "training_memory_estimate": _COUNT,
}
_OF_TENSORS = {"parameter", "buffer", "parameter_gradient", "updated"}


@cache
def _adapter(kind: Any) -> TypeAdapter[Any]:
    return TypeAdapter(kind)


def check_statistics(value: Any) -> None:
    """Check the statistics of a tensor.

    Raises
    ------
    pydantic.ValidationError : hookcli does not write such statistics.
    """
    _adapter(Statistics).validate_python(value, strict=True)


def check_step(value: Any) -> None:
    """Check the figures of a parameter in a step; raises as above."""
    _adapter(StepStatistics).validate_python(value, strict=True)


def check_measured(probe: str, target: str, value: Any) -> None:
    """Check the value of a measurement if its probe is known; raises as above."""
    kind = _PROBES.get(probe)
    if probe == "step":
        kind = bool if target else FailedMeasurement
    elif probe == "non_finite":
        at = value.get("at") if isinstance(value, dict) else None
        plain = at in _OF_TENSORS if isinstance(at, str) else True
        kind = NonFinite if plain else NonFiniteGradient if at == "gradient" else NonFiniteCall
    if kind is not None:
        _adapter(kind).validate_python(value, strict=True)
