"""`batch_contents`: the batches of a training differ, and so do the samples in them."""

from __future__ import annotations

from collections.abc import Iterator

from hookcli.report.training import ScriptFact, TrainingReport
from hookcli.rules.rule import Options, Rule, RuleFinding
from hookcli.rules.script.facts import facts_of, findings_of, judge_nothing, without_findings

_KINDS = ("equal_samples", "same_slice", "sampler_weights", "single_class", "whole_mask",
          "dropped_samples", "repeated_stream", "ignored_class", "sorted_targets")  # fmt: skip
_NOTES = {"whole_mask", "dropped_samples", "repeated_stream", "sorted_targets"}


def judge_run(report: TrainingReport, options: Options) -> Iterator[RuleFinding]:
    """Yield a finding for batches that have less in them than it seems."""
    found = facts_of(report, *_KINDS)
    yield from findings_of(found, _SENTENCES, lambda fact: fact.kind in _NOTES)
    if not found:
        yield without_findings(
            report, _KINDS, "batches and their samples differ", "no batch of a step was looked at"
        )


def _equal(fact: ScriptFact) -> tuple[str, str]:
    return (
        "all samples of a batch have the same input, in each step that was looked at: what the "
        "model gets does not depend on the sample",
        "look at what the Dataset returns, and at what is expanded or repeated",
    )


def _slice(fact: ScriptFact) -> tuple[str, str]:
    values = fact.values
    return (
        f"each step slices the same {values['samples']:,} of {values['whole']:,} samples: the "
        "batch is always the same",
        "advance the index of the slice in each step, or use a DataLoader",
    )


def _sampler(fact: ScriptFact) -> tuple[str, str]:
    values = fact.values
    return (
        f"WeightedRandomSampler has {values['weights']:,} weights for {values['samples']:,} "
        "samples: it draws only the first ones, as with one weight for each class",
        "pass one weight for each sample: `weights = class_weights[labels]`",
    )


def _single(fact: ScriptFact) -> tuple[str, str]:
    values = fact.values
    return (
        f"{values['single']:,} of the first {values['looks']:,} batches have labels of one class "
        f"alone, of {values['classes']:,} classes: the data is sorted and not shuffled",
        "pass shuffle=True to the DataLoader, or shuffle the indices in each epoch",
    )


def _mask(fact: ScriptFact) -> tuple[str, str]:
    token, share = fact.values["token"], fact.values["share"]
    return (
        f"'{fact.target}' is 1 everywhere, though {share:.0%} of the tokens are {token} at the "
        "ends of sequences, which looks like padding: the model attends to them",
        f"pass a mask that is zero where the tokens are {token}",
    )


def _dropped(fact: ScriptFact) -> tuple[str, str]:
    values = fact.values
    return (
        f"drop_last=True leaves {values['dropped']:,} of {values['samples']:,} samples out of an "
        "evaluation: they fill no batch",
        "pass drop_last=False to the loader of an evaluation",
    )


def _ignored(fact: ScriptFact) -> tuple[str, str]:
    values = fact.values
    return (
        f"the loss ignores class {values['ignored']}, as ignore_index={values['ignored']}, which "
        f"{values['share']:.0%} of the labels have: all others are class {values['left']}",
        "pass another ignore_index, such as -100, to the loss of these labels",
    )


def _sorted(fact: ScriptFact) -> tuple[str, str]:
    return (
        "the targets of a batch are near each other: their variance in a batch is "
        f"{fact.values['share']:.0%} of that over all batches, as the data is sorted and not "
        "shuffled",
        "pass shuffle=True to the DataLoader of the training",
    )


def _stream(fact: ScriptFact) -> tuple[str, str]:
    many = fact.values["workers"]
    return (
        f"each of {many:,} workers iterates over all samples of '{fact.target}', whose methods "
        f"divide nothing: they come {many:,} times",
        "take every n-th sample in __iter__, by `torch.utils.data.get_worker_info()`",
    )


_SENTENCES = {
    "dropped_samples": _dropped,
    "ignored_class": _ignored,
    "sorted_targets": _sorted,
    "repeated_stream": _stream,
    "whole_mask": _mask,
    "equal_samples": _equal,
    "same_slice": _slice,
    "sampler_weights": _sampler,
    "single_class": _single,
}

RULE = Rule(
    name="batch_contents",
    severity="warning",
    of_training=True,
    looks_at="batches",
    says="the batches of a training differ, and so do the samples in them",
    computes="Looks at the inputs and labels of some steps. Fails if all samples of each batch are "
    "equal; if each batch is a new slice of the same place of a larger tensor; if a "
    "WeightedRandomSampler has fewer weights than its dataset has samples; and if at least 70 % of "
    "the first batches have labels of a single class, and others another one. A mask that is one "
    "everywhere, beside tokens that end with padding, is a note. So is an evaluation with "
    "drop_last=True, and an IterableDataset of the script that several workers iterate over, if "
    "its methods divide nothing and draw no random numbers; and a DataLoader without shuffle, if "
    "the variance of the targets of a regression in the first batches is below 20 % of that over "
    "them. A loss fails if its ignore_index is a class, and labels of one other class alone are "
    "left. A tensor that is "
    "given again and again as it is, as of a training with all data at once, passes.",
    formula="x[i] != x[0] for some i; weights = samples; classes of a batch > 1",
    source="torch.utils.data.WeightedRandomSampler; deep-voice/soundbay#49",
    fails="WeightedRandomSampler(1 / class_count, n); x = data[i:i + 32] without i += 32",
    mend="give a weight for each sample; shuffle; advance the index",
    example="{rule: batch_contents, severity: error}",
    judge=judge_nothing,
    judge_run=judge_run,
)
