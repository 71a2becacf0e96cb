"""`constant_term` and `entropy_sign`: what the script's loss is computed from."""

from __future__ import annotations

from collections.abc import Iterator

from hookcli.report.training import TrainingReport
from hookcli.rules.rule import Options, Rule, RuleFinding
from hookcli.rules.script.facts import facts_of, judge_nothing, target_of, without_findings
from hookcli.rules.training.series import maximizes

_LEAST = 2  # looks
_FALLS = 0.5  # of the entropy that was seen first


def _constant(report: TrainingReport, options: Options) -> Iterator[RuleFinding]:
    """Yield a finding for each term of a loss that was meant to have a gradient, and has none."""
    found = False
    for fact in facts_of(report, "constant_term"):
        if fact.count < _LEAST:
            continue
        found = True
        values = fact.values
        message = f"the term '{fact.target}' of the loss is a constant, and trains nothing: "
        if values.get("detached"):
            message += f"it is computed from {values['detached']}"
            advice = f"use the tensor itself instead of {values['detached']}"
        elif values["grad"]:
            message += "torch.autograd.grad makes no graph of the gradient that it is computed from"
            advice = "pass `create_graph=True` to torch.autograd.grad"
        else:
            names = [f"'{name}'" for name in values["inputs"]]
            message += f"neither {names[0]} nor {names[1]} has a gradient"
            message += ", and they are equal" if values["equal"] else ""
            advice = "compute one of the two with the model that is trained, outside of no_grad"
        yield RuleFinding(
            "fail", target_of(fact), "constant", message, fact.count, 0, fact.place, advice=advice
        )
    for fact in facts_of(report, "ended_term"):
        found = True
        end, by = fact.values["end"], fact.values["by"]
        what = "a number" if end == "item" else "a constant for autograd"
        where = f" in '{by}'" if by else ""
        reason = "" if end == "item" and not by else f": {end} has no derivative"
        message = (
            f"the term '{fact.target}' of the loss{where} is {what}, and trains nothing{reason}"
        )
        advice = "use the tensor itself, and `.item()` only to print it"
        if reason:
            advice = f"replace {end} by something with a derivative, such as probabilities"
        yield RuleFinding(
            "fail", target_of(fact), "ended", message, fact.count, 0, fact.place, advice=advice
        )
    if not found:
        yield without_findings(
            report,
            ("constant_term",),
            "no term of a loss is a constant",
            "the terms of no loss are known from the source",
        )


def _entropy(report: TrainingReport, options: Options) -> Iterator[RuleFinding]:
    """Yield a finding for each policy whose entropy the loss makes small."""
    facts = facts_of(report, "entropy_sign")
    found = False
    for fact in facts:
        uphill = any(maximizes(one.training) for one in report.records)
        if fact.values["sign"] < 0 or fact.count < _LEAST or uphill:
            continue
        found = True
        message = (
            f"the entropy of the policy, '{fact.target}', is added to the loss with a plus sign: "
            "the policy is pushed to one action before it explores"
        )
        yield RuleFinding(
            "fail", target_of(fact), "sign", message, fact.values["sign"], -1, fact.place,
            advice=f"subtract '{fact.target}' from the loss",
        )  # fmt: skip
    if not found:
        yield without_findings(
            report,
            ("entropy_sign",),
            "the entropy of the policy is subtracted from the loss",
            "no loss has the entropy of a policy",
        )


CONSTANT = Rule(
    name="constant_term",
    severity="warning",
    of_training=True,
    looks_at="the loss",
    says="each term of a loss that compares outputs has a gradient",
    computes="Reads the source of the line that calls backward, and the values of its variables. "
    "Fails if a term of the sum is a tensor without a gradient, although the others have one, and "
    "it is known why: a loss function got two tensors without gradients, or torch.autograd.grad "
    "was called without create_graph since the last backward; or the term is computed from a "
    "tensor that the script detaches. Other constants pass.",
    formula="term.requires_grad for each term of loss = a + b + ...",
    source="torch.autograd.grad: create_graph=True makes derivatives of higher order possible",
    fails="a gradient penalty from torch.autograd.grad(out, x) without create_graph=True; a "
    "distillation loss of the teacher with itself",
    mend="pass create_graph=True; compute the term from the output of the model",
    example="{rule: constant_term, severity: error}",
    judge=judge_nothing,
    judge_run=_constant,
)

ENTROPY = Rule(
    name="entropy_sign",
    severity="warning",
    of_training=True,
    looks_at="the loss",
    says="a loss of a policy gradient does not make the entropy of the policy small",
    computes="Reads the source of the line that calls backward. Fails if the entropy of a "
    "distribution of torch.distributions is added to the loss with a positive factor, and the same "
    "function computes the log_prob of samples from it. Without such samples, as in a loss that "
    "makes predictions certain, it is not judged.",
    formula="loss = ... - factor * entropy, with factor > 0",
    source="Mnih et al. 2016, Asynchronous Methods for Deep Reinforcement Learning, section 4",
    fails="loss = policy_loss + 0.01 * dist.entropy().mean()",
    mend="subtract the entropy from the loss",
    example="{rule: entropy_sign, severity: error}",
    judge=judge_nothing,
    judge_run=_entropy,
)
