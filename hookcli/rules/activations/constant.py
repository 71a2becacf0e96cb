"""`all_zero` and `low_variance`: the outputs of layers, and of the model, vary over the batch."""

from __future__ import annotations

from collections.abc import Iterator

from hookcli.report.findings import Measurement
from hookcli.report.report import Report
from hookcli.rules.activations.measured import (
    A_FEW,
    CONSTANT,
    ONE_HOT,
    UNREAD,
    ZERO,
    place_of,
    rows_of,
    seen,
    where,
)
from hookcli.rules.rule import Options, Rule, RuleFinding, RuleOption, passed, skipped
from hookcli.rules.select import matches
from hookcli.text import counted

_AT = RuleOption("at", "globs", "globs of module names", ("*",))
_ZERO_WEIGHTS = RuleOption(
    "zero_weights", "flag", "whether layers count whose weights are all zero", False
)


def _chosen(report: Report, options: Options, *kinds: str) -> Iterator[Measurement]:
    for measurement in rows_of(report, *kinds):
        named = any(matches(glob, measurement.target) for glob in options["at"])
        if named and (options["zero_weights"] or not measurement.value["weights_zero"]):
            yield measurement


def _judge_zero(report: Report, options: Options) -> Iterator[RuleFinding]:
    """Yield a finding for each layer, and for the model, whose output is zero for each sample."""
    read = seen(report, CONSTANT)
    if read is None:
        yield skipped(UNREAD)
        return
    found = list(_chosen(report, options, ZERO))
    models = [row for row in _chosen(report, options, CONSTANT) if _is_zero_model(row)]
    for measurement in (*found, *models):
        samples = counted(measurement.value["samples"], "sample")
        message = (
            f"the output of {where(measurement)} is zero for each of {samples}, but its input is "
            "not: no gradient depends on it"
        )
        yield RuleFinding(
            "fail",
            measurement.target,
            "zero",
            message,
            0,
            None,
            place_of(report, measurement),
            cause="all_zero",
            advice="check the weights, the masks and the activation before the output",
        )
    if not found and not models:
        yield passed(f"none of {counted(read, 'output')} is zero")


def _is_zero_model(measurement: Measurement) -> bool:
    return bool(measurement.value.get("model") and measurement.value["zero"])


def _judge_variance(report: Report, options: Options) -> Iterator[RuleFinding]:
    """Yield a finding for each layer, and for the model, with the same output for each sample."""
    read = seen(report, CONSTANT)
    if read is None:
        yield skipped(UNREAD)
        return
    healthy = True
    for measurement in rows_of(report, ONE_HOT):
        value = measurement.value
        if value["length"] == 1 and value["output"] and healthy:
            healthy = False
            yield _of_one(report, measurement)
    for measurement in _chosen(report, options, CONSTANT) if healthy else ():
        value = measurement.value
        if _is_zero_model(measurement) or value.get("spread", 0.0) > options["spread"]:
            continue
        healthy = False
        amount = counted(value["samples"], "sample")
        if value.get("spread"):
            same = f"differs by {value['spread']:.1e} of its largest value between {amount}"
        else:
            same = f"is the same for {amount}"
        what = "the model ignores its input" if value.get("model") else "it ignores its input"
        message = f"the output of {where(measurement)} {same}, but the inputs differ: {what}"
        yield RuleFinding(
            "fail",
            measurement.target,
            "constant",
            message,
            value.get("spread", 0.0),
            options["spread"],
            place_of(report, measurement),
            cause="low_variance",
            advice="check for a softmax or a norm over one element, a saturated or dead layer, and "
            "weights that shrink the signal",
        )
    if healthy:
        yield passed(f"{counted(read, 'output')} vary over the batch", limit=options["spread"])


def _of_one(report: Report, measurement: Measurement) -> RuleFinding:
    """Return the finding that the model returns a softmax over one entry, which is always 1."""
    message = (
        f"softmax of {where(measurement)} is over a dimension of size 1, so it returns 1 for "
        "every input: the model ignores its input"
    )
    return RuleFinding(
        "fail",
        measurement.target,
        "softmax of one",
        message,
        0.0,
        None,
        place_of(report, measurement),
        cause="low_variance",
        advice="use sigmoid for one logit, or softmax over the dimension of the classes",
    )


_SKIPS = (
    "Layers of torch.nn without children are judged; not those that may return zeros or a "
    "constant: activations that clip at zero (see dead_units), dropout, embeddings, padding. A "
    "layer counts only if its input is not zero, or differs between the samples. A layer whose "
    "weights are all zero is initialised so on purpose in LoRA, ControlNet and DiT, and does not "
    "count, nor does a model with such weights. A model with an adjacency matrix does not count: a "
    "square buffer or input of as many rows as samples."
)

ZERO_RULE = Rule(
    name="all_zero",
    severity="warning",
    diagnoses=True,
    looks_at="activations",
    says="no layer returns zeros for the whole batch",
    computes="Finds outputs of layers, and of the model, of which every element is exactly zero. "
    + _SKIPS,
    formula="max |output| = 0, and max |input| > 0; 32 elements or more",
    source="smdebug's AllZero",
    fails="x * mask with a mask of zeros, after a layer norm with one feature",
    mend="check the masks, the weights and the activation before the output",
    example='{rule: all_zero, at: "encoder.*"}',
    options=(_AT, _ZERO_WEIGHTS),
    watches=lambda options: (A_FEW,),
    judge=_judge_zero,
)

VARIANCE_RULE = Rule(
    name="low_variance",
    severity="warning",
    diagnoses=True,
    looks_at="activations",
    says="no layer returns the same for each sample, and the model does not",
    computes="Compares the samples of outputs along dimension 0. The output of a layer is a "
    "finding if all samples are equal; that of the model, if every floating-point tensor that it "
    "returns differs by at most `spread` between samples of which the inputs clearly do (by 0.1 %, "
    "or by an integer). " + _SKIPS,
    formula="max |y[i] - y[0]| / max |y| <= spread for the model, = 0 for a layer; with 3 values "
    "to compare, 32 in float16 and bfloat16",
    source="smdebug's TensorVariance, torch-audit TA302 (1e-5, which new deep networks may reach)",
    fails="softmax(dim=1) of an output [B, 1]; a LayerNorm over one feature",
    mend="check for a softmax or a norm over one element, for saturated or dead layers, and for "
    "weights that shrink the signal from layer to layer",
    example="{rule: low_variance, spread: 1e-5}",
    options=(
        _AT,
        RuleOption(
            "spread", "number", "the largest relative difference in the model's, up to 1e-5", 0.0
        ),
        _ZERO_WEIGHTS,
    ),
    watches=lambda options: (A_FEW,),
    judge=_judge_variance,
)
