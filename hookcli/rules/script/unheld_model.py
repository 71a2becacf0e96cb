"""`unheld_model`: an optimizer has the parameters of each model that gets gradients."""

from __future__ import annotations

from collections.abc import Iterator

from hookcli.report.training import ScriptFact, TrainingReport
from hookcli.rules.rule import Options, Rule, RuleFinding
from hookcli.rules.script.facts import facts_of, judge_nothing, target_of, without_findings
from hookcli.text import counted

_KIND, _STARVED = "unheld_root", "starved_optimizer"


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
    starved = facts_of(report, _STARVED)
    for fact in starved:
        message, advice = _starved(fact)
        yield RuleFinding(
            "fail", target_of(fact), "starved", message, fact.values["parameters"], 0, fact.place,
            cause="optimizer_model", advice=advice,
        )  # fmt: skip
    if not facts and not starved:
        yield without_findings(
            report, (_KIND,), "no model with gradients is in no optimizer",
            "no optimizer made a step",
        )  # fmt: skip


def _starved(fact: ScriptFact) -> tuple[str, str]:
    values = fact.values
    name, kind, other = fact.target, values["optimizer"], values["other"]
    of = "of another model" + (f", '{other}'" if other not in ("", name) else "")
    message = (
        f"backward gives gradients to '{name}', but the {kind} that steps has the parameters {of}"
    )
    if values["holder"]:
        at = f" at {values['holder_place']}" if values["holder_place"] else ""
        return (
            f"{message}; the {values['holder']} that has those of '{name}'{at} never steps",
            f"call `step` and `zero_grad` of the optimizer of '{name}'",
        )
    return (
        f"{message}, which get no gradient: '{name}' is never updated",
        f"construct the optimizer with the parameters of '{name}', after the model is replaced",
    )


RULE = Rule(
    name="unheld_model",
    severity="warning",
    of_training=True,
    looks_at="optimizers",
    says="an optimizer has the parameters of each model that gets gradients",
    computes="Looks at the models that the script calls by themselves. Fails if no optimizer has "
    "any parameter of one of them, though all of them require grad, it runs in train mode, and it "
    "has gradients in each step that is looked at. A model whose weights were loaded, or that the "
    "script changes itself, passes. Also fails if such a model has gradients, and the optimizer "
    "that steps has none, as after a model was replaced. Parts of a model that is trained are for "
    "`unheld_parameters`.",
    formula="model.training and grad of its parameters != 0 implies that an optimizer has them",
    source="torch.optim.Optimizer: it changes only the parameters that it was constructed with",
    fails="SGD(model.parameters()) with a head or a loss that has parameters of its own",
    mend="pass the parameters of both to the optimizer; freeze a model that is only used",
    example="{rule: unheld_model, severity: error}",
    judge=judge_nothing,
    judge_run=judge_run,
)
