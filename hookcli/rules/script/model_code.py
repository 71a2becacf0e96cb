"""`model_code`: layers are made in the constructor, dropout follows the mode, ties last."""

from __future__ import annotations

from collections.abc import Iterator

from hookcli.report.training import ScriptFact, TrainingReport
from hookcli.rules.rule import Options, Rule, RuleFinding
from hookcli.rules.script.facts import facts_of, findings_of, judge_nothing, without_findings
from hookcli.text import counted

_KINDS = ("created_layer", "functional_dropout", "broken_tie", "lost_assignment")


def judge_run(report: TrainingReport, options: Options) -> Iterator[RuleFinding]:
    """Yield a finding for each mistake in the code of a model."""
    found = facts_of(report, *_KINDS)
    yield from findings_of(found, _SENTENCES)
    if not found:
        yield without_findings(
            report,
            _KINDS,
            "forward makes no new layer, and no tie is broken",
            "no optimizer made a step",
        )


def _created(fact: ScriptFact) -> tuple[str, str]:
    many = counted(fact.values["parameters"], "new parameter")
    return (
        f"each forward makes {many}, with random values, which no optimizer has: nothing that "
        "they learn is kept",
        "make the layer in the constructor, and call it in forward",
    )


def _dropout(fact: ScriptFact) -> tuple[str, str]:
    return (
        f"functional dropout in '{fact.target}' is not told the mode: it drops values in eval mode "
        "too",
        "pass `training=self.training`, or use nn.Dropout",
    )


def _tie(fact: ScriptFact) -> tuple[str, str]:
    other = fact.values["other"]
    return (
        f"'{fact.target}' has the values of '{other}' at the first step, but is another parameter: "
        "they are trained apart, as after a tie that was broken",
        f"assign the parameter itself to '{fact.target}', after the model has been changed",
    )


def _lost(fact: ScriptFact) -> tuple[str, str]:
    name = fact.target.partition(" = ")[0]
    return (
        f"`{fact.target}` in a loop over parameters gives a name to another tensor: no parameter "
        "is changed, and nothing is copied",
        f"copy the values under torch.no_grad, with `{name}.copy_()`",
    )


_SENTENCES = {
    "lost_assignment": _lost,
    "created_layer": _created,
    "functional_dropout": _dropout,
    "broken_tie": _tie,
}

RULE = Rule(
    name="model_code",
    severity="warning",
    of_training=True,
    looks_at="the code",
    says="layers are made in the constructor, dropout follows the mode, and tied weights stay tied",
    computes="Fails if the first three losses depend on parameters that are others each time, of "
    "the same shapes, and in no optimizer and no model; if a forward of the user calls "
    "torch.nn.functional.dropout without `training`, and the model is evaluated in eval mode; and "
    "if the weight of a linear layer has the very values of an embedding when an optimizer makes "
    "its first step, and is another parameter. Also fails if a loop over parameters assigns to its "
    "own variable, which nothing reads after that.",
    formula="parameters(step) = parameters(step + 1)",
    source="torch.nn.functional.dropout: training is True by default; torch.nn.Parameter",
    fails="nn.Linear(32, 3)(x) in forward; F.dropout(x, 0.5); head.weight = nn.Parameter(w)",
    mend="make layers in the constructor; pass training=self.training; assign the parameter itself",
    example="{rule: model_code, severity: error}",
    judge=judge_nothing,
    judge_run=judge_run,
)
