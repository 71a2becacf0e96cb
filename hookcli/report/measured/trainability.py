"""The types of what rules about training measure."""

from __future__ import annotations

from typing import Any, Literal

from typing_extensions import NotRequired, TypedDict

from hookcli.report.measured.runs import FailedMeasurement, Looked, NotMeasured
from hookcli.report.values import Count, Dimension, Index, Number, Real, Size


class LossTerm(TypedDict):
    """One term of the loss, and its value for a guess, per target."""

    loss: Number
    chance: Number
    random: Number
    spread: Number
    targets: Size
    classes: Size | None
    kind: str


class LossInput(TypedDict):
    """What a loss gets instead of what it requires, and the module that made it."""

    loss: str
    gets: str
    classes: Size | None
    module: str | None
    place: str | None


class ShapePair(TypedDict):
    """Two shapes in the graph of a loss: of what is compared, or before and after a view."""

    what: str
    first: list[Size]
    second: list[Size]
    module: str | None
    place: str | None


class ActiveDropout(TypedDict):
    """A function that dropped values in eval mode, and the call that it ran in."""

    function: str
    p: Real
    name: str | None
    module: str | None
    place: str | None


class RandomCall(TypedDict):
    """A function that drew random numbers in eval mode, and the call that it ran in."""

    function: str
    name: str | None
    module: str | None
    place: str | None


class EvalDropout(TypedDict):
    """What was random in forwards in eval mode, and with it their outputs."""

    dropout: list[ActiveDropout]
    random: NotRequired[list[RandomCall]]


class EvalForward(TypedDict):
    """What a forward in eval mode changed, of how many tensors, and the dropout that was active."""

    buffers: list[str]
    parameters: list[str]
    tensors: Count
    dropout: list[ActiveDropout]


class OverfitOptions(TypedDict):
    """The options of the rule overfits_one_batch."""

    steps: Count
    drop: Real
    lr: Real | None


class Overfit(TypedDict):
    """The losses of a training on one batch: before each step, and the last one."""

    steps: Count
    drop: Real
    optimizer: str
    lr: Real | None
    losses: list[Number]
    options: OverfitOptions


class CausalityOptions(TypedDict):
    """The options of the rule causal."""

    dim: Dimension
    input: str | None
    output: str | None


class Causality(TypedDict):
    """How much an output at a time changes if later inputs are replaced."""

    dim: Dimension
    size: Size
    relative: Number
    output: str
    time: Size
    dtype: str
    inputs: list[str]
    outputs: list[str]
    options: CausalityOptions


class ClippingHook(TypedDict):
    """A hook whose action clips, by its index."""

    hook: Index
    action: str
    limit: str
    place: str


class Update(TypedDict):
    """The 2-norms of a parameter and of its change in a step; `graded` if it got a gradient."""

    weight: Number
    change: Number
    graded: bool


class Stepped(TypedDict):
    """The optimizer of a step."""

    optimizer: str
    lr: Real | None


InOneMemory = TypedDict("InOneMemory", {"with": list[str]})  # the other parameters in its memory


class TiedEmbeddings(TypedDict):
    """Whether the embeddings are tied that a configuration ties; `alike` if their shapes agree."""

    setting: str
    input: str
    output: str
    tied: bool
    alike: bool


class Unregistered(TypedDict):
    """Parameters in the graph that the model does not have; `kind` is how it keeps them, if so."""

    kind: str
    count: Count


class SoftmaxAxes(TypedDict):
    """A softmax over `dim` of a `shape`, whose shares a product sums over the dimension `summed`.

    `summed` is None if the softmax is over one element.
    """

    dim: Dimension
    shape: list[Size]
    summed: Dimension | None
    module: str | None
    place: str | None


class LinearChain(TypedDict):
    """The linear layer that feeds another one alone, and the values in between.

    With `layers`, that many linear layers have only batch norms and dropout in between. If the
    `whole` model is one linear map, they are all of its layers.
    """

    first: str
    hidden: Size
    layers: NotRequired[Count]
    whole: NotRequired[bool]
    module: str | None
    place: str | None


class SingleNorm(TypedDict):
    """The shape of the result of a norm over groups of one value."""

    shape: list[Size]
    module: str | None
    place: str | None


class LogitActivation(TypedDict):
    """An activation, and the function that gets its result."""

    activation: Literal["relu", "hardtanh", "softmax", "sigmoid"]
    by: str
    module: str | None
    place: str | None


