"""`separate_splits`: no sample of a validation or test loader is trained on."""

from __future__ import annotations

from collections.abc import Iterator

from hookcli.report.training import ScriptFact, TrainingReport
from hookcli.rules.rule import Options, Rule, RuleFinding
from hookcli.rules.script.facts import facts_of, findings_of, judge_nothing, without_findings

_KINDS = ("overlapping_split", "unused_split")


def judge_run(report: TrainingReport, options: Options) -> Iterator[RuleFinding]:
    """Yield a finding for each loader whose samples are trained on too."""
    found = facts_of(report, *_KINDS)
    yield from findings_of(found, _SENTENCES)
    if not found:
        yield without_findings(
            report, _KINDS, "no sample is trained on and held out",
            "no validation or test loader was compared with one of the training",
        )  # fmt: skip


def _overlapping(fact: ScriptFact) -> tuple[str, str]:
    values = fact.values
    own = f"'{values['of']}'" if values["of"] else "the loader of the training"
    return (
        f"{values['samples']:,} of {values['all']:,} samples of '{fact.target}' are in {own} too: "
        "they are trained on, so that they are not held out",
        "construct both loaders from subsets of the data that share no index",
    )


def _unused(fact: ScriptFact) -> tuple[str, str]:
    values = fact.values
    return (
        f"'{fact.target}' is never iterated over: '{values['of']}', which is trained on, is passed "
        f"as '{values['called']}'",
        f"pass '{fact.target}'",
    )


_SENTENCES = {"overlapping_split": _overlapping, "unused_split": _unused}

RULE = Rule(
    name="separate_splits",
    severity="warning",
    of_training=True,
    looks_at="batches",
    says="no sample of a validation or test loader is trained on",
    computes="Compares the indices of a DataLoader that no step follows, and whose name tells that "
    "it is for a validation or a test, with those of the last one that steps followed. Fails if "
    "both are of one data set, by torch.utils.data.Subset or SubsetRandomSampler, and share an "
    "index; or if the loader of the training is iterated over under a name of held-out data, "
    "and one that has such a name never is. What has the same values in two data sets is not "
    "known.",
    formula="indices(training) and indices(validation) are disjoint",
    source="ratschlab/aestetik#12; torch.utils.data.random_split",
    fails="train, val = random_split(data, [90, 30]); DataLoader(data, shuffle=True)",
    mend="DataLoader(train, shuffle=True)",
    example="{rule: separate_splits, severity: error}",
    judge=judge_nothing,
    judge_run=judge_run,
)
