"""`unheld_model`: an optimizer has the parameters of each model that gets gradients."""

from __future__ import annotations

from collections.abc import Iterator

from hookcli.report.training import TrainingReport
from hookcli.rules.rule import Options, Rule, RuleFinding
from hookcli.rules.script.facts import facts_of, judge_nothing, without_findings
from hookcli.text import counted

_KIND = "unheld_root"


def judge_run(report: TrainingReport, options: Options) -> Iterator[RuleFinding]:
    """Yield a finding for each model with gradients none of whose parameters is in an optimizer."""
    facts = facts_of(report, _KIND)
    for fact in facts:
        many = counted(fact.values["parameters"], "parameter")
        message = (
            f"'{fact.target}' is never updated: no optimizer has its {many}, with gradients in "
            f"each step of {fact.values['optimizer']}"
        )
        yield RuleFinding(
            "fail", "", "unheld", message, fact.values["parameters"], 0, fact.place,
            advice=f"pass the parameters of '{fact.target}' to the optimizer too, or freeze them "
            "with `requires_grad_(False)`",
        )  # fmt: skip
    if not facts:
        yield without_findings(
            report, (_KIND,), "no model with gradients is in no optimizer",
            "no optimizer made a step",
        )  # fmt: skip


RULE = Rule(
    name="unheld_model",
    severity="warning",
    of_training=True,
    looks_at="optimizers",
    says="an optimizer has the parameters of each model that gets gradients",
    computes="Looks at the models that the script calls by themselves. Fails if no optimizer has "
    "any parameter of one of them, though all of them require grad, it runs in train mode, and it "
    "has gradients in each step that is looked at. A model whose weights were loaded, or that the "
    "script changes itself, passes. Parts of a model that is trained are for `unheld_parameters`.",
    formula="model.training and grad of its parameters != 0 implies that an optimizer has them",
    source="torch.optim.Optimizer: it changes only the parameters that it was constructed with",
    fails="SGD(model.parameters()) with a head or a loss that has parameters of its own",
    mend="pass the parameters of both to the optimizer; freeze a model that is only used",
    example="{rule: unheld_model, severity: error}",
    judge=judge_nothing,
    judge_run=judge_run,
)
