"""The types of what further runs of a model measure."""

from __future__ import annotations

from typing import Any, Literal

from typing_extensions import NotRequired, TypedDict

from hookcli.report.values import Count, Dimension, Index, Number, Real, Size


class FailedMeasurement(TypedDict):
    """The error that prevented a measurement."""

    error: str
    place: NotRequired[str | None]


class NotMeasured(TypedDict):
    """The reason why nothing was measured."""

    why: str


class CountedPasses(TypedDict):
    """The numbers of forwards and backwards, and the rules that required them."""

    mode: str
    forwards: Count
    backwards: Count
    rules: list[str]


class Mixing(TypedDict):
    """What makes samples depend on each other: a function, and the module that it runs in.

    `kind` is "mixes" if it computes with several samples, along the dimension `dim` of its input;
    "sample" if it selects one sample for all; "places" if a view puts samples into wrong places;
    "place" if it adds the same `tensor` of the model to the same place of each batch. `meant`: it
    is a batch norm that was constructed without running statistics.
    """

    kind: Literal["mixes", "sample", "places", "place"]
    function: str
    name: str | None
    module: str | None
    dim: Dimension | None
    shape: list[Size] | None
    time_first: bool
    meant: NotRequired[bool]
    place: str | None
    tensor: NotRequired[str | None]


class PerSample(TypedDict):
    """The gradient norm of each sample of a batch, and its loss if that is known.

    `loss` and `grad_norm` are those of the batch. `reduction` tells how the losses make its loss.
    `dominant` are the fewest samples without which the gradient norm is less than half, and the
    next ones as long as each halves it again, and has a quarter of the largest norm: it is
    `without` then. [] if that takes more than a tenth of the samples.
    """

    dim: Dimension
    loss: Number
    grad_norm: Number
    norms: list[Number]
    losses: list[Number] | None
    reduction: Literal["mean", "sum"] | None
    dominant: list[Index]
    without: Number | None


class Samples(TypedDict):
    """How much the output of a sample changes with the other samples."""

    samples: Size
    dim: Dimension
    relative: Number
    dtype: str
    output: str
    sample: Index
    mixing: NotRequired[Mixing]


class OneSample(TypedDict):
    """The only sample that the outputs depend on."""

    samples: Size
    dim: Dimension
    only: Index
    output: str


class LostSamples(TypedDict):
    """The shape of an output whose rows do not count the samples."""

    why: str
    lost: list[Size]
    output: str
    samples: Size


class PlacedOutput(TypedDict):
    """An output that differs between copies of one sample, by their places in the batch."""

    samples: Size
    dim: Dimension
    placed: bool
    output: str
    mixing: NotRequired[Mixing]


class Repeated(TypedDict):
    """The differences between two runs with the same seed."""

    compared: Count
    differ: list[str]
    largest: Number


class ModuleSettings(TypedDict):
    """The type of a module, and the plain values of its attributes: numbers, strings and lists.

    `place` is the line that constructed it.
    """

    type: str
    settings: dict[str, Any]
    place: NotRequired[str | None]


class DiscardedResultRow(TypedDict):
    """A function whose result is lost, and the line; `variable` is what nothing reads."""

    call: str
    place: str | None
    variable: NotRequired[str | None]


class ModuleBackwardRow(TypedDict):
    """The class of a module with a backward of its own."""

    module: str
    place: str | None


class UnreadInputRow(TypedDict):
    """An argument of forward that its code does not read."""

    argument: str
    place: str | None


# "class" is the one whose constructor it is.
UnreadSettingRow = TypedDict(
    "UnreadSettingRow",
    {"class": str, "argument": str, "is_stored": bool, "place": str | None},
)


class OtherRoutes(TypedDict):
    """The modules that run with other random numbers or inputs, and those beside them."""

    modules: list[str]


class RepeatedModuleRow(TypedDict):
    """How many of a list's entries are one module, and the line that multiplies."""

    entries: Count
    of: NotRequired[Count]
    separate: NotRequired[str]  # a part that each entry has for itself, if one part is shared
    place: str | None


BatchPositionsRow = TypedDict(
    "BatchPositionsRow",
    {"attribute": str, "class": str, "place": str | None, "batch_first": list[str]},
)


class LogVarianceRow(TypedDict):
    """The exponential of a log variance that code takes for a standard deviation."""

    what: str
    place: str | None


class LastStepsRow(TypedDict):
    """The recurrent layer whose last step a line reads, and the samples that end with padding."""

    layer: str
    place: str | None
    what: str
    padded: Count
    samples: Count
    share: Real


class CallState(TypedDict):
    """What changes the next call: an attribute or a `buffer`. `resets`: a method may reset it."""

    resets: bool
    buffer: NotRequired[bool]


class ChangedInput(TypedDict):
    """An input that a forward wrote to; `first`: it is the first one of the batch."""

    first: bool
    shape: list[Size]
    place: str | None


class CausalCodeRow(TypedDict):
    """What hides later positions, and the line."""

    what: str
    place: str | None


class SqueezeRow(TypedDict):
    """A line that calls `squeeze` without a dimension."""

    place: str | None


class CodeMistakeRow(TypedDict):
    """A mistake that code shows: what it is, the code, and what it is compared with."""

    mistake: str
    what: str
    other: str
    place: str | None


class OneSampleFailed(TypedDict):
    """The error of a forward with one sample."""

    failed: str


class OneSampleShape(TypedDict):
    """The shape of an output for one sample, and the one that others have."""

    output: str
    of_one: list[Size]
    expected: list[Size]


ONE_SAMPLE = NotMeasured | FailedMeasurement | OneSampleFailed | OneSampleShape
CALL_STATE = NotMeasured | FailedMeasurement | CallState
OTHER_ROUTES = NotMeasured | FailedMeasurement | OtherRoutes
REPEATED = NotMeasured | FailedMeasurement | Repeated
PER_SAMPLE = NotMeasured | FailedMeasurement | PerSample
SAMPLES = LostSamples | NotMeasured | FailedMeasurement | Samples | OneSample | PlacedOutput
COUNT_OR_NULL = Size | None


class Looked(TypedDict):
    """That a probe looked, and at how many modules."""

    count: Count


DiscardedResult = Looked | DiscardedResultRow
CodeMistake = Looked | CodeMistakeRow
ModuleBackward = Looked | ModuleBackwardRow
UnreadInput = Looked | UnreadInputRow
RepeatedModule = Looked | RepeatedModuleRow
UnreadSetting = Looked | UnreadSettingRow
BatchPositions = Looked | BatchPositionsRow
LastSteps = Looked | LastStepsRow
LogVariance = Looked | LogVarianceRow
KEPT = Looked | Size
CHANGED_INPUTS = Looked | ChangedInput
CausalCode = Looked | CausalCodeRow
Squeeze = Looked | SqueezeRow
