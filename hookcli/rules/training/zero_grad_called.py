"""`zero_grad_called`: gradients of a step are not added to those of the next one."""

from __future__ import annotations

from collections.abc import Iterator

from hookcli.report.report import Report
from hookcli.rules.rule import Options, Rule, RuleFinding, not_a_training, passed, skipped, unseen
from hookcli.rules.training.series import script_line, series

_LEAST = 2  # steps
_UNSEEN = "it was not seen whether gradients are reset"


def judge(report: Report, options: Options) -> Iterator[RuleFinding]:
    """Yield a finding if the gradients of each step were still there in the next one."""
    training = report.training
    if training is None:
        yield not_a_training()
    elif training.never_zeroed is None or training.total < _LEAST:
        few = training.total < _LEAST
        why = "no two steps in a row were observed" if few else _UNSEEN
        yield skipped(why) if few else unseen(why)
    elif training.unit == "backward":
        yield skipped("no optimizer makes steps, so no step ends the use of a gradient")
    elif not training.never_zeroed:
        yield passed("gradients are reset between steps")
    else:
        norms = series(training, "grad_norm")
        growth = ""
        if norms and norms[-1][1] > norms[0][1]:
            (first, low), (last, high) = norms[0], norms[-1]
            growth = f"; their norm is {low:.3g} at step {first:,} and {high:.3g} at {last:,}"
        message = (
            "zero_grad is never called: each backward adds to the gradients of all steps before"
        )
        place = script_line(report, "backward")
        yield RuleFinding(
            "fail", "", "never", message + growth, training.total, 1, place,
            advice="call `optimizer.zero_grad()` before each backward, or after each step",
        )  # fmt: skip


RULE = Rule(
    name="zero_grad_called",
    severity="error",
    of_training=True,
    looks_at="gradients",
    says="gradients are reset between the steps of an optimizer",
    computes="At sampled steps, and at all steps until a reset is seen, compares the gradients at "
    "the beginning of backward with those that the optimizer's last step left. If each of its "
    "parameters still has the same one, by its norm, at each of these steps, nothing resets them. "
    "Accumulation resets them once a step, and passes. Gradients that are scaled down, or of which "
    "some are reset, are not judged.",
    formula="grad before the backward of a step is None, or not that of the last step",
    source="torch.optim.Optimizer.zero_grad; torch.Tensor.backward: gradients accumulate",
    fails="a loop with loss.backward() and optimizer.step(), without optimizer.zero_grad()",
    mend="call optimizer.zero_grad() before each backward, or after each step",
    example="{rule: zero_grad_called}",
    judge=judge,
)
