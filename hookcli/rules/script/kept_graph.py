"""`kept_graph`: a sum over the steps of a script keeps no graph."""

from __future__ import annotations

from collections.abc import Iterator

from hookcli.report.training import TrainingReport
from hookcli.rules.rule import Options, Rule, RuleFinding
from hookcli.rules.script.facts import facts_of, judge_nothing, target_of, without_findings

_KIND = "kept_graph"


def judge_run(report: TrainingReport, options: Options) -> Iterator[RuleFinding]:
    """Yield a finding for each variable that keeps the graphs of earlier steps."""
    facts = facts_of(report, _KIND)
    for fact in facts:
        terms = fact.values["terms"]
        message = (
            f"'{fact.target}' is a sum of {terms:,} tensors with a gradient: it keeps the graph of "
            "each step, so that the memory grows with every step"
        )
        yield RuleFinding(
            "fail", target_of(fact), "kept", message, terms, 1, fact.place,
            advice=f"add `loss.item()` or `loss.detach()` to '{fact.target}'",
        )  # fmt: skip
    if not facts:
        yield without_findings(
            report, (_KIND,), "no variable keeps the graphs of steps", "too few steps were made"
        )


RULE = Rule(
    name="kept_graph",
    severity="warning",
    of_training=True,
    looks_at="memory",
    says="a sum over the steps of a script keeps no graph",
    computes="Looks at the variables of the function that calls backward, in some steps. Fails if "
    "one of them is a single number that was made by at least eight additions of tensors with a "
    "gradient, and the loss does not depend on it.",
    formula="total.requires_grad is False, for a sum over steps",
    source="PyTorch's FAQ: My model reports 'cuda runtime error(2): out of memory'",
    fails="total_loss += loss",
    mend="total_loss += loss.item()",
    example="{rule: kept_graph, severity: error}",
    judge=judge_nothing,
    judge_run=judge_run,
)