class NoiseScale(TypedDict):
    """The numbers in a KL term: exp(`exponent` x) is `best` where the term is smallest.

    Noise is multiplied by exp(`noise` x), or by x itself if `linear`. `floor` is the function that
    makes x positive.
    """

    exponent: Real
    best: Real
    noise: Real | None
    linear: bool
    floor: str | None
    module: str | None
    place: str | None


class SignedTerm(TypedDict):
    """What a loss makes small although it must become large, or the reverse."""

    what: Literal[
        "divergence", "log_variance", "overlap", "log_probability", "log_likelihood", "error"
    ]
    module: str | None
    place: str | None


class LossValueRow(TypedDict):
    """What a loss function or a distribution gets: the key of a sentence, and its values."""

    what: str
    values: dict[str, Any]
    module: str | None
    place: str | None


class TokenTargets(TypedDict):
    """How many positions after those of the input targets are, and how many are padding."""

    shift: Count
    padded: Count
    targets: Size
    module: str | None
    place: str | None


class SelfSimilarity(TypedDict):
    """The number of samples that a loss compares with themselves, too."""

    samples: Size
    module: str | None
    place: str | None


class MaskedShares(TypedDict):
    """How many of the rows of a softmax no longer sum to 1 after a mask, and its shape."""

    rows: Size
    of: Size
    shape: list[Size]
    module: str | None
    place: str | None


class WeakMask(TypedDict):
    """The share that masked scores keep in a softmax, in rows that also have others."""

    share: Real
    rows: Size
    shape: list[Size]
    module: str | None
    place: str | None


class UnequalScales(TypedDict):
    """The numbers that the parts of the scores of a softmax are multiplied by."""

    scales: list[Real]
    module: str | None
    place: str | None


class NarrowUnit(TypedDict):
    """A linear layer of one unit, its number of inputs, and of outputs of the next layer."""

    inputs: Size
    outputs: Size
    module: str | None
    place: str | None


class EqualChoice(TypedDict):
    """The dimension along which a gather chooses among equal values, and the shape."""

    dim: Index
    shape: list[Size]
    module: str | None
    place: str | None


class ScaledShares(TypedDict):
    """By which number the shares of a softmax are multiplied afterwards."""

    factor: Real
    module: str | None
    place: str | None


class PooledPaddingRow(TypedDict):
    """The share of padding in what a mean counts, and the token; None for that of a mask."""

    share: Real
    token: Index | None
    module: str | None
    place: str | None


class RotaryAxis(TypedDict):
    """The dimension of a tensor along which the angles of a rotation differ, and the positions'."""

    shape: list[Size]
    dim: Index
    positions: Index
    module: str | None
    place: str | None


class ReluOutput(TypedDict):
    """The number of outputs of a layer that a ReLU follows, and the share of zeros.

    With a clamp, which is in `by`, it is the share of the ends of its interval.
    """

    outputs: Size
    zero: Real
    by: NotRequired[str]
    module: str | None
    place: str | None


class PooledChannels(TypedDict):
    """`what` is over dimension 1 of a `shape`, the channels of the layer `of`."""

    what: str
    shape: list[Size]
    of: str
    module: str | None
    place: str | None


class ReusedLayerRow(TypedDict):
    """The lines of the calls of a layer in one forward."""

    lines: list[Count]
    type: str
    place: str | None


class SharpScores(TypedDict):
    """How many terms the products have that a softmax gets unscaled, and how sharp its rows are.

    `share` is that of the rows with a weight above 0.9. It is 0 if the scores are scaled as those
    of `heads` times as many terms, or multiplied by the root of the terms.
    """

    terms: Size
    share: Real
    heads: Size
    module: str | None
    place: str | None


class NormDimension(TypedDict):
    """The shape of what a norm normalizes, and the dimensions that it averages over.

    `positions` and `features` are the sizes of dimension 1 and of the `last` one.
    """

    shape: list[Size]
    dims: list[Dimension]
    positions: Size
    features: Size
    last: Dimension
    batch_norm: bool
    module: str | None
    place: str | None


class SelfSum(TypedDict):
    """The shape of a tensor that is added to itself, or to a sum that has it already."""

    shape: list[Size]
    is_again: NotRequired[bool]
    module: str | None
    place: str | None


class ChangedShortcut(TypedDict):
    """The activation, by name and type, that changes the input of a block in place."""

    by: str
    type: str
    module: str | None
    place: str | None


class BatchNormStateRow(TypedDict):
    """A momentum that is large; None if a batch norm ran in eval mode with new statistics."""

    momentum: Real | None
    place: str | None


