"""`unread_values`: a script reads the tensors that it computes."""

from __future__ import annotations

from collections.abc import Iterator

from hookcli.report.training import TrainingReport
from hookcli.rules.rule import Options, Rule, RuleFinding
from hookcli.rules.script.facts import facts_of, judge_nothing, without_findings

_KIND = "unread_value"


def judge_run(report: TrainingReport, options: Options) -> Iterator[RuleFinding]:
    """Yield a note for each tensor that is computed in the function of the loop, and never read."""
    facts = facts_of(report, _KIND)
    targets = facts_of(report, "unread_target")
    for fact in targets:
        yield RuleFinding(
            "fail", "", fact.target, f"the target '{fact.target}' of the batch is never read, and "
            "the loss compares two outputs that are trained: both may become the same without it",
            0, 1, fact.place, "warning", advice=f"compare the output with '{fact.target}'",
        )  # fmt: skip
    for fact in facts:
        yield RuleFinding(
            "fail", "", fact.target, f"the tensor '{fact.target}' is computed and never read: the "
            "loss does not depend on it", 0, 1, fact.place,
            advice=f"check whether another variable is used in place of '{fact.target}'",
        )  # fmt: skip
    replaced = facts_of(report, "replaced_loss")
    for fact in replaced:
        yield RuleFinding(
            "fail", "", fact.target, f"'{fact.target}' is overwritten before anything reads it: "
            "another term takes its place, so that the loss that was computed first is lost",
            0, 1, fact.place, advice="add the terms, as in `loss = loss + other_loss`",
        )  # fmt: skip
    zero = facts_of(report, "zero_term")
    for fact in zero:
        yield RuleFinding(
            "fail", "", fact.target, f"'{fact.target}' is multiplied by the number 0: it has no "
            "effect on the training", 0, 1, fact.place,
            advice="give it a weight, or do not compute it",
        )  # fmt: skip
    if not facts and not targets and not replaced and not zero:
        yield without_findings(
            report, (_KIND,), "the tensors of the loop are read", "no backward pass was looked at"
        )


RULE = Rule(
    name="unread_values",
    severity="note",
    of_training=True,
    looks_at="the code",
    says="a script reads the tensors that it computes",
    computes="Reads the source of the function whose line calls backward. A note tells of each "
    "variable that is a tensor, is assigned alone, and that no line of the function reads. Names "
    "that begin with an underscore, and scripts that call `locals`, `eval` or the like, are not "
    "judged. So does it of a loss whose name gets another loss before anything reads it, and of "
    "one that is multiplied by the number 0. A target "
    "of a batch that nothing reads is a warning, if the loss of a regression has gradients for "
    "both of its sides.",
    formula="each tensor variable is read",
    source="pyflakes, F841: local variable is assigned to but never used",
    fails="z2 = model(view1), after view1 and view2 were computed",
    mend="use the variable, or remove it",
    example="{rule: unread_values, severity: warning}",
    judge=judge_nothing,
    judge_run=judge_run,
)
