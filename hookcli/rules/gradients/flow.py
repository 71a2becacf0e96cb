"""`vanishing_gradient` and `exploding_gradient`: the gradient changes by decades over the depth."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from hookcli.report.report import Report
from hookcli.report.steps import TrainingInfo
from hookcli.rules.gradients.profile import Profile, power_of_ten, profiles
from hookcli.rules.gradients.wide_weights import wide_weights
from hookcli.rules.rule import (
    FAKE,
    NO_BACKWARD,
    Options,
    Rule,
    RuleFinding,
    RuleOption,
    passed,
    skipped,
)
from hookcli.rules.select import owner, places
from hookcli.spec.checks import BACKWARD
from hookcli.text import counted

_LEAST = 4  # layers: a trend over fewer means nothing
_STEADY = 0.9  # share of steps; in healthy models at most 0.8, over six layers
_SMALLEST = {"float32": 2.0**-126, "bfloat16": 2.0**-126, "float64": 2.0**-1022}  # normal numbers
_OF_LOSS = 0.1  # the derivative of a loss by itself is 1: such a gradient has not vanished
_UPDATES = 1e-4  # of the norm of a weight, in one step: a layer with it is trained
_OF_USUAL = 0.03  # of the update of the last layers
_RATIO = 1e-3
_PLAIN_RATIO = 1e-5  # without activations that make gradients small: nets above it train
_SQUASH = {"Sigmoid", "Tanh", "Softmax", "Softsign", "LogSigmoid", "Hardtanh", "Hardsigmoid"}
_VANISHING, _EXPLODING = "vanishing_gradient", "exploding_gradient"


def _number(value: float) -> str:
    return f"{value:.2g}"


def _between(report: Report, names: tuple[str, ...]) -> str:
    """Return the activation that most calls between these layers have, as "49 Sigmoid", or ""."""
    orders = [row.order for row in report.layers if row.name in set(names)]
    if not orders:
        return ""
    kinds = Counter(
        row.type
        for row in report.layers
        if row.type in _SQUASH and min(orders) < row.order < max(orders)
    )
    if not kinds:
        return ""
    [(kind, count)] = kinds.most_common(1)
    return f"{count:,} {kind}" if count >= len(names) // 2 else ""


def _judge(report: Report, options: Options, *, falls: bool) -> Iterator[RuleFinding]:
    if all(row.status is None for row in report.parameters):
        yield skipped(NO_BACKWARD)
        return
    if report.run.tensors == "fake":
        yield skipped(FAKE)
        return
    long = [profile for profile in profiles(report) if len(profile.sizes) >= _LEAST]
    if not long:
        yield skipped(f"fewer than {_LEAST} layers have weights with a gradient")
        return
    for profile in long:
        if (finding := _finding(report, profile, options, falls=falls)) is not None:
            yield finding
            return
    yield passed(
        f"{counted(len(long[0].sizes), 'layer')} have gradients of similar size",
        value=float(f"{power_of_ten(-long[0].fall):.3g}"),
        limit=options["ratio"],
    )


def _finding(
    report: Report, profile: Profile, options: Options, *, falls: bool
) -> RuleFinding | None:
    sign = 1 if falls else -1
    ratio = power_of_ten(-profile.fall)
    beyond = ratio < options["ratio"] if falls else ratio > options["ratio"]
    start = profile.start(falls=falls)
    kinds = _between(report, profile.names[: start + 1])
    if falls and not kinds and options["ratio"] == _RATIO and ratio >= _PLAIN_RATIO:
        return None
    if not beyond or sign * profile.trend < options["trend"]:
        return None
    if profile.what == "biases" and profile.steady < _STEADY:
        return None
    extreme = min(range(start + 1), key=lambda i: sign * profile.logs[i])
    name, end = profile.names[extreme], profile.names[start]
    if falls and profile.sizes[extreme] > _OF_LOSS:
        return None
    if falls and report.training is not None and _is_updated(report.training, name, end):
        return None
    what = "gradient" if profile.what == "weights" else "gradient of the outputs"
    through = f" through {kinds} layers" if kinds else ""
    verb, change = ("vanishes", "falls") if falls else ("explodes", "grows")
    sizes = (
        f"from {_number(profile.sizes[start])} at '{end}' to {_number(profile.sizes[extreme])} at "
        f"'{name}'"
    )
    factor = _number(profile.per_layer(extreme, start))
    message = (
        f"the {what} {verb} towards the input: its size {change} {sizes}, by a factor of {factor} "
        f"per layer{through}"
    )
    smallest = _smallest(report, name)
    if falls and 0 < profile.sizes[extreme] < smallest:
        message += f"; numbers below {_number(smallest)} lose precision"
    elif falls and profile.sizes[extreme] == 0:
        message += "; it is too small for its dtype"
    wide = None if falls or report.training is not None else wide_weights(report)
    message += f"; {wide[1]}" if wide is not None else ""
    rule = _VANISHING if falls else _EXPLODING
    return RuleFinding(
        "fail",
        name,
        rule,
        message,
        value=float(f"{ratio:.3g}"),
        limit=options["ratio"],
        place=places(report).get(name),
        advice=_advice(kinds, falls=falls),
    )


def _is_updated(training: TrainingInfo, layer: str, last: str) -> bool:
    """Return whether an optimizer changes a layer as others, although its gradient is small.

    Adam and others divide by the size of the gradient. A layer whose updates are not in this record
    has another optimizer, and is judged in the record of that.
    """
    if not training.updates:
        return False
    update, usual = _update(training, layer), _update(training, last)
    if update is None:
        return True
    return update >= _UPDATES or (usual is not None and update >= _OF_USUAL * usual)


def _update(training: TrainingInfo, layer: str) -> float | None:
    """Return the largest update of a layer's weights, by their norm; None if unknown.

    In the first steps it may be zero: later layers may be initialized with zeros.
    """
    known = (
        ratio
        for row in training.updates
        if owner(row.name) == layer
        for ratio in row.ratios
        if isinstance(ratio, int | float)
    )
    return max(known, default=None)


def _smallest(report: Report, module: str) -> float:
    """Return the smallest normal number of the dtype of a module's parameters."""
    dtype = next(row.dtype for row in report.parameters if owner(row.name) == module)
    return _SMALLEST.get(dtype, 0.0)


