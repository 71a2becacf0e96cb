"""`wrong_backward`: the backward of a custom Function is the derivative of its forward."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from hookcli.report.report import Report
from hookcli.rules.rule import FAKE, NO_BACKWARD, Options, Rule, RuleFinding, passed, skipped
from hookcli.spec.checks import BACKWARD, request_probe

FUNCTIONS, PROBE = "custom_functions", "function_gradients"


def judge(report: Report, options: Options) -> Iterator[RuleFinding]:
    """Yield a finding for each Function whose gradients differ from differences of its results."""
    if report.run.loss is None:
        yield skipped(NO_BACKWARD)
        return
    if report.run.tensors == "fake":
        yield skipped(FAKE)
        return
    found = [m.value for m in report.measurements if m.probe == PROBE]
    wrong = [value for value in found if isinstance(value, Mapping) and "function" in value]
    for value in wrong:
        message = (
            f"the backward of `{value['function']}` is not the derivative of its forward: along "
            f"'{value['argument']}' it is {value['backward']:.3g}, numeric differences are "
            f"{value['difference']:.3g}"
        )
        yield RuleFinding(
            "fail", "", f"backward of {value['function']}", message, value["backward"],
            value["difference"], value["place"],
            advice=f"correct `{value['function']}.backward`, and test it with "
            "`torch.autograd.gradcheck`",
        )  # fmt: skip
    if not wrong:
        yield passed("no backward of a custom Function differs from numeric derivatives")


RULE = Rule(
    name="wrong_backward",
    severity="warning",
    diagnoses=True,
    looks_at="custom Functions",
    says="the backward of a custom autograd Function is the derivative of its forward",
    computes="Calls each torch.autograd.Function in the user's files that the loss depends on "
    "again, in float64, with the arguments of the run. Its gradient is compared with central "
    "differences in 4 random directions of each argument, with two sizes of step. Nothing is said "
    "if the sizes disagree, as at a corner, if the result is constant nearby, as of a "
    "straight-through estimator, if the forward is the identity, as of a gradient reversal, if the "
    "gradient is a multiple of the derivative (other than the gradient of a product with a number, "
    "returned as it came), or is not linear in the gradient that backward "
    "gets, and if the Function does not run in float64 or with the same result twice.",
    formula="|<backward(u), v> - <u, (f(x + hv) - f(x - hv)) / 2h>| <= 5% of the larger one",
    source="torch.autograd.gradcheck; mattmacy/torchbiomed#2",
    fails="return grad * s * (1 - s) in the backward of x * sigmoid(x)",
    mend="correct the backward, and test it with torch.autograd.gradcheck",
    example="{rule: wrong_backward, severity: error}",
    needs=lambda options: (BACKWARD, request_probe(FUNCTIONS), request_probe(PROBE)),
    watches=lambda options: (request_probe(FUNCTIONS), request_probe(PROBE)),
    judge=judge,
)
