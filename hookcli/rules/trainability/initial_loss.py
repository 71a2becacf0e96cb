"""`initial_loss`: before training, the loss is that of a guess."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from hookcli.report.findings import Measurement
from hookcli.report.report import Report
from hookcli.rules.rule import (
    NO_BACKWARD,
    Options,
    Rule,
    RuleFinding,
    RuleOption,
    passed,
    skipped,
)
from hookcli.rules.trainability.losses import without_loss
from hookcli.rules.training.series import script_line
from hookcli.spec.checks import BACKWARD, request_probe
from hookcli.text import counted

PROBE = "loss_terms"
_UNKNOWN = "the loss of a guess is not known for this loss: set `classes` or `expected`"
_ABOVE = "let the last layer start with small weights and a bias of zero"
_BELOW = "check that the model is not trained yet, and that its input does not contain the target"


def judge(report: Report, options: Options) -> Iterator[RuleFinding]:
    """Yield a finding for each term of the loss that is far from that of a guess."""
    expected = options["expected"]
    if expected is None and options["classes"]:
        expected = math.log(options["classes"])
    if expected is not None:
        yield _given(report, expected, options["tolerance"])
        return
    terms = [m for m in report.measurements if m.probe == PROBE and m.value["targets"]]
    if not terms:
        yield skipped(NO_BACKWARD) if report.run.loss is None else skipped(_UNKNOWN)
        return
    bad = False
    for number, measurement in enumerate(terms):
        finding = _term(report, measurement, number, options["tolerance"])
        if finding is not None:
            bad = True
            yield finding
    if not bad:
        value = terms[0].value
        yield passed(_near(float(value["loss"]), value["chance"]), value=value["loss"])


def _near(loss: float, chance: float) -> str:
    return f"the loss starts at {loss:.4g}; a guess has {chance:.4g}"


def _given(report: Report, expected: float, tolerance: float) -> RuleFinding:
    """Return the verdict on the loss of the run, which the options say the value of."""
    unusable = without_loss(report)
    if unusable is not None:
        return unusable
    if not report.run.losses:
        return skipped(NO_BACKWARD)
    loss = float(report.run.losses[0])
    if abs(loss - expected) <= tolerance * abs(expected):
        return passed(_near(loss, expected), value=loss, limit=expected)
    return _finding(report, loss, expected, "", 0)


def _term(
    report: Report, measurement: Measurement, number: int, tolerance: float
) -> RuleFinding | None:
    value: dict[str, Any] = measurement.value
    loss, chance, blind = (float(value[key]) for key in ("loss", "chance", "random"))
    error = float(value["spread"]) / math.sqrt(value["targets"])
    above = min(loss, blind) > (1 + tolerance) * chance
    below = loss < min((1 - tolerance) * chance, blind - 2 * error)
    if not math.isfinite(loss) or not (above or below):
        return None
    if value["classes"] is None:
        # rare classes make a good loss small: a bias that starts at their frequency is advised
        return _finding(report, loss, chance, " of a guess of 1/2", number) if above else None
    classes = counted(value["classes"], "class", "classes")
    return _finding(report, loss, chance, f" of a guess among {classes}", number)


def _finding(report: Report, loss: float, chance: float, guess: str, number: int) -> RuleFinding:
    above = loss > chance
    kind = "above" if above else "below"
    message = f"the loss starts at {loss:.4g}, far {kind} the {chance:.4g}{guess}"
    return RuleFinding(
        "fail",
        "",
        f"{kind} chance" if not number else f"{kind} chance {number}",
        message,
        loss,
        chance,
        script_line(report, "loss"),
        advice=_ABOVE if above else _BELOW,
    )


RULE = Rule(
    name="initial_loss",
    severity="warning",
    looks_at="the loss",
    says="before training, a classification loss is that of a guess",
    computes="Finds every cross_entropy, nll_loss and binary_cross_entropy in the autograd graph "
    "of the loss, with class indices as targets or, for binary losses, values. Compares its mean "
    "with that of a guess, which gives each class the same probability. A small batch may contain "
    "unlucky targets, so the mean loss over all targets that are possible must be too large too; "
    "a loss is too small only if it is two standard errors below that mean. A binary loss may be "
    "smaller, because a bias for rare classes is good practice. With `classes` or `expected`, the "
    "loss of the run is compared instead, whatever it is.",
    formula="(1 - tolerance) * chance <= loss <= (1 + tolerance) * chance, chance = -log(1 / "
    "classes), or log(2) for a binary loss without weights",
    source="Karpathy, A Recipe for Training Neural Networks: verify the loss at init",
    fails="a last layer with weights of standard deviation 1; logits that are not divided by a "
    "temperature or by sqrt(dim)",
    mend="let the last layer start with small weights; if the loss is smaller than that of a "
    "guess, check whether the model is trained, or its input contains the target",
    example="{rule: initial_loss, tolerance: 0.1}",
    options=(
        RuleOption("tolerance", "number", "largest relative difference", 0.2),
        RuleOption("classes", "count", "number of classes of the whole loss, if it is not found"),
        RuleOption("expected", "number", "the loss at the start, if it is not found"),
    ),
    needs=lambda options: (BACKWARD,),
    watches=lambda options: (request_probe(PROBE),),
    judge=judge,
)
