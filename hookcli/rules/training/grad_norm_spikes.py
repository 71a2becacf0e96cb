"""`grad_norm_spikes`: no single step has a gradient far above those of all other steps."""

from __future__ import annotations

import math
from collections.abc import Iterator

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
from hookcli.rules.training.series import Series, few_norms, script_line, series
from hookcli.text import join_names

_FACTOR = 100.0
_LEAST = 10  # steps
_FIRST = 5  # steps at the beginning, whose gradients are the largest of many healthy trainings
_USUAL = 0.9  # share of the norms that are usual


def _usual(norms: Series) -> float:
    """Return a norm that the usual steps do not exceed.

    It is the larger of two: the norm that 90 % of the steps do not exceed, and the largest of the
    first 5 steps. A model that fits nearly all of its data has tiny gradients, and one hard sample
    then gives the gradients of the first steps again.
    """
    values = sorted(value for _, value in norms)
    most = values[math.ceil(_USUAL * len(values)) - 1]
    return max(most, max(value for _, value in norms[:_FIRST]))


def judge(report: Report, options: Options) -> Iterator[RuleFinding]:
    """Yield a finding for the first step with a gradient far above the usual ones."""
    if report.training is None:
        yield not_a_training()
        return
    norms = [(step, value) for step, value in series(report.training, "grad_norm") if value > 0]
    if len(norms) < _LEAST:
        yield skipped(few_norms(norms, _LEAST))
        return
    usual, factor = _usual(norms), options["factor"]
    spikes = [(step, value) for step, value in norms[_FIRST:] if value > factor * usual]
    largest = max(value for _, value in norms)
    if not spikes:
        yield passed(
            f"no gradient norm is above {factor:g} times the usual ones, which are up to "
            f"{usual:.3g}",
            value=largest / usual,
            limit=factor,
        )
        return
    step, value = spikes[0]
    message = (
        f"the norm of all gradients is {value:.3g} at step {step:,}, and at most {usual:.3g} in "
        "usual steps"
    )
    if spikes[1:]:
        others = [f"{other:,}" for other, _ in spikes[1:]]
        message += f"; also at step {join_names(others)}"
    place = script_line(report, "step")
    yield RuleFinding(
        "fail", "", "spike", message, largest / usual, factor, place, advice=_ADVICE,
        step=step,
    )  # fmt: skip


_ADVICE = (
    "look at the batch of the step: its inputs, its labels, a division by nearly 0; clip the norm "
    "with `torch.nn.utils.clip_grad_norm_`"
)

RULE = Rule(
    name="grad_norm_spikes",
    severity="warning",
    of_training=True,
    every_step=True,
    looks_at="gradient norms",
    says="no single step of a training has a gradient far above those of all other steps",
    computes="Compares the norm of all gradients of each step with the usual ones: with the norm "
    "that 90 % of the steps do not exceed, and the largest of the first 5 steps, whichever is "
    "larger. Fails if a later step is above it by `factor`. At least 10 norms are needed. They are "
    "those that the optimizer used, after clipping. Steps that GradScaler skipped and those after "
    "the first value that is not finite do not count.",
    formula="norm <= factor * max(90th percentile of all norms, the norms of the first 5 steps)",
    source="Chowdhery et al. 2022 (PaLM), section 5.1: single batches that derail a training",
    fails="one batch with labels of another scale, a log or a division of nearly 0, no clipping",
    mend="remove or mend the batch, clip the norm of the gradients",
    example="{rule: grad_norm_spikes, factor: 1000}",
    options=(RuleOption("factor", "number", "the largest ratio to the usual norms", _FACTOR),),
    judge=judge,
)
