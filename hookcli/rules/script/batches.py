"""`first_batch_only`: a script uses all batches of its DataLoader."""

from __future__ import annotations

from collections.abc import Iterator

from hookcli.report.training import TrainingReport
from hookcli.rules.rule import Options, Rule, RuleFinding
from hookcli.rules.script.facts import facts_of, judge_nothing, target_of, without_findings

_KIND = "first_batch_only"


def judge_run(report: TrainingReport, options: Options) -> Iterator[RuleFinding]:
    """Yield a finding for each loader of which only the first batch is used."""
    facts = facts_of(report, _KIND)
    for fact in facts:
        values = fact.values
        message = (
            f"all {values['steps']:,} steps have the same batch, the first of {values['batches']:,}"
            f": the DataLoader begins again {values['iterations']:,} times, and does not shuffle"
        )
        yield RuleFinding(
            "fail", target_of(fact), "first", message, values["steps"], 1, fact.place,
            advice="call `iter(loader)` once an epoch, in front of the loop, and pass shuffle=True",
        )  # fmt: skip
    if not facts:
        yield without_findings(
            report,
            (_KIND,),
            "no loader begins again in each step",
            "no DataLoader without shuffling was used",
        )


RULE = Rule(
    name="first_batch_only",
    severity="warning",
    of_training=True,
    every_step=True,
    looks_at="batches",
    says="a script uses all batches of its DataLoader",
    computes="Counts how often a DataLoader without shuffling begins again, and compares some "
    "values of the inputs in each step. Fails if it has several batches, begins again in at least "
    "every step of an optimizer, and all steps had the same inputs. A script that trains with one "
    "batch on purpose takes that once.",
    formula="iter(loader) in each step, and input(step) = input(0) for all steps",
    source="torch.utils.data.DataLoader: iter() makes a new iterator that begins at the front",
    fails="x, y = next(iter(loader)) in the loop, with shuffle=False",
    mend="for x, y in loader: ...",
    example="{rule: first_batch_only, severity: error}",
    judge=judge_nothing,
    judge_run=judge_run,
)
