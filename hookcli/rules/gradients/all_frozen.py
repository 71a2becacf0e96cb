"""`all_frozen`: a model in train mode has a parameter that can be trained."""

from __future__ import annotations

from collections.abc import Iterator

from hookcli.report.report import Report
from hookcli.rules.rule import Options, Rule, RuleFinding, passed, skipped
from hookcli.text import counted


def judge(report: Report, options: Options) -> Iterator[RuleFinding]:
    """Yield a finding if every parameter is frozen: a note, unless the model computes a loss."""
    rows = [row for row in report.parameters if row.numel != 0]
    if report.run.mode != "train" or report.training is not None or not rows:
        yield skipped("the model has no parameters, or does not run in train mode")
        return
    if any(row.requires_grad for row in rows):
        yield passed(
            f"{counted(sum(row.requires_grad for row in rows), 'parameter')} can be trained"
        )
        return
    many = counted(len(rows), "parameter")
    message = f"requires_grad is False for all {many}: no optimizer changes the model"
    yield RuleFinding(
        "fail", "", "all frozen", message, 0, 1, report.model.place,
        severity="warning" if _computes_loss(report) else "note",
        advice="call `requires_grad_(True)` on the layers that are trained",
    )  # fmt: skip


def _computes_loss(report: Report) -> bool:
    """Return whether the model returns a loss, which only a training needs."""
    root = next((row for row in report.layers if row.name == ""), None)
    return root is not None and any("loss" in leaf.path for leaf in root.outputs)


RULE = Rule(
    name="all_frozen",
    severity="warning",
    diagnoses=True,
    looks_at="gradients",
    says="a model in train mode has a parameter that can be trained",
    computes="Reads requires_grad of all parameters. If it is False for all, that is a note, and a "
    "warning if the model returns a loss. Not judged: models in eval mode, without parameters, and "
    "those that `hookcli run` observes, of which others may be trained.",
    formula="requires_grad of at least one parameter",
    source="cfzd/Ultra-Fast-Lane-Detection#282",
    fails="a loop over self.parameters() instead of self.backbone.parameters() that freezes",
    mend="call requires_grad_(True) on the layers that are trained",
    example="{rule: all_frozen}",
    judge=judge,
)
