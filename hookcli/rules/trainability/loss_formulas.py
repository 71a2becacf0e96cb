"""`clipped_logits`, `noise_scale`, `loss_sign` and `token_targets`: the formula of a loss."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from hookcli.report.findings import Measurement, Severity
from hookcli.report.report import Report
from hookcli.rules.rule import FAKE, Options, Rule, RuleFinding, passed, skipped
from hookcli.rules.select import rows_with
from hookcli.rules.trainability.losses import without_loss
from hookcli.rules.training.series import maximizes, script_line
from hookcli.spec.checks import BACKWARD, request_probe

INPUTS = "loss_inputs"  # what `double_softmax` judges
ENDS = "relu_outputs"
VARIANCES = "log_variances"
LOGITS, NOISE, SIGNS, TOKENS = "logit_activations", "noise_scales", "loss_signs", "token_targets"


def _place(report: Report, one: Measurement) -> str | None:
    return one.value["place"] or script_line(report, "loss")


def _found(report: Report, probe: str) -> list[Measurement]:
    return [m for m in report.measurements if m.probe == probe and isinstance(m.value, dict)]


def _without(report: Report) -> RuleFinding | None:
    return skipped(FAKE) if report.run.tensors == "fake" else without_loss(report)


def _of(one: Measurement, what: str) -> str:
    """Return a function with the module that it runs in."""
    if one.value["module"] is None:
        return what
    name = f"'{one.target}'" if one.target else "the model"
    return f"{what} in {name} ({one.value['module']})"


def _judge(
    probe: str,
    sentence: Callable[[Measurement], tuple[str, str, str]],
    fine: str,
    severity: Callable[[dict[str, Any]], Severity | None] = lambda _: None,
    *,
    of_sign: bool = False,
) -> Callable[[Report, Options], Iterator[RuleFinding]]:
    """Return the judge of a rule that has a finding for each measurement of a probe."""

    def judge(report: Report, options: Options) -> Iterator[RuleFinding]:
        uphill = of_sign and maximizes(report.training)
        found = [] if uphill else _found(report, probe)
        for one in found:
            kind, message, advice = sentence(one)
            yield RuleFinding(
                "fail", one.target, kind, message, place=_place(report, one),
                severity=severity(one.value), advice=advice,
            )  # fmt: skip
        if not found:
            yield _without(report) or passed(fine)

    return judge


def _clipped(one: Measurement) -> tuple[str, str, str]:
    activation, by = one.value["activation"], one.value["by"]
    effect = {
        "tanh": "the result is at most 0.762, however large the values are",
        "relu": "negative logits become 0, and get no gradient",
        "hardtanh": "negative logits become 0, and get no gradient",
        "softmax": "its values between 0 and 1 are made nearly equal",
        "sigmoid": "its values between 0 and 1 are made nearly equal",
    }[activation]
    if by == "sigmoid" and activation in {"softmax", "sigmoid"}:
        effect = "values between 0 and 1 become values between 0.5 and 0.731"
    if activation == "tanh":
        advice = "remove one of them"
        return f"{activation} before {by}", f"{by} gets the result of tanh: {effect}", advice
    return (
        f"{activation} before {by}",
        f"{by} gets the result of {_of(one, activation)}: {effect}",
        f"remove the {activation}: {by} must get the output of a linear layer",
    )


def _noise(one: Measurement) -> tuple[str, str, str]:
    exponent, noise = one.value["exponent"], one.value["noise"]
    variance = f"the loss takes {_exp(exponent)} for its variance"
    advice = f"multiply by `exp({exponent / 2:g} * x)`: the scale is the root of the variance"
    if one.value.get("floor"):
        message = (
            f"noise is multiplied by {_exp(noise)}, and x is the result of {one.value['floor']}, "
            "never negative: the deviation is 1 or more"
        )
        advice = f"remove the {one.value['floor']}: the log of a variance has no limit"
        return "floor", message, advice
    if one.value["linear"]:
        message = f"noise is multiplied by x itself, but {variance}: the scale may be negative"
    elif noise is not None:
        message = f"noise is multiplied by {_exp(noise)}, but {variance}, not {_exp(2 * noise)}"
    else:
        message = (
            f"the KL term of the loss is smallest where the variance {_exp(exponent)} is "
            f"{one.value['best']:g}, not 1: a factor or a square is missing"
        )
        return "divergence", message, "use `1 + log_var - mu.pow(2) - log_var.exp()`"
    return "noise", message, advice


def _judge_noise(report: Report, options: Options) -> Iterator[RuleFinding]:
    """Yield a finding for noise of another scale; the code tells it of a model without its loss."""
    rows = rows_with(report, VARIANCES, "what")
    if _found(report, NOISE) or not rows:
        judge = _judge(NOISE, _noise, "no noise has another scale than the loss is about")
        yield from judge(report, options)
        return
    for name, value in rows:
        what = value["what"]
        message = (
            f"noise is scaled by `{what}`, which is the variance by its name: the standard "
            "deviation is its root"
        )
        yield RuleFinding(
            "fail", name, "variance", message, place=value["place"],
            advice="use `(0.5 * log_var).exp()`",
        )  # fmt: skip


def _exp(factor: float) -> str:
    return "exp(x)" if factor == 1 else f"exp({factor:g} x)"


_SIGNS = {
    "divergence": (
        "the KL term of the loss has the wrong sign: it falls without limit as x - exp(x)",
        "use `-0.5 * (1 + log_var - mu.pow(2) - log_var.exp())`",
    ),
    "log_variance": (
        "the log of the variance has the wrong sign in the KL term of the loss: it is added to the "
        "variance, and the sum has no least value",
        "use `0.5 * (log_var.exp() + mu.pow(2) - 1 - log_var)`",
    ),
    "overlap": (
        "the loss is a score, such as dice or IoU, with the wrong sign: training makes the overlap "
        "of predictions and targets small",
        "subtract the score from 1, as in `loss = 1 - dice`",
    ),
    "log_probability": (
        "the loss grows with the log-probability of the targets: training makes them unlikely",
        "negate it, as in `loss = -log_probs.mean()`, or use cross_entropy",
    ),
    "log_likelihood": (
        "the loss is a log-likelihood, by logsigmoid, without a minus sign: training makes the "
        "right answers unlikely",
        "negate it, as in `loss = -logsigmoid(scores).mean()`",
    ),
    "error": (
        "the loss is the negative of an error: training makes the error large",
        "remove the minus sign, unless the model must fail at this",
    ),
}


def _sign(one: Measurement) -> tuple[str, str, str]:
    what = one.value["what"]
    return (what, *_SIGNS[what])


def _targets(one: Measurement) -> tuple[str, str, str]:
    value = one.value
    if value["shift"] == 0:
        return (
            "own token",
            "cross_entropy compares each position with its own input token, not with the next one",
            "shift them, as in `logits[:, :-1]` and `ids[:, 1:]`, if the model predicts tokens",
        )
    padded, targets = value["padded"], value["targets"]
    return (
        "padding",
        f"{padded:,} of {targets:,} targets of cross_entropy are padding, which ignore_index does "
        "not leave out",
        "pass `ignore_index` with the token of padding",
    )


def _judge_tokens(report: Report, options: Options) -> Iterator[RuleFinding]:
    """Yield a note for targets that are the input, and for targets of padding."""
    found = [m for m in _found(report, TOKENS) if m.value["shift"] == 0 or m.value["padded"]]
    for one in found:
        kind, message, advice = _targets(one)
        yield RuleFinding(
            "fail", one.target, kind, message, place=_place(report, one),
            severity="note", advice=advice,
        )  # fmt: skip
    if not found:
        yield _without(report) or passed("no token is its own target, and no target is padding")


def _judge_logits(report: Report, options: Options) -> Iterator[RuleFinding]:
    """Yield a note for each activation before a softmax, unless `double_softmax` finds it."""
    known = {(m.target, m.value["place"]) for m in _found(report, INPUTS)}
    found = [m for m in _found(report, LOGITS) if (m.target, m.value["place"]) not in known]
    for one in found:
        kind, message, advice = _clipped(one)
        yield RuleFinding(
            "fail", one.target, kind, message, place=_place(report, one),
            severity="note", advice=advice,
        )  # fmt: skip
    ends = [] if found else _found(report, ENDS)
    yield from map(_ended, ends)
    if not found and not ends:
        yield _without(report) or passed("no activation is before a softmax")


def _ended(one: Measurement) -> RuleFinding:
    """Return the note that the outputs of the model are those of a ReLU or a clamp."""
    value = one.value
    if value.get("by") == "clamp":
        message = (
            f"the model ends with a clamp behind '{one.target}': the {value['zero']:.0%} of its "
            "outputs that are at an end have no gradient"
        )
        return RuleFinding(
            "fail", one.target, "last clamp", message, place=value["place"], severity="note",
            advice="clamp in evaluation only, or use a sigmoid",
        )  # fmt: skip
    message = (
        f"the model ends with a ReLU behind '{one.target}': none of its {value['outputs']:,} "
        f"outputs is negative, and the {value['zero']:.0%} that are 0 have no gradient"
    )
    return RuleFinding(
        "fail", one.target, "last ReLU", message, place=value["place"], severity="note",
        advice="remove the ReLU, if the outputs are logits or may be negative",
    )  # fmt: skip


def _rule(**fields: Any) -> Rule:
    probes = tuple(map(request_probe, fields.pop("probes")))
    return Rule(
        **fields,
        severity="warning",
        diagnoses=True,
        needs=lambda options: (BACKWARD, *probes),
        watches=lambda options: probes,
    )


CLIPPED = _rule(
    name="clipped_logits",
    probes=(LOGITS, ENDS),
    looks_at="activations",
    says="no activation is directly before a softmax or a sigmoid",
    computes="Follows the autograd graph from the loss. A softmax, log_softmax or sigmoid that "
    "gets the result of a ReLU, a softmax or a sigmoid, with only views in between, is a note: "
    "what it gets has no negative values. So is a ReLU directly behind a linear layer whose result "
    "is the only output of the model, of two dimensions, and zero in a tenth of its values, and a "
    "tanh of a tanh, also if noise is added in between. It is `double_softmax` if a loss gets it "
    "that expects logits.",
    formula="input(softmax) != relu(x); input(sigmoid) != relu(x), softmax(x), sigmoid(x)",
    source="sfujim/BCQ#6; torch.nn.CrossEntropyLoss: the input is the unnormalized logits",
    fails="F.log_softmax(F.relu(self.fc2(x)), dim=1)",
    mend="remove the activation after the last layer",
    example="{rule: clipped_logits}",
    judge=_judge_logits,
)

NOISE_SCALE = _rule(
    name="noise_scale",
    probes=(NOISE, VARIANCES),
    looks_at="the loss",
    says="the noise of a variational model has the scale that its KL term assumes",
    computes="Follows the autograd graph from the loss. A loss with a exp(c x) + b x has a KL "
    "divergence from a normal distribution with the variance exp(c x). Random numbers that are "
    "multiplied by exp(d x) must have c = 2 d, and the term must be smallest at a variance of 1. "
    "Not judged: distributions of torch.distributions, and scales that softplus makes. In the "
    "source of the user's classes, noise and Normal must not get the exponential of a name such as "
    "`log_var` as their scale.",
    formula="z = mu + exp(c x / 2) e; KL = -(1 + c x - mu^2 - exp(c x)) / 2",
    source="Kingma and Welling 2013, appendix B; keras#3283",
    fails="std = torch.exp(logvar), with logvar.exp() in the KL term",
    mend="std = torch.exp(0.5 * logvar)",
    example="{rule: noise_scale, severity: error}",
    judge=_judge_noise,
)

SIGN = _rule(
    name="loss_sign",
    probes=(SIGNS,),
    looks_at="the loss",
    says="a loss falls as the predictions become better",
    computes="Follows the sums and products with numbers that a loss consists of. These terms are "
    "findings: a quotient that grows with the product of a sigmoid or softmax and a target "
    "of 0 and 1 from the batch, as dice and IoU do; log-probabilities that are not negated; x - "
    "exp(x), a KL term of the wrong sign. A loss of negated errors only is a note, as adversarial "
    "training has it.",
    formula="loss = 1 - dice(p, t); loss = -log p(t)",
    source="torch.nn.NLLLoss: the negative log likelihood; Milletari et al. 2016, on dice",
    fails="return {'loss': dice_coefficient(pred, mask)}",
    mend="subtract a score from 1; negate a log-probability",
    example="{rule: loss_sign}",
    judge=_judge(
        SIGNS, _sign, "no term of the loss has the wrong sign",
        lambda value: "note" if value["what"] == "error" else None, of_sign=True,
    ),
)  # fmt: skip

TARGETS = _rule(
    name="token_targets",
    early=True,
    probes=(TOKENS,),
    looks_at="the loss",
    says="the targets of a language model are the next tokens, without padding",
    computes="Compares the targets of cross_entropy with the integers of the batch. Targets that "
    "are the input, position by position, are a note: the model may be an autoencoder. So are "
    "next tokens of which some are the `padding_idx` of the embedding, at the ends of rows, and "
    "not the `ignore_index`.",
    formula="target[i] = ids[i + 1], and target[i] != padding_idx",
    source="torch.nn.CrossEntropyLoss: ignore_index does not contribute to the gradient",
    fails="F.cross_entropy(logits.flatten(0, 1), ids.flatten())",
    mend="shift the targets by one position, and pass ignore_index",
    example="{rule: token_targets}",
    judge=_judge_tokens,
)
