"""`finite_steps`: the loss and the gradients of each step are finite."""

from __future__ import annotations

from collections.abc import Iterator

from hookcli.report.report import Report
from hookcli.rules.rule import Options, Rule, RuleFinding, not_a_training, passed, unseen
from hookcli.rules.training.series import first_bad, series
from hookcli.text import counted


def judge(report: Report, options: Options) -> Iterator[RuleFinding]:
    """Yield a finding for the first step whose loss or gradient norm is not finite."""
    training = report.training
    if training is None:
        yield not_a_training()
        return
    bad = first_bad(training)
    losses, norms = series(training, "loss"), series(training, "grad_norm")
    if bad is None:
        if not losses and not norms:
            yield unseen("no loss and no gradient norm of a step is known")
            return
        what = (
            f"{counted(len(losses), 'loss', 'losses')} and {counted(len(norms), 'gradient norm')}"
        )
        yield passed(f"{what} are finite")
        return
    what = "loss" if isinstance(bad.loss, str) else "gradient"
    value = bad.loss if what == "loss" else bad.grad_norm
    name = "the loss" if what == "loss" else "the norm of all gradients"
    message = f"{name} is {value} at step {bad.step:,}"
    earlier = losses if what == "loss" else norms
    if earlier:
        step, last = earlier[-1]
        message += f"; at step {step:,} it was {last:.4g}"
    yield RuleFinding(
        "fail", "", what, message, value, 0, report.model.place, cause="finite", step=bad.step,
        advice=_ADVICE,
    )  # fmt: skip


_ADVICE = "pass `--stop-on nonfinite` to `hookcli run`: it names the layer and saves the batch"

RULE = Rule(
    name="finite_steps",
    early=True,
    severity="error",
    of_training=True,
    every_step=True,
    looks_at="losses",
    says="the loss and the gradients of each step of a training are finite",
    computes="Looks at the loss and the norm of all gradients of each known step. A step that "
    "GradScaler skipped does not count: its gradients overflow in float16, and it is meant to be "
    "skipped. A finding names the first step, and the last finite value before it.",
    formula="isfinite(loss) and isfinite(norm(all gradients)), at each step that was not skipped",
    source="Micikevicius et al. 2018, Mixed Precision Training; smdebug NanLoss",
    fails="a learning rate that is too large; the log of a probability that becomes 0",
    mend="run it with `--stop-on nonfinite`, which names the layer and saves the batch; lower the "
    "learning rate, or clip the gradients",
    example="{rule: finite_steps}",
    judge=judge,
)
