"""`optimizer_steps`: a backward is followed by a step that changes parameters."""

from __future__ import annotations

from collections.abc import Iterator

from hookcli.report.report import Report
from hookcli.report.training import TrainingReport
from hookcli.rules.rule import Options, Rule, RuleFinding, not_a_training, passed, skipped
from hookcli.rules.training.series import script_line
from hookcli.text import counted

_LEAST = 2  # backward passes


def judge(report: Report, options: Options) -> Iterator[RuleFinding]:
    """Yield a finding if backward passes change no parameter, and no optimizer makes a step."""
    training = report.training
    if training is None:
        yield not_a_training()
        return
    if training.unit == "optimizer":
        made = training.total - training.skipped
        yield passed(counted(made, "step") + " of the optimizer") if made else skipped("no step")
        return
    known = [row.changed for row in training.updates if row.changed is not None]
    if training.total < _LEAST or not known:
        yield skipped("no two backward passes were compared")
    elif any(known):
        yield passed("parameters are changed without an optimizer")
    else:
        message = (
            f"{counted(training.total, 'backward pass', 'backward passes')}, but no step of an "
            "optimizer: no parameter changes"
        )
        yield RuleFinding(
            "fail", "", "no step", message, 0, 1, script_line(report, "backward"),
            advice="call `optimizer.step()` after backward",
        )  # fmt: skip


def judge_run(report: TrainingReport, options: Options) -> Iterator[RuleFinding]:
    """Yield why nothing can be judged, if the script trained nothing."""
    if not report.records:
        called = f": it called {counted(len(report.others), 'model')}" if report.others else ""
        yield skipped(f"the script trained no model{called}")


RULE = Rule(
    name="optimizer_steps",
    severity="warning",
    of_training=True,
    every_step=True,
    looks_at="optimizer steps",
    says="backward passes are followed by a step that changes parameters",
    computes="If backward ran at least twice and no optimizer made a step, some parameter must "
    "differ between the sampled backward passes, as it does if the script changes it by hand.",
    formula="steps of an optimizer > 0, or p after != p before for some parameter",
    source="torch.optim.Optimizer.step",
    fails="a loop with loss.backward() and no optimizer.step(); steps inside an `if` that is never "
    "true, as with an accumulation of more batches than there are",
    mend="call optimizer.step() after backward",
    example="{rule: optimizer_steps, severity: error}",
    judge=judge,
    judge_run=judge_run,
)
