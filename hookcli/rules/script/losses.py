"""`constant_term`, `loss_values` and `entropy_sign`: what the script's loss is computed from."""

from __future__ import annotations

from collections.abc import Iterator

from hookcli.report.training import ScriptFact, TrainingReport
from hookcli.rules.rule import Options, Rule, RuleFinding
from hookcli.rules.script.facts import facts_of, judge_nothing, target_of, without_findings
from hookcli.rules.script.policy_losses import POLICY_SENTENCES
from hookcli.text import counted

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


def _values(report: TrainingReport, options: Options) -> Iterator[RuleFinding]:
    """Yield a finding for each loss function whose inputs or targets it is not made for."""
    facts = [fact for fact in facts_of(report, "loss_values") if _counts(fact, report)]
    for fact in facts:
        message, advice = _SENTENCES[fact.target](fact)
        yield RuleFinding(
            "fail", target_of(fact), fact.target, message, fact.count, 0, fact.place,
            "note" if _is_note(fact) else None, advice=advice,
        )  # fmt: skip
    if not facts:
        yield without_findings(
            report,
            ("loss_values",),
            "losses get values that they are made for",
            "no backward pass was looked at",
        )


def _is_note(fact: ScriptFact) -> bool:
    """Return whether a fact may be meant."""
    few = fact.target == "dropped" and fact.values["p"] < _DROPPED
    return few or fact.target in _NOTES or bool(fact.values.get("exclusive"))


def _counts(fact: ScriptFact, report: TrainingReport) -> bool:
    """Return whether a fact is a finding: a loss is made large on purpose in turn with another."""
    return fact.target != "negated" or (len(report.records) == 1 and fact.count >= _LEAST)


def _ctc(fact: ScriptFact) -> tuple[str, str]:
    blank, many = fact.values["blank"], fact.values["labels"]
    return (
        f"ctc_loss gets {counted(many, 'label')} of class {blank}, which is its blank: a label "
        "cannot be blank",
        "pass the class of the blank as `blank` to CTCLoss, or begin the labels with 1",
    )


def _ctc_input(fact: ScriptFact) -> tuple[str, str]:
    low, high = fact.values["low"], fact.values["high"]
    return (
        "ctc_loss gets values that are no log-probabilities: over the classes, their exp adds up "
        f"to {low:.3g} to {high:.3g} instead of 1",
        "apply log_softmax over the classes before ctc_loss",
    )


def _kl_div(fact: ScriptFact) -> tuple[str, str]:
    name = fact.values["input"]
    return (
        f"kl_div gets probabilities in '{name}' instead of log-probabilities, so that it is no "
        "divergence: it can be negative",
        f"replace softmax by log_softmax in '{name}'",
    )


def _binary(fact: ScriptFact) -> tuple[str, str]:
    low, high = fact.values["low"], fact.values["high"]
    return (
        f"binary_cross_entropy_with_logits gets targets from {low:.4g} to {high:.4g}, which must "
        "be between 0 and 1: the loss has no lower bound",
        "scale the targets to 0 and 1",
    )


def _nll(fact: ScriptFact) -> tuple[str, str]:
    low, high, over = fact.values["low"], fact.values["high"], fact.values.get("over")
    return (
        "nll_loss gets values that are no log-probabilities: over the classes, their exp adds up "
        f"to {low:.3g} to {high:.3g} instead of 1"
        + ("" if over is None else f"; log_softmax is over dimension {over}"),
        "pass logits to cross_entropy, or apply log_softmax over dimension 1",
    )


def _regression(fact: ScriptFact) -> tuple[str, str]:
    values = fact.values
    return (
        f"a loss compares the result of {values['what']} with targets from {values['low']:.4g} to "
        f"{values['high']:.4g}: the model cannot reach {values['share']:.0%} of them",
        "remove the activation from the end of the model, or scale the targets to its range",
    )


def _relu(fact: ScriptFact) -> tuple[str, str]:
    return (
        f"{fact.values['loss']} gets the result of a ReLU as logits: no logit is negative, and "
        "those that are 0 have no gradient",
        "remove the ReLU from the end of the model",
    )


def _cosines(fact: ScriptFact) -> tuple[str, str]:
    many, least = fact.values["classes"], fact.values["least"]
    return (
        f"cross_entropy gets cosines, between -1 and 1, as logits without a temperature: with "
        f"{many:,} classes the loss cannot fall below {least:.3g}",
        "divide the cosines by a temperature, such as 0.07, or multiply them by a scale",
    )


