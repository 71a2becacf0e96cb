"""How rules read the facts of a training."""

from __future__ import annotations

from collections.abc import Iterator

from hookcli.report.report import Report
from hookcli.report.training import ScriptFact, TrainingReport
from hookcli.rules.rule import Options, RuleFinding, not_a_training, skipped


def judge_nothing(report: Report, options: Options) -> Iterator[RuleFinding]:
    """Yield why a run of a model is not judged; of a training, the whole is."""
    if report.training is None:
        yield not_a_training()


def facts_of(report: TrainingReport, *kinds: str) -> list[ScriptFact]:
    """Return the facts of these kinds."""
    return [fact for fact in report.facts or () if fact.kind in kinds]


def unlooked(report: TrainingReport, *kinds: str) -> RuleFinding | None:
    """Return the finding that nobody looked for these facts; None if somebody did."""
    if set(kinds) <= set(report.looked_for or ()):
        return None
    return skipped("this run did not look at the calls of the script")


def target_of(fact: ScriptFact) -> str:
    """Return the target of a finding: the record that it is about, if that is known."""
    return fact.record or ""
