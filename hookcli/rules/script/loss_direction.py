"""`loss_direction`: scores do not become small, reversals reverse, and adversaries disagree."""

from __future__ import annotations

from collections.abc import Iterator

from hookcli.report.training import ScriptFact, TrainingReport
from hookcli.rules.rule import Options, Rule, RuleFinding
from hookcli.rules.script.facts import facts_of, findings_of, judge_nothing, without_findings

_KINDS = ("reversal", "score_sign", "double_negation", "same_direction", "same_scores")


def judge_run(report: TrainingReport, options: Options) -> Iterator[RuleFinding]:
    """Yield a finding for each loss whose sign is wrong."""
    found = facts_of(report, *_KINDS)
    yield from findings_of(found, _SENTENCES)
    if not found:
        yield without_findings(
            report, ("score_sign",), "no score is made small", "no backward pass was looked at"
        )


def _reversal(fact: ScriptFact) -> tuple[str, str]:
    return (
        f"'{fact.target}' does not reverse gradients: its backward multiplies them by "
        f"{fact.values['factor']:.3g}, with a positive sign",
        "check the sign of its factor: backward must return the gradient times a negative number",
    )


def _score(fact: ScriptFact) -> tuple[str, str]:
    return (
        f"the loss is the score of '{fact.target}' itself, between 0 and 1: the training makes the "
        "overlap small instead of large",
        "return 1 minus the score",
    )


def _same(fact: ScriptFact) -> tuple[str, str]:
    judge, verb = fact.values["judge"], "lower" if fact.values["lowers"] else "raise"
    return (
        f"the steps of '{fact.target}' {verb} the scores that '{judge}' gives to its outputs, and "
        f"so do the steps of '{judge}': the generator does not work against its discriminator",
        f"reverse the sign of the loss of '{fact.target}', or give it the labels of real samples",
    )


def _negation(fact: ScriptFact) -> tuple[str, str]:
    return (
        f"{fact.target} has maximize=True, and the loss is negated: together they minimize what "
        "is negated",
        "remove maximize=True, or the minus sign",
    )


def _blind(fact: ScriptFact) -> tuple[str, str]:
    values = fact.values
    verb, maker = "lower" if values["lowers"] else "raise", values["maker"]
    return (
        f"the steps of '{fact.target}' {verb} the scores of the outputs of '{maker}' and those of "
        f"other samples alike, at all {values['looks']} looks: it does not tell them apart",
        "check the signs and brackets of its loss: one of the two terms must have the other sign",
    )


_SENTENCES = {
    "same_scores": _blind,
    "reversal": _reversal,
    "score_sign": _score,
    "double_negation": _negation,
    "same_direction": _same,
}

RULE = Rule(
    name="loss_direction",
    severity="warning",
    of_training=True,
    looks_at="the sign of the loss",
    says="a training does not make a score small, and adversaries work against each other",
    computes="Compares the gradients before and behind each autograd Function that is named as a "
    "reversal. Fails if none of them is reversed, at the looks where they are not zero. Fails too "
    "if the script calls a function or module that is named after a score, such as dice or iou, "
    "and the loss is a mean of quotients of sums between 0 and 1, with no minus in the graph. "
    "Fails if the steps of a generator change the scores of its outputs in the same direction as "
    "those of its discriminator, which gets them without their graph, and which changes the "
    "scores of other samples in the opposite direction; and if the steps of a discriminator change "
    "both in one direction, at five looks or more. A loss that the script negates, and an "
    "optimizer with maximize=True, fail too.",
    formula="grad(input) = -factor * grad(output) of a reversal; loss = 1 - score",
    source="Ganin and Lempitsky 2015, Unsupervised Domain Adaptation by Backpropagation; "
    "Milletari et al. 2016, V-Net",
    fails="a schedule of the factor of a reversal with the wrong sign; return dice.mean()",
    mend="return the gradient times a negative number; return 1 - dice.mean(); label the outputs "
    "of the generator as real in its own loss",
    example="{rule: loss_direction, severity: error}",
    judge=judge_nothing,
    judge_run=judge_run,
)