def _negated(fact: ScriptFact) -> tuple[str, str]:
    return (
        f"the loss is {fact.values['loss']} with a minus sign: each step makes the error larger",
        "remove the minus sign: an optimizer minimizes",
    )


def _kl_mean(fact: ScriptFact) -> tuple[str, str]:
    return (
        "kl_div averages over all elements, with reduction 'mean': it is "
        f"{fact.values['size']:,} times smaller than the divergence",
        "pass reduction='batchmean'",
    )


def _padding(fact: ScriptFact) -> tuple[str, str]:
    values = fact.values
    return (
        f"{values['share']:.0%} of the labels of cross_entropy are {values['token']}, at the end "
        f"of each sequence, as padding: ignore_index is {values['ignored']}, so that they count",
        f"pass ignore_index={values['token']} to cross_entropy",
    )


def _sigmoid(fact: ScriptFact) -> tuple[str, str]:
    return (
        "cross_entropy gets the result of a sigmoid as logits, between 0 and 1, so that the loss "
        f"cannot fall below {fact.values['least']:.3g}",
        "remove the sigmoid, or use binary_cross_entropy for labels that do not exclude each other",
    )


def _one_class(fact: ScriptFact) -> tuple[str, str]:
    return (
        "cross_entropy gets the logits of one class: its softmax is 1, and the loss is always 0",
        "give the model an output for each class, or use binary_cross_entropy_with_logits",
    )


def _swapped(fact: ScriptFact) -> tuple[str, str]:
    loss = fact.values["loss"]
    return (
        f"{loss} gets the prediction as its target: only its second argument has a gradient",
        f"swap the arguments of {loss}: the prediction is the first one",
    )


def _kl_reversed(fact: ScriptFact) -> tuple[str, str]:
    return (
        "kl_div gets the prediction as its target: it is the divergence of the prediction from a "
        "fixed distribution, not that of the other direction",
        "swap the arguments of kl_div, unless the reverse divergence is meant",
    )


_DROPPED = 0.2  # of the outputs: so few are a regularization, as in PyTorch's tutorial of names
_NOTES = ("kl_mean", "kl_reversed", "masked_mean", "single_norm", "divergence_mean",
          "divergence_sum", "bare_returns", "squared_shares")  # fmt: skip


def _squared_shares(fact: ScriptFact) -> tuple[str, str]:
    return (
        f"mse_loss compares a softmax over {fact.values['classes']:,} classes with one-hot labels: "
        "where the softmax is wrong and near 1, it has hardly any gradient",
        "pass the logits and the number of the class to cross_entropy",
    )


def _divergence_mean(fact: ScriptFact) -> tuple[str, str]:
    values = fact.values
    return (
        f"the KL term of the loss is a mean over {values['latents']:,} latent values, and the "
        f"reconstruction a sum over {values['elements']:,} elements: the KL term counts "
        f"{values['latents']:,} times too little",
        "sum both terms over the elements of a sample",
    )


def _divergence_sum(fact: ScriptFact) -> tuple[str, str]:
    values = fact.values
    return (
        f"the reconstruction of the loss is a mean over {values['elements']:,} elements, and the "
        f"KL term a sum over {values['latents']:,} latent values: the KL term counts "
        f"{values['elements']:,} times too much",
        "sum both terms over the elements of a sample",
    )


def _masked_mean(fact: ScriptFact) -> tuple[str, str]:
    share = fact.values["share"]
    return (
        f"a mean of the loss counts all elements, {share:.0%} of which a mask sets to zero: it is "
        f"{1 / (1 - share):.3g} times smaller than the mean of the others",
        "divide the sum by the sum of the mask",
    )


def _single_norm(fact: ScriptFact) -> tuple[str, str]:
    dims, shape = fact.values["dims"], fact.values["shape"]
    over = "dimension" if len(dims) == 1 else "dimensions"
    return (
        f"a norm in the loss is over {over} {', '.join(map(str, dims))} of {shape}, of size 1: it "
        "is the absolute value of each element",
        "flatten the dimensions of a sample before its norm: `x.flatten(1).norm(dim=1)`",
    )


def _relu_probability(fact: ScriptFact) -> tuple[str, str]:
    if fact.values["inner"]:
        return (
            "binary_cross_entropy gets the sigmoid of a ReLU, so that no prediction is below 0.5",
            "remove the ReLU in front of the sigmoid",
        )
    return (
        "binary_cross_entropy gets the result of a ReLU, which is no probability: it is 0 without "
        "a gradient, or has no upper bound",
        "replace the ReLU by a sigmoid, or pass logits to binary_cross_entropy_with_logits",
    )


