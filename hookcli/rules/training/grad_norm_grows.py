"""`grad_norm_grows`: the norm of the gradients does not explode over the steps."""

from __future__ import annotations

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
from hookcli.rules.training.series import (
    below,
    few_norms,
    first_bad,
    middle,
    script_line,
    series,
    thirds,
)

_FACTOR = 100.0
_LEAST = 6  # steps
_TREND = 0.9  # share of pairs in which the later norm is larger


def judge(report: Report, options: Options) -> Iterator[RuleFinding]:
    """Yield a finding if late norms of all gradients are much larger than early ones."""
    training = report.training
    if training is None:
        yield not_a_training()
        return
    norms = [(step, value) for step, value in series(training, "grad_norm") if value > 0]
    if len(norms) < _LEAST:
        yield skipped(few_norms(norms, _LEAST))
        return
    early, late = thirds(norms)
    first, last = middle(early), middle(late)
    if last <= options["factor"] * first or below(early, late) < _TREND:
        yield passed(
            f"the norm of all gradients goes from {first:.3g} to {last:.3g}",
            value=last / first,
            limit=options["factor"],
        )
        return
    step = next(step for step, value in norms if value > options["factor"] * first)
    bad = first_bad(training)
    end = "" if bad is None else f"; at step {bad.step:,} it is not finite"
    message = (
        f"the norm of all gradients explodes: {first:.3g} in the first third of steps, "
        f"{last:.3g} in the last{end}"
    )
    place = script_line(report, "optimizer")
    yield RuleFinding(
        "fail", "", "grows", message, last / first, options["factor"], place,
        advice=_ADVICE, step=step,
    )  # fmt: skip


_ADVICE = "lower the learning rate, or clip the norm with `torch.nn.utils.clip_grad_norm_`"

RULE = Rule(
    name="grad_norm_grows",
    severity="warning",
    of_training=True,
    every_step=True,
    looks_at="gradient norms",
    says="the norm of all gradients does not explode over the steps of a training",
    computes="Compares the median norm of the last third of the known steps with that of the first "
    "third. It explodes if it is larger by `factor`, and a late norm is above an early one in 90 % "
    "of the pairs. At least 6 norms are needed. Steps that GradScaler skipped do not count.",
    formula="median(norm, last third) <= factor * median(norm, first third)",
    source="Pascanu et al. 2013, On the difficulty of training recurrent neural networks",
    fails="a learning rate that is too large: each step overshoots more than the last",
    mend="lower the learning rate, clip the norm, or call zero_grad before each backward",
    example="{rule: grad_norm_grows, factor: 20}",
    options=(RuleOption("factor", "number", "the largest ratio", _FACTOR),),
    judge=judge,
)
