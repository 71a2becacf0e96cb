"""`loss_spikes`: the loss does not jump back to where it started."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from statistics import median

from hookcli.report.report import Report
from hookcli.rules.rule import (
    Options,
    Rule,
    RuleFinding,
    RuleOption,
    not_a_training,
    passed,
    skipped,
)
from hookcli.rules.training.loss_falls import NORMAL, unfit
from hookcli.rules.training.series import Series, below, middle, script_line, series
from hookcli.text import counted

_BEFORE = 20  # losses that a spike is compared with
_DEVIATIONS = 10.0
_FACTOR = 3.0
_LASTS = 2  # losses in a row: one batch with wrong labels is no spike
_START = 0.5  # of the first losses
_OFTEN = 3  # rises above the limit before: tasks that alternate
_LEARNS = 0.8  # of the losses after a jump: a training on other data has fallen to it
_CLEARLY = 0.9  # of the pairs of losses


def _spike(losses: Series, options: Options) -> tuple[int, float, float] | None:
    """Return the place of the first spike, the usual loss before it and its largest value."""
    start = median(value for _, value in losses[:3])
    for i in range(_BEFORE, len(losses) - _LASTS + 1):
        before = [math.log(value) for _, value in losses[i - _BEFORE : i] if value > 0]
        if len(before) < _BEFORE:
            continue
        usual = median(before)
        spread = NORMAL * median(abs(value - usual) for value in before)
        rise = max(math.log(options["factor"]), options["deviations"] * spread)
        least = max(math.exp(usual + rise), _START * start)
        if all(value > least for _, value in losses[i : i + _LASTS]):
            if _rises_above(losses[:i], least) >= _OFTEN:
                continue
            top = max(value for _, value in losses[i : i + _BEFORE])
            return i, math.exp(usual), top
    return None


def _rises_above(losses: Series, limit: float) -> int:
    """Return how often the loss has risen above a limit: with each new task, in meta-learning."""
    values = [value for _, value in losses]
    return sum(one <= limit < two for one, two in itertools.pairwise(values))


def _learns_again(losses: Series, limit: float) -> bool:
    """Return whether the loss falls again from a new level, which it does not leave otherwise.

    So it does if the task changes: longer sequences, other data, one more term in the loss.
    """
    if any(value <= limit for _, value in losses):
        return False
    first = losses[:_BEFORE]
    windows = (losses[i : i + _BEFORE] for i in range(_BEFORE, len(losses) - _BEFORE + 1))
    return any(
        middle(window) < _LEARNS * middle(first) and below(window, first) >= _CLEARLY
        for window in windows
    )


def judge(report: Report, options: Options) -> Iterator[RuleFinding]:
    """Yield a finding for the first spike of the loss."""
    if report.training is None:
        yield not_a_training()
        return
    losses = series(report.training, "loss")
    reason = unfit(report, losses, _BEFORE + _LASTS)
    if reason is not None:
        yield skipped(reason)
        return
    spike = _spike(losses, options)
    if spike is None:
        yield passed(f"no spike in {counted(len(losses), 'loss', 'losses')}")
        return
    i, usual, top = spike
    step = losses[i][0]
    if _learns_again(losses[i:], usual * options["factor"]):
        yield passed(f"the loss jumps at step {step:,} to a new level, and falls again from there")
        return
    after = [value for _, value in losses[i:] if value <= usual * options["factor"]]
    message = f"the loss jumps from {usual:.4g} to {top:.4g} at step {step:,}"
    message += "" if after else " and does not return"
    place = script_line(report, "optimizer")
    yield RuleFinding(
        "fail", "", "spike", message, top, usual, place, advice=_ADVICE, step=step,
    )  # fmt: skip


_ADVICE = "clip the norm of the gradients, lower the learning rate, look at the batch of the step"

RULE = Rule(
    name="loss_spikes",
    severity="warning",
    of_training=True,
    every_step=True,
    looks_at="losses",
    says="the loss does not jump back to where it started",
    computes="Compares each loss with the 20 known ones before it. It is a spike if it and the "
    "next one are above their median by `factor` and by `deviations` standard deviations of their "
    "logarithms (from the median absolute deviation), and above half of the first losses. One loss "
    "alone is a batch that differs from others, and no spike. A loss that never returns but falls "
    "by 20% from its new level has a new task, as in a curriculum, and one that has risen above "
    "the limit three times before learns tasks in turn. Skipped where `loss_falls` is.",
    formula="log(loss) > median + max(log(factor), deviations * 1.4826 MAD), twice in a row",
    source="Chowdhery et al. 2022 (PaLM), section 5.1: spikes of the loss; Hampel 1974 for MAD",
    fails="a learning rate at the limit of stability; Adam with betas of (0.9, 0.999) after steps "
    "with tiny gradients",
    mend="clip the norm of the gradients, warm up, lower the learning rate or Adam's beta2",
    example="{rule: loss_spikes, factor: 10}",
    options=(
        RuleOption("factor", "number", "the smallest ratio to the usual loss", _FACTOR),
        RuleOption("deviations", "number", "the least number of standard deviations", _DEVIATIONS),
    ),
    judge=judge,
)