def _softmax_binary(fact: ScriptFact) -> tuple[str, str]:
    many = fact.values["classes"]
    if fact.values["exclusive"]:
        return (
            f"binary_cross_entropy gets a softmax over {many:,} classes, and each sample has one: "
            "cross_entropy of the logits is the loss for it",
            "pass logits and the number of the class to cross_entropy",
        )
    return (
        f"binary_cross_entropy gets a softmax over {many:,} classes, whose shares add up to 1, but "
        "the targets of a sample do not: the model cannot give two classes, or none",
        "replace the softmax by a sigmoid",
    )


def _dropped(fact: ScriptFact) -> tuple[str, str]:
    return (
        f"dropout with p={fact.values['p']:.3g} is applied to the outputs that the loss gets: it "
        "sets predictions to zero",
        "move the dropout in front of the last layer",
    )


def _over_samples(fact: ScriptFact) -> tuple[str, str]:
    rows, classes = fact.values["shape"]
    return (
        f"a softmax of shape [{rows:,}, {classes:,}] is over dimension 0, the samples, and "
        "the loss picks a class of each sample: its probabilities do not add up to 1",
        "use `softmax(dim=-1)`",
    )


def _signs(fact: ScriptFact) -> tuple[str, str]:
    loss = fact.values["loss"]
    return (
        f"{loss} gets targets of 0 and 1: they must be -1 and 1",
        f"pass `2 * target - 1` to {loss}",
    )


_SENTENCES = {
    **POLICY_SENTENCES,
    "squared_shares": _squared_shares,
    "divergence_mean": _divergence_mean,
    "divergence_sum": _divergence_sum,
    "relu_probability": _relu_probability,
    "softmax_binary": _softmax_binary,
    "dropped": _dropped,
    "signs": _signs,
    "over_samples": _over_samples,
    "masked_mean": _masked_mean,
    "single_norm": _single_norm,
    "regression": _regression,
    "relu": _relu,
    "cosines": _cosines,
    "negated": _negated,
    "kl_mean": _kl_mean,
    "padding": _padding,
    "sigmoid": _sigmoid,
    "one_class": _one_class,
    "swapped": _swapped,
    "kl_reversed": _kl_reversed,
    "nll_loss": _nll,
    "ctc_loss": _ctc,
    "ctc_input": _ctc_input,
    "kl_div": _kl_div,
    "binary_cross_entropy_with_logits": _binary,
}


def _entropy(report: TrainingReport, options: Options) -> Iterator[RuleFinding]:
    """Yield a finding for each policy whose entropy the loss makes small."""
    facts = facts_of(report, "entropy_sign")
    found = False
    for fact in facts:
        if fact.values["sign"] < 0 or fact.count < _LEAST:
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

VALUES = Rule(
    name="loss_values",
    early=True,
    severity="warning",
    of_training=True,
    looks_at="the loss",
    says="the loss functions of a script get values that they are made for",
    computes="Looks at what the loss functions get in some steps. Labels of ctc_loss must not be "
    "the class of its blank. The input of kl_div must not be probabilities: values between 0 and 1 "
    "that add up to 1 along a dimension. The exp of the input of nll_loss and ctc_loss must add up "
    "to 1 over the classes. Targets of binary_cross_entropy_with_logits must be between 0 and 1; "
    "one other value may mark elements that the script leaves out. Those of soft_margin_loss, "
    "hinge_embedding_loss, margin_ranking_loss and cosine_embedding_loss must be -1 and 1. The "
    "input of binary_cross_entropy must not be a ReLU's result, nor a softmax, which is a note if "
    "each sample has one class. No dropout may be between the last layer and a loss. A mean is a "
    "note if a mask sets half of it to zero or more, as is a norm over dimensions of size 1.",
    formula="labels != blank; input(kl_div) <= 0; 0 <= targets(binary_cross_entropy) <= 1",
    source="torch.nn.CTCLoss: targets cannot be blank; torch.nn.KLDivLoss: input in log space",
    fails="nn.CTCLoss() with labels from 0; F.kl_div(softmax(x), target); targets of -1 and 1",
    mend="set blank to the class that no label has; replace softmax by log_softmax",
    example="{rule: loss_values, severity: error}",
    judge=judge_nothing,
    judge_run=_values,
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
