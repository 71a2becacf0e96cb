"""`optimizer_model`: an optimizer holds the parameters of the model that is trained."""

from __future__ import annotations

from collections.abc import Iterator

from hookcli.report.report import Report
from hookcli.report.steps import TrainingInfo
from hookcli.rules.rule import Options, Rule, RuleFinding, not_a_training, passed, skipped
from hookcli.rules.training.series import (
    NO_OPTIMIZER,
    calls_without_graph_only,
    script_line,
    statuses,
)
from hookcli.text import counted, join_names


def judge(report: Report, options: Options) -> Iterator[RuleFinding]:
    """Yield a finding if parameters of the optimizer are not those of the model that runs."""
    training = report.training
    if training is None:
        yield not_a_training()
        return
    optimizer = training.optimizer
    if optimizer is None or not training.total:
        yield skipped(NO_OPTIMIZER)
        return
    place = script_line(report, "optimizer")
    if _is_idle(report, training):
        many = counted(optimizer.parameters, "parameter")
        reason, advice = _why_idle(training)
        message = f"none of the {many} of {optimizer.type} gets a gradient in any step{reason}"
        yield RuleFinding(
            "fail", "", "idle", message, 0, optimizer.parameters, place, "error",
            cause="optimizer_model", advice=advice,
        )  # fmt: skip
    elif optimizer.elsewhere_idle:
        are, get = ("is", "gets") if optimizer.elsewhere_idle == 1 else ("are", "get")
        message = (
            f"{optimizer.elsewhere_idle:,} of {counted(optimizer.parameters, 'parameter')} of "
            f"{optimizer.type} {are} not in this model, and {get} no gradient in any step"
        )
        if training.unheld:
            names = join_names([f"'{name}'" for name in training.unheld], 2)
            verb = "is" if len(training.unheld) == 1 else "are"
            message += (
                f"; {names} of the model {verb} in no optimizer, as if a layer was replaced after "
                "the optimizer was constructed"
            )
        yield RuleFinding(
            "fail", "", "elsewhere", message, optimizer.elsewhere_idle, 0, place, advice=_ADVICE
        )
    else:
        yield passed(f"the parameters of {optimizer.type} are those of the model that runs")


def _why_idle(training: TrainingInfo) -> tuple[str, str]:
    """Return why no parameter gets a gradient, as far as that is known, and what to try."""
    if training.calls == 0:
        return ": their model is never called", _ADVICE
    if not any(row.backwards for row in training.steps):
        return ": no backward pass runs before a step", "call `loss.backward()` before each step"
    if calls_without_graph_only(training):
        return (
            ": their model is called under no_grad only",
            "call the model with gradients, outside of `torch.no_grad()`",
        )
    return "", (
        "check that the loss depends on the output of the model, and that nothing erases the "
        "gradients between backward and the step"
    )


def _is_idle(report: Report, training: TrainingInfo) -> bool:
    """Return whether no parameter of the optimizer has a gradient in any sampled step."""
    optimizer = training.optimizer
    rows = [row for row in training.steps if row.sampled and row.missing is not None]
    if optimizer is None or not rows:
        return False
    if any(row.missing != optimizer.parameters for row in rows):
        return False
    held = {row.name for row in training.updates}
    found = {status for row in report.parameters if row.name in held for _, status in statuses(row)}
    return found <= {"none", "frozen"}


_ADVICE = "construct the optimizer after the model has been replaced, copied or loaded"

RULE = Rule(
    name="optimizer_model",
    severity="warning",
    of_training=True,
    every_step=True,
    looks_at="optimizers",
    says="an optimizer has the parameters of the model that is trained",
    computes="Counts the parameters of the optimizer whose gradient is None at every sampled step. "
    "All of them: it has the parameters of a model that is never called, which is an error. Those "
    "that are not in the model that runs: a part of them is of another model. Parameters of the "
    "model itself without a gradient are for `grad_exists`.",
    formula="p in optimizer implies p.grad is not None at some sampled step",
    source="torch.optim: construct the optimizer after the model has been moved or changed",
    fails="model = copy.deepcopy(model) after the optimizer was constructed; a model that is built "
    "again in the loop over folds",
    mend="construct the optimizer after the model that is trained",
    example="{rule: optimizer_model}",
    judge=judge,
)
