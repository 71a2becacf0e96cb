"""`label_shift`: the label of each place of a language model is the next token."""

from __future__ import annotations

from collections.abc import Iterator

from hookcli.report.training import TrainingReport
from hookcli.rules.rule import Options, Rule, RuleFinding
from hookcli.rules.script.facts import facts_of, judge_nothing, target_of, without_findings

_SENTENCES = {
    "copied": (
        "the labels are not shifted: the label of each place is the last token that it sees, so "
        "that the model learns to copy its input",
        "compare `logits[:, :-1]` with `labels[:, 1:]`",
    ),
    "skipped": (
        "the labels are shifted twice, or too far: the label of each place is {gap} tokens after "
        "the last one that it sees",
        "shift the labels once: in the model, or in the loss",
    ),
    "seen": (
        "the model is not causal: each place sees the next token, which is its label",
        "pass a causal mask to the attention, such as `is_causal=True`",
    ),
}


def judge_run(report: TrainingReport, options: Options) -> Iterator[RuleFinding]:
    """Yield a finding for each loss whose labels are not the next tokens."""
    facts = facts_of(report, "label_shift")
    for fact in facts:
        kind = fact.values["how"]
        message, advice = _SENTENCES[kind]
        yield RuleFinding(
            "fail", target_of(fact), kind, message.format(gap=fact.values["gap"]),
            fact.values["gap"], 1, fact.place, advice=advice,
        )  # fmt: skip
    if not facts:
        yield without_findings(
            report,
            ("label_shift",),
            "labels are the next tokens",
            "the labels of no loss are tokens of an input",
        )


RULE = Rule(
    name="label_shift",
    early=True,
    severity="warning",
    of_training=True,
    looks_at="labels",
    says="the label of each place of a language model is the next token, which it does not see",
    computes="Judges the losses of cross_entropy whose labels are tokens of an input of the model, "
    "shifted by some places. In a copy of the process, the forward runs again with another token "
    "at one place, for each of two places: this shows which tokens each row of the logits sees. "
    "Fails if the label of a row of a causal model is the last token that it sees, or lies beyond "
    "the next one, and if labels that are shifted are seen by a model that is not causal. Models "
    "whose labels are their input, and that see all of it, are autoencoders, and pass. Losses of "
    "several shifts in one step are not judged, nor models that are not on the CPU.",
    formula="label(row) = token(last token that the row sees + 1)",
    source="transformers: causal models shift labels themselves, or not at all in old versions",
    fails="cross_entropy(logits.view(-1, V), input_ids.view(-1)); labels that are shifted in the "
    "data set and in the model; scaled_dot_product_attention without is_causal=True",
    mend="shift the labels by one place, once; use a causal mask",
    example="{rule: label_shift, severity: error}",
    judge=judge_nothing,
    judge_run=judge_run,
)
