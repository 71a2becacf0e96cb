"""`frozen_attribute`: what a script freezes is frozen."""

from __future__ import annotations

from collections.abc import Iterator

from hookcli.report.training import TrainingReport
from hookcli.rules.rule import Options, Rule, RuleFinding
from hookcli.rules.script.facts import facts_of, judge_nothing, target_of, without_findings
from hookcli.text import counted

_KIND, _AGAIN = "requires_grad_attribute", "thawed_again"


def judge_run(report: TrainingReport, options: Options) -> Iterator[RuleFinding]:
    """Yield a finding for each attribute that freezes nothing."""
    facts = facts_of(report, _KIND)
    for fact in facts:
        values = fact.values
        what = f"'{fact.target}'" if fact.target else "the model"
        many = counted(values["parameters"], "parameter")
        if values["on"] == "module":
            message = (
                f"{what} is not frozen: requires_grad = False on a module is a plain attribute, "
                f"and its {many} are trained"
            )
            advice = f"call `requires_grad_(False)` on {what}"
        else:
            message = (
                f"{what} is not frozen: '{values['attribute']}' is a plain attribute of a "
                "parameter, and it is trained"
            )
            advice = f"set `requires_grad` of {what}"
        yield RuleFinding(
            "fail", target_of(fact), values["on"], message, values["parameters"], 0, fact.place,
            advice=advice,
        )  # fmt: skip
    again = facts_of(report, _AGAIN)
    for fact in again:
        yield RuleFinding(
            "fail", "", "again", f"nothing is frozen: what {fact.values['frozen']} freezes, the "
            "next loop over parameters sets to requires_grad=True again", 0, 1, fact.place,
            advice="freeze after that loop, or leave frozen parameters out of it",
        )  # fmt: skip
    if not facts and not again:
        yield without_findings(
            report, (_KIND,), "no attribute is named like requires_grad", "no optimizer made a step"
        )


RULE = Rule(
    name="frozen_attribute",
    severity="warning",
    of_training=True,
    looks_at="frozen parts",
    says="what a script freezes is frozen",
    computes="Looks for an attribute `requires_grad` of a module that is False, while the module "
    "has parameters that an optimizer trains; and for an attribute of a parameter such as "
    "`require_grad`. PyTorch reads neither: parameters have `requires_grad`, and modules the "
    "method `requires_grad_`. Also fails if no parameter is frozen in any step, though a loop over "
    "parameters sets `requires_grad` to False, and the next one in the same block to True.",
    formula="module.requires_grad = False implies that no parameter of the module requires grad",
    source="torch.nn.Module.requires_grad_; torch.Tensor.requires_grad",
    fails="model.head.requires_grad = False; p.require_grad = False",
    mend="call model.head.requires_grad_(False)",
    example="{rule: frozen_attribute, severity: error}",
    judge=judge_nothing,
    judge_run=judge_run,
)