def _advice(kinds: str, *, falls: bool) -> str:
    if kinds:
        return "use ReLU or GELU between layers, or add residual connections and normalization"
    if falls:
        return (
            "initialize the weights for the activation, as in `nn.init.kaiming_normal_`, or add "
            "normalization or residual connections"
        )
    return "initialize with smaller weights, add normalization, or clip the gradients"


def _options(ratio: float, what: str) -> tuple[RuleOption, ...]:
    return (
        RuleOption("ratio", "number", what, ratio),
        RuleOption("trend", "number", "least rank correlation of size and depth, 0 to 1", 0.7),
    )


_COMPUTES = (
    "For each layer with a weight of two or more dimensions (embedding tables aside), in the order "
    "of the forward pass, takes the root mean square of the weight's gradient, and likewise of the "
    "biases' gradients. {} if the median over the first quarter of the layers is {} `ratio` times "
    "that over the last quarter, and size and depth have a rank correlation (Spearman's) of at "
    "least `trend`. At least 4 layers are needed. The ratio does not depend on the loss."
)

VANISHING = Rule(
    name=_VANISHING,
    severity="warning",
    diagnoses=True,
    looks_at="gradients",
    says="gradients do not become smaller from layer to layer towards the input",
    computes=_COMPUTES.format("Fails", "below")
    + " If no `ratio` is set, and fewer than half of these layers are followed by a layer such as "
    "nn.Sigmoid or nn.Tanh, it fails below 1e-5 only: the default initialization alone divides "
    "gradients by three from layer to layer, and such nets train. It does not fail if the "
    "gradients of the first layers are above 0.1, and only those of the last ones are large, as "
    "behind a normalization of small values. In a training it does not fail if a step changes the "
    "first layers by 1e-4 of their norm, or by 3% of what it changes the last ones, as Adam does.",
    formula="median(rms(grad), first quarter) / median(rms(grad), last quarter) >= ratio",
    source="Hochreiter 1991; Glorot & Bengio 2010; smdebug VanishingGradient",
    fails="fifty layers of nn.Linear and nn.Sigmoid: each sigmoid multiplies the gradient by at "
    "most 0.25",
    mend="use ReLU or GELU, an initialization for the activation, normalization layers, or "
    "residual connections",
    example="{rule: vanishing_gradient, ratio: 1e-3}",
    options=_options(_RATIO, "least ratio of the first layers' gradients to the last layers'"),
    needs=lambda options: (BACKWARD,),
    judge=lambda report, options: _judge(report, options, falls=True),
)

EXPLODING = Rule(
    name=_EXPLODING,
    severity="warning",
    diagnoses=True,
    looks_at="gradients",
    says="gradients do not become larger from layer to layer towards the input",
    computes=_COMPUTES.format("Fails", "above"),
    formula="median(rms(grad), first quarter) / median(rms(grad), last quarter) <= ratio",
    source="Bengio et al. 1994; smdebug ExplodingTensor",
    fails="a recurrent or deep network without normalization whose weights are too large",
    mend="use smaller initial weights or normalization layers, or clip the gradient's norm",
    example="{rule: exploding_gradient, ratio: 1e3}",
    options=_options(1e4, "largest ratio of the first layers' gradients to the last layers'"),
    needs=lambda options: (BACKWARD,),
    judge=lambda report, options: _judge(report, options, falls=False),
)
