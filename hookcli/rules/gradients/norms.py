"""`grad_norm` and `grad_to_weight`: the norm of gradients is within limits."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator
from statistics import median_low

from hookcli.report.report import ParameterRow, Report
from hookcli.report.values import Number
from hookcli.rules.gradients.wide_weights import wide_weights
from hookcli.rules.rule import (
    NO_BACKWARD,
    Options,
    Rule,
    RuleFinding,
    RuleOption,
    no_match,
    passed,
    skipped,
)
from hookcli.rules.select import owner, parameters_at, places
from hookcli.rules.training.series import real
from hookcli.spec.checks import BACKWARD
from hookcli.text import counted

_LEAST_NORM, _LARGEST_NORM = 1e-7, 1e8  # healthy models are within 0.9 and 3e5, with `probe`
_FACTOR, _LARGE, _MATRIX = 5.0, 3, 2  # of a layer; layers; dimensions of a weight
_INITIALIZE = "initialize the weights for their number of inputs, as in `nn.init.kaiming_normal_`"
_LEAST_RATIO, _LARGEST_RATIO = 1e-8, 10


def _outside(value: Number | None, options: Options) -> tuple[str, float] | None:
    """Return the word and the limit of a value outside the limits; None inside, or if unknown."""
    if not isinstance(value, int | float):
        return None
    if value < options["min"]:
        return "below", options["min"]
    return ("above", options["max"]) if value > options["max"] else None


def _finding(
    what: str, target: str, value: Number | None, options: Options, place: str | None
) -> RuleFinding | None:
    outside = _outside(value, options)
    if outside is None:
        return None
    word, limit = outside
    advice = (
        "scale the loss, initialize with smaller weights, or clip the norm with "
        "`torch.nn.utils.clip_grad_norm_`"
        if word == "above"
        else "check the scale of the loss, the initialization and the activations"
    )
    message = f"{what} is {word} {limit:g}"
    return RuleFinding("fail", target, word, message, value, limit, place, advice=advice)


def _unjudged(report: Report) -> RuleFinding | None:
    """Return why no norm can be judged; None if they can."""
    if all(row.status is None for row in report.parameters):
        return skipped(NO_BACKWARD)
    return None


def _total(report: Report, options: Options) -> Iterator[RuleFinding]:
    total = report.totals.grad_norm
    if total is None or all(row.status in {"none", "frozen"} for row in report.parameters):
        yield skipped("no parameter got a gradient")
        return
    found = _finding("the norm over all gradients", "", total, options, None)
    large = _large_weights(report) if found is not None and found.kind == "above" else None
    wide = wide_weights(report) if found is not None and found.kind == "above" else None
    if found is not None and large is not None:
        found = dataclasses.replace(found, message=f"{found.message}: {large}", advice=_INITIALIZE)
    elif found is not None and wide is not None:
        found = dataclasses.replace(
            found, message=f"{found.message}: {wide[1]}", advice=_INITIALIZE,
            place=places(report).get(owner(wide[0])),
        )  # fmt: skip
    yield found or passed("the norm over all gradients is within the limits", value=total)


def _large_weights(report: Report) -> str | None:
    """Return that several layers have weights far too large for their size; None otherwise.

    Weights of a standard deviation s and with n inputs multiply the size of values by s sqrt(n).
    """
    factors = {}
    for row in report.parameters:
        norm = real((row.stats or {}).get("norm"))
        sizes = [size for size in row.shape if size is not None and size > 1]
        if norm is not None and row.numel and len(sizes) == len(row.shape) == _MATRIX:
            std = norm / math.sqrt(row.numel)
            factors[row.name] = std * math.sqrt(math.sqrt(row.numel)), std
    large = [name for name, (factor, _) in factors.items() if factor >= _FACTOR]
    if len(large) < _LARGE or len(large) * 2 < len(factors):
        return None
    middle = median_low([factors[name][0] for name in large])
    return (
        f"the weights of {counted(len(large), 'layer')}, such as '{large[-1]}', have a standard "
        f"deviation of {factors[large[-1]][1]:.2g}, and multiply the size of values by about "
        f"{middle:.2g} each, as with an initialization that is too large"
    )


def _each(report: Report, options: Options, rule: str) -> Iterator[RuleFinding]:
    """Judge each parameter whose gradient is not zero: `grad_exists` finds those that are."""
    rows = list(parameters_at(report, options["at"]))
    if not rows:
        yield no_match("parameter", options["at"])
        return
    judged = [row for row in rows if row.status == "ok"]
    where = places(report)
    findings = []
    for row in judged:
        what, value = _MEASURES[rule](row)
        place = where.get(owner(row.name))
        findings.append(_finding(what, row.name, value, options, place))
    yield from filter(None, findings)
    if not any(findings):
        yield passed(f"{counted(len(judged), 'parameter')} within the limits")


def _norm(row: ParameterRow) -> tuple[str, Number | None]:
    return "the gradient's norm", (row.grad or {}).get("norm")


def _ratio(row: ParameterRow) -> tuple[str, Number | None]:
    """Return the ratio; None if the weight is zero, as many biases are at the start."""
    zero = not (row.stats or {}).get("norm")
    return "the ratio of the gradient's norm to the weight's norm", (
        None if zero else row.grad_to_weight
    )


_MEASURES = {"grad_norm": _norm, "grad_to_weight": _ratio}


def _judge_norm(report: Report, options: Options) -> Iterator[RuleFinding]:
    if (reason := _unjudged(report)) is not None:
        yield reason
    elif options["at"] is None:
        yield from _total(report, options)
    else:
        yield from _each(report, options, "grad_norm")


def _judge_ratio(report: Report, options: Options) -> Iterator[RuleFinding]:
    if (reason := _unjudged(report)) is not None:
        yield reason
    else:
        yield from _each(report, options, "grad_to_weight")


NORM = Rule(
    name="grad_norm",
    severity="warning",
    diagnoses=True,
    looks_at="gradients",
    says="the norm of the gradient is within limits",
    computes="Compares the norm over all gradients with `min` and `max`; with `at`, the norm of "
    "each of these gradients. Under the loss `probe`, whose gradient at the outputs has norm 1, "
    "the norm is the ratio to that; with your own loss it is absolute. Zero and missing gradients "
    "are for `grad_exists`.",
    formula="min <= norm(grad) <= max",
    source="torch.nn.utils.get_total_norm; torch-audit TA102, with a larger maximum",
    fails="a loss that is summed over a large batch; a loss divided twice by the batch size",
    mend="scale the loss, change the initialization, or clip the norm",
    example="{rule: grad_norm, min: 1e-6, max: 100}",
    options=(
        RuleOption("at", "globs", "globs of parameter names; default: all together"),
        RuleOption("min", "number", "least norm", _LEAST_NORM),
        RuleOption("max", "number", "largest norm", _LARGEST_NORM),
    ),
    needs=lambda options: (BACKWARD,),
    judge=_judge_norm,
)

RATIO = Rule(
    name="grad_to_weight",
    severity="warning",
    says="gradients are neither tiny nor huge compared with their weights",
    computes="Divides the norm of each gradient by the norm of its parameter. Parameters that are "
    "zero, such as new biases, and zero gradients are not judged.",
    formula="min <= norm(grad) / norm(weight) <= max",
    source="torch-audit; You et al. 2017 (LARS), whose trust ratio is the inverse",
    fails="a layer whose input is never normalized, in front of a loss with a large scale",
    mend="normalize the inputs, scale the loss, or change the initialization",
    example='{rule: grad_to_weight, at: "encoder.*", max: 1}',
    options=(
        RuleOption("at", "globs", "globs of parameter names", ("*",)),
        RuleOption("min", "number", "least ratio", _LEAST_RATIO),
        RuleOption("max", "number", "largest ratio", _LARGEST_RATIO),
    ),
    needs=lambda options: (BACKWARD,),
    judge=_judge_ratio,
)
