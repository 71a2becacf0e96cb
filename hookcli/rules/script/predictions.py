"""`single_prediction`: a classifier predicts more than the class that most labels have."""

from __future__ import annotations

from collections.abc import Iterator

from hookcli.report.training import ScriptFact, TrainingReport
from hookcli.rules.rule import Options, Rule, RuleFinding
from hookcli.rules.script.facts import facts_of, findings_of, judge_nothing, without_findings

_KINDS = ("single_prediction",)


def judge_run(report: TrainingReport, options: Options) -> Iterator[RuleFinding]:
    """Yield a note for each loss whose last predictions are all of one class."""
    found = facts_of(report, *_KINDS)
    yield from findings_of(found, {"single_prediction": _single})
    if not found:
        yield without_findings(
            report, _KINDS, "predictions are of several classes", "no classes were predicted"
        )


def _single(fact: ScriptFact) -> tuple[str, str]:
    label, share = fact.values["label"], fact.values["share"]
    return (
        f"the last predictions are all of class {label}, which {share:.1%} of the labels have: "
        "the loss is dominated by the majority",
        "pass weights of the classes to the loss, or draw rare samples more often",
    )


RULE = Rule(
    name="single_prediction",
    severity="note",
    of_training=True,
    looks_at="predictions",
    says="a classifier predicts more than the class that most labels have",
    computes="Looks at the logits and labels that cross_entropy, nll_loss and "
    "binary_cross_entropy_with_logits get, in every eighth of the backward passes so far. A note "
    "tells of a line whose last four looks had one predicted class only, that of at least three "
    "quarters of the labels, but not of all. Losses with several labels of one sample, and batches "
    "of fewer than 64 labels, are not judged.",
    formula="argmax(logits[i]) is not the same for all i",
    source="facebookresearch/Mask2Former#248; King and Zeng 2001, on rare events",
    fails="F.cross_entropy(model(x), mask), where 97 % of the pixels are background",
    mend="F.cross_entropy(model(x), mask, weight=weights)",
    example="{rule: single_prediction, severity: warning}",
    judge=judge_nothing,
    judge_run=judge_run,
)