class TrainedMaskRow(TypedDict):
    """The shape of a parameter with the values of a mask."""

    shape: list[Size]


class EqualUnitsRow(TypedDict):
    """The number of units of a layer that have equal weights and gradients."""

    units: Size


class HighDropoutRow(TypedDict):
    """The probability of a dropout layer, and its line."""

    p: Real
    place: str | None


class FrozenNormRow(TypedDict):
    """A batch norm in train mode: whether its weights are frozen, or it was in eval mode."""

    frozen: bool
    eval: bool
    place: str | None


class PaddingVectorRow(TypedDict):
    """The token of padding of an embedding, whose vector is not zero."""

    token: Count
    place: str | None


class InvertedMaskRow(TypedDict):
    """The argument that hides all tokens but padding."""

    argument: str
    place: str | None


class PositionTensorRow(TypedDict):
    """The shape of a tensor of positions."""

    shape: list[Size]


class PositionTableRow(TypedDict):
    """A table of sines: the first position that equals the next, or how many columns differ."""

    shape: list[Size]
    equal: Count | None
    columns: Count | None


class TokenAttentionRow(TypedDict):
    """The type of a module that attends to the vectors of tokens."""

    attention: str
    place: str | None


class PaddedInputRow(TypedDict):
    """What the samples of a batch end with, how many do, and the share of all positions."""

    what: str
    padded: Count
    samples: Count
    share: Real


class PaddingEffect(PaddedInputRow):
    """How much an output changes with `more` positions of padding; `masked`: there is a mask."""

    relative: Number
    output: str
    dtype: str
    more: Size
    masked: bool


class OpenDecoderRow(TypedDict):
    """The type of a decoder that gets tokens and no mask.

    The model returns its loss alone if `only_loss`.
    """

    type: str
    only_loss: NotRequired[bool]
    place: str | None


class LaterPositions(TypedDict):
    """How much an output at a time changes if later inputs are replaced."""

    dim: Dimension
    size: Size
    relative: Number
    output: str
    time: Size
    dtype: str


class PositionEffect(TypedDict):
    """Whether outputs only move, or stay the same, when the positions of the input are reversed."""

    size: Size
    moves: bool


class HalfOverflow(TypedDict):
    """The first function whose result in float16 is infinite, with finite inputs."""

    function: str
    values: Size
    of: Size
    name: str | None
    module: str | None
    place: str | None


SUMS = FUNCTIONS = HALVES = Size
LOSS_VALUES = LossValueRow | Looked


class LaterGradients(TypedDict):
    """The parameters whose gradient was zero in the first step, and is not after some `steps`.

    `still` are those whose gradient stays zero.
    """

    steps: Count
    reached: list[str]
    still: list[str]


LATER_GRADIENTS = NotMeasured | FailedMeasurement | LaterGradients
EVAL_FORWARD = NotMeasured | FailedMeasurement | EvalForward
OVERFIT = NotMeasured | FailedMeasurement | Overfit
CAUSALITY = NotMeasured | FailedMeasurement | Causality


def step(target: str, _value: Any) -> Any:
    """Return the type of whether a parameter changed, or of the error of the step."""
    return bool if target else FailedMeasurement


def update(target: str, _value: Any) -> Any:
    """Return the type of the change of a parameter, or of the optimizer."""
    return Update if target else NotMeasured | FailedMeasurement | Stepped


def shared_memory(target: str, _value: Any) -> Any:
    """Return the type of parameters in one memory, or of the embeddings of a configuration."""
    return InOneMemory if target else TiedEmbeddings


BatchNormState = Looked | BatchNormStateRow
TrainedMask = Looked | TrainedMaskRow
EqualUnits = Looked | EqualUnitsRow
FrozenNorm = Looked | FrozenNormRow
HighDropout = Looked | HighDropoutRow
PaddingVector = Looked | PaddingVectorRow
InvertedMask = Looked | InvertedMaskRow
PositionTensor = Looked | PositionTensorRow | TokenAttentionRow
PositionTable = Looked | PositionTableRow
PaddedInput = Looked | PaddedInputRow
OpenDecoder = Looked | OpenDecoderRow
ReusedLayer = Looked | ReusedLayerRow
LATER = NotMeasured | FailedMeasurement | LaterPositions
PADDING_EFFECT = NotMeasured | FailedMeasurement | PaddingEffect
POSITION_EFFECT = NotMeasured | FailedMeasurement | PositionEffect
HALF_OVERFLOW = NotMeasured | FailedMeasurement | HalfOverflow
