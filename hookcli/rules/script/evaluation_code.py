"""`evaluation_code`: an evaluation counts all batches, with the labels of their samples."""

from __future__ import annotations

from collections.abc import Iterator

from hookcli.report.training import ScriptFact, TrainingReport
from hookcli.rules.rule import Options, Rule, RuleFinding
from hookcli.rules.script.facts import facts_of, findings_of, judge_nothing, without_findings

_KINDS = ("overwritten_sum", "argmax_of_all", "argmax_of_one", "dropped_labels")


def judge_run(report: TrainingReport, options: Options) -> Iterator[RuleFinding]:
    """Yield a note for each line that does not count what it was to count."""
    found = facts_of(report, *_KINDS)
    yield from findings_of(found, _SENTENCES)
    if not found:
        yield without_findings(
            report, _KINDS, "evaluations count what they compare", "no step was made"
        )


def _overwritten(fact: ScriptFact) -> tuple[str, str]:
    return (
        f"'{fact.target}' begins with 0, and a loop assigns it instead of adding to it: only the "
        "last batch counts",
        f"use `{fact.target} +=`",
    )


def _argmax(fact: ScriptFact) -> tuple[str, str]:
    return (
        f"`{fact.target}` has no dimension, so that it is one index of the whole tensor, which is "
        "compared with the label of each sample",
        "pass the dimension of the classes, as in `argmax(dim=1)`",
    )


def _argmax_of_one(fact: ScriptFact) -> tuple[str, str]:
    return (
        f"`{fact.target}` is always index 0: the model returns one value for each sample",
        "compare the value with a threshold, as in `z > 0` for logits",
    )


def _dropped(fact: ScriptFact) -> tuple[str, str]:
    return (
        f"the loop over '{fact.target}' drops the labels, and the loader shuffles: what it "
        "collects is in another order than the labels of the data set",
        "collect the labels in the same loop, or pass shuffle=False",
    )


_SENTENCES = {
    "overwritten_sum": _overwritten,
    "argmax_of_all": _argmax,
    "argmax_of_one": _argmax_of_one,
    "dropped_labels": _dropped,
}

RULE = Rule(
    name="evaluation_code",
    severity="note",
    of_training=True,
    looks_at="the code",
    says="an evaluation counts all batches, and compares predictions with their own labels",
    computes="Reads the source of the script and of the user's modules. A note tells of a variable "
    "that begins with 0 and that a loop assigns, next to another one that it adds up; of a "
    "comparison with an argmax without a dimension whose results are counted; of an argmax along "
    "dimension 1 of a model's output, if the loss gets one value for each sample; and of a loop "
    "under no_grad that collects predictions of a DataLoader with shuffle=True and drops its "
    "labels.",
    formula="total += value for each batch; predictions[i] belongs to labels[i]",
    source="ck37/coral-ordinal#6; chainer/chainer#777",
    fails="correct = (output.argmax() == labels).sum(); total = correct, in the loop",
    mend="output.argmax(dim=1); total += correct",
    example="{rule: evaluation_code, severity: warning}",
    judge=judge_nothing,
    judge_run=judge_run,
)
