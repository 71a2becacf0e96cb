"""`double_softmax`: a loss does not get probabilities where it computes them itself."""

from __future__ import annotations

import math
from collections.abc import Iterator

from hookcli.report.findings import Measurement
from hookcli.report.report import Report
from hookcli.rules.rule import Options, Rule, RuleFinding, passed
from hookcli.rules.trainability.losses import without_loss
from hookcli.rules.training.series import script_line
from hookcli.spec.checks import BACKWARD, request_probe

PROBE = "loss_inputs"


def _sentence(measurement: Measurement) -> tuple[str, str]:
    """Return the message about one loss, and what to try."""
    value = measurement.value
    loss, gets, kind = value["loss"], value["gets"], value["module"]
    where = f"'{measurement.target}'" if measurement.target else "the model's forward"
    source = f"the {gets}" if kind is None else f"the {gets} of {where}"
    if loss == "nll_loss" and gets == "logits":
        return (
            "nll_loss gets logits instead of log-probabilities: they do not sum to 1, and the loss "
            "falls without limit",
            "use cross_entropy, or log_softmax before nll_loss",
        )
    if loss == "ctc_loss":
        what = "logits" if gets == "logits" else source
        return (
            f"ctc_loss gets {what} instead of log-probabilities: the probabilities of the classes "
            "do not sum to 1, and the loss can be negative",
            "apply log_softmax over the classes before ctc_loss",
        )
    if loss == "nll_loss":
        return (
            f"nll_loss gets {source} instead of log-probabilities, so the loss is negative",
            "replace softmax by log_softmax, or pass logits to cross_entropy",
        )
    if loss == "cross_entropy":
        width = 2 if gets == "tanh" else 1
        effect = f"so the loss cannot fall below {_floor(value['classes'], width):.3g}"
    else:
        effect = f"so each prediction stays between 0.5 and {1 / (1 + math.exp(-1)):.3g}"
    advice = f"remove the {gets}, and pass logits to {loss}"
    return f"{loss} gets {source} instead of logits, {effect}", advice


def _floor(classes: int, width: int) -> float:
    """Return the smallest cross entropy of values in an interval of a width.

    It is that of the largest value for the right class, and the smallest one for the others.
    """
    return math.log1p((classes - 1) * math.exp(-width))


def judge(report: Report, options: Options) -> Iterator[RuleFinding]:
    """Yield a finding for each loss that gets probabilities instead of logits."""
    found = [m for m in report.measurements if m.probe == PROBE]
    for measurement in found:
        message, advice = _sentence(measurement)
        kind = f"{measurement.value['gets']} in {measurement.value['loss']}"
        place = measurement.value["place"] or script_line(report, "loss")
        yield RuleFinding("fail", measurement.target, kind, message, place=place, advice=advice)
    if not found:
        yield without_loss(report) or passed("no loss gets probabilities instead of logits")


RULE = Rule(
    name="double_softmax",
    early=True,
    severity="warning",
    diagnoses=True,
    looks_at="the loss",
    says="cross_entropy gets logits and nll_loss log-probabilities, not the output of a softmax",
    computes="Follows the autograd graph from the loss: the input of cross_entropy must not be the "
    "output of a softmax over the same dimension, of a sigmoid or of tanh, that of nll_loss not a "
    "softmax without log, nor logits, that of ctc_loss neither of these, and "
    "that of binary_cross_entropy_with_logits not a sigmoid or softmax. Only views, casts, "
    "selections and a product with a constant matrix whose rows sum to 1 may be in between. With "
    "probabilities the smallest cross entropy of C classes is log(1 + (C - 1) / e), for values of "
    "tanh log(1 + (C - 1) / e^2), and gradients are small. A log_softmax before cross_entropy is "
    "no finding: it changes nothing.",
    formula="input(cross_entropy) != softmax(x); input(nll_loss) != softmax(x); "
    "input(binary_cross_entropy_with_logits) != sigmoid(x), softmax(x)",
    source="torch.nn.CrossEntropyLoss: the input is expected to contain the unnormalized logits",
    fails="nn.Sequential(..., nn.Softmax(dim=1)) with nn.CrossEntropyLoss",
    mend="remove the softmax from the model; apply it where probabilities are needed, as in "
    "prediction",
    example="{rule: double_softmax}",
    needs=lambda options: (BACKWARD,),
    watches=lambda options: (request_probe(PROBE),),
    judge=judge,
)
