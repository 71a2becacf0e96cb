"""`overfits_one_batch`: some steps on one batch bring the loss down."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from hookcli.report.report import Report
from hookcli.rules.rule import Options, Rule, RuleFinding, RuleOption, passed, skipped
from hookcli.rules.trainability.losses import without_loss
from hookcli.spec.checks import BACKWARD, request_probe
from hookcli.text import counted

PROBE = "overfit"
_ADVICE = "check the loss, the targets and the learning rate before training on all data"


def _options(options: Options) -> dict[str, Any]:
    return {name: options[name] for name in ("steps", "drop", "lr")}


def _result(report: Report, options: Options) -> dict[str, Any] | None:
    """Return what the probe measured with these options, or its error."""
    for measurement in report.measurements:
        value = measurement.value
        if measurement.probe == PROBE and value.get("options", _options(options)) == _options(
            options
        ):
            return dict(value)
    return None


def judge(report: Report, options: Options) -> Iterator[RuleFinding]:
    """Yield one finding."""
    value, unusable = _result(report, options), without_loss(report)
    if unusable is not None:
        yield unusable
    elif value is None:
        yield skipped("the model was not trained on the batch")
    elif "why" in value:
        yield skipped(value["why"])
    elif "error" in value:
        message = f"the training on one batch failed: {value['error']}"
        yield RuleFinding("error", "", "failed", message, place=value.get("place"))
    else:
        yield _verdict(report, value)


def _verdict(report: Report, value: dict[str, Any]) -> RuleFinding:
    losses = [float(loss) for loss in value["losses"]]
    rate = "" if value["lr"] is None else f" (lr {value['lr']:g})"
    using = f"{value['optimizer']}{rate}"
    start, steps = losses[0], counted(len(losses) - 1, "step")
    goal = (1 - value["drop"]) * start
    bad = next((i for i, loss in enumerate(losses) if not math.isfinite(loss)), None)
    if bad is not None:
        message = (
            f"the loss is {losses[bad]} after {counted(bad, 'step')} of {using} on one batch; "
            f"it starts at {start:.4g}"
        )
        advice = "run `check` with the rule finite, or lower the learning rate"
        return _failed(report, "not finite", message, value["losses"][bad], goal, advice)
    if start <= 0:
        return skipped(f"the loss starts at {start:.4g}: a share of it is not defined")
    lowest = min(losses)
    if lowest <= goal:
        return passed(
            f"{steps} of {using} bring the loss from {start:.4g} to {losses[-1]:.4g}",
            value=lowest,
            limit=goal,
        )
    since = losses.index(lowest)
    last = "it never falls" if since == 0 else f"it is lowest, {lowest:.4g}, after step {since}"
    message = (
        f"{steps} of {using} on one batch bring the loss from {start:.4g} to "
        f"{losses[-1]:.4g}; {last}"
    )
    return _failed(report, "no drop", message, lowest, goal, _ADVICE)


def _failed(
    report: Report, kind: str, message: str, value: Any, limit: float, advice: str
) -> RuleFinding:
    return RuleFinding("fail", "", kind, message, value, limit, report.model.place, advice=advice)


RULE = Rule(
    name="overfits_one_batch",
    severity="error",
    looks_at="learning",
    says="some training steps on one batch bring the loss down",
    computes="Trains on the batch of the run, with run.optimizer, else with Adam and the learning "
    "rates 3e-4, 1e-3 and 1e-2 until one is enough, each from the same state. Training ends as "
    "soon as the loss is low enough. The model is in the mode of the run, and is restored bit by "
    "bit. It requires a loss of the model or the user: the default `probe` has no lowest value.",
    formula="min(loss after step 1..steps) <= (1 - drop) * loss before the first step",
    source="Karpathy, A Recipe for Training Neural Networks: overfit one batch",
    fails="optimizer.zero_grad() between backward and step; targets that are shuffled in each "
    "call; a learning rate of 0; a model whose output does not depend on its input",
    mend="look at the gradients with `hookcli grads`; a loss that has a floor, as with label "
    "smoothing, requires a smaller `drop`",
    example="{rule: overfits_one_batch, steps: 100, drop: 0.9, lr: 0.003}",
    options=(
        RuleOption("steps", "count", "the largest number of steps", 30),
        RuleOption("drop", "number", "the share of the loss that must go", 0.5),
        RuleOption(
            "lr", "number", "learning rate; that of run.optimizer, or of several, if omitted"
        ),
    ),
    needs=lambda options: (BACKWARD, request_probe(PROBE, **_options(options))),
    judge=judge,
)
