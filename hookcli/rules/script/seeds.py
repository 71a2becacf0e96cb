"""`repeated_seed`: random numbers do not begin again in each step."""

from __future__ import annotations

from collections.abc import Iterator

from hookcli.report.training import TrainingReport
from hookcli.rules.rule import Options, Rule, RuleFinding
from hookcli.rules.script.facts import facts_of, judge_nothing, without_findings

_KIND, _EPOCHS = "repeated_seed", "epoch_seed"


def judge_run(report: TrainingReport, options: Options) -> Iterator[RuleFinding]:
    """Yield a finding for each seed that is set in nearly every step."""
    facts = facts_of(report, _KIND)
    for fact in facts:
        times, steps = fact.values["times"], fact.values["steps"]
        message = (
            f"torch.manual_seed({fact.target}) is called in {times:,} of {steps:,} steps: dropout, "
            "noise and shuffling repeat the same random numbers"
        )
        yield RuleFinding(
            "fail", "", "seed", message, times, steps, fact.place,
            advice="call `torch.manual_seed` once, before the loop",
        )  # fmt: skip
    epochs = facts_of(report, _EPOCHS)
    for fact in epochs:
        times = fact.values["times"]
        message = (
            f"torch.manual_seed({fact.target}) is called {times:,} times between steps, as in each "
            "epoch: the order of the batches and all noise repeat"
        )
        yield RuleFinding(
            "fail", "", "epoch", message, times, fact.values["steps"], fact.place, "note",
            advice="call `torch.manual_seed` once, before the loop",
        )  # fmt: skip
    if not facts and not epochs:
        yield without_findings(
            report, (_KIND,), "no seed is set again in each step", "no seed was set"
        )


RULE = Rule(
    name="repeated_seed",
    severity="warning",
    of_training=True,
    every_step=True,
    looks_at="random numbers",
    says="random numbers do not begin again in each step",
    computes="Counts how often a line passes the same seed to torch.manual_seed, with a step in "
    "between. Fails at 10 times or more, in at least 90 % of the steps. A seed that is "
    "set again four times between the steps of the only optimizer, as in each epoch, is a note. "
    "Generators of their own pass.",
    formula="calls with the same seed < 0.9 * steps",
    source="torch.manual_seed: it sets the seed of the default generators of all devices",
    fails="torch.manual_seed(0) in the loop over batches",
    mend="call torch.manual_seed once, before the loop",
    example="{rule: repeated_seed, severity: error}",
    judge=judge_nothing,
    judge_run=judge_run,
)
