"""How rules read the facts of a training."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from hookcli.report.report import Report
from hookcli.report.training import ScriptFact, TrainingReport
from hookcli.rules.rule import Options, RuleFinding, not_a_training, passed, skipped, unseen

_NOT_FINITE = ("nan", "inf", "-inf")


def judge_nothing(report: Report, options: Options) -> Iterator[RuleFinding]:
    """Yield why a run of a model is not judged; of a training, the whole is."""
    if report.training is None:
        yield not_a_training()


def facts_of(report: TrainingReport, *kinds: str) -> list[ScriptFact]:
    """Return the facts of these kinds, with NaN and infinities as numbers again."""
    return [
        replace(fact, values=_restored(fact.values))
        for fact in report.facts or ()
        if fact.kind in kinds
    ]


def _restored(value: Any) -> Any:
    """Return a value of a fact as sentences format it: strict JSON has strings for NaN and Inf."""
    if isinstance(value, dict):
        return {key: _restored(inner) for key, inner in value.items()}
    if type(value) in {list, tuple}:
        return type(value)(_restored(inner) for inner in value)
    return float(value) if isinstance(value, str) and value in _NOT_FINITE else value


def findings_of(
    facts: Sequence[ScriptFact],
    sentences: Mapping[str, Callable[[ScriptFact], tuple[str, str]]],
    is_note: Callable[[ScriptFact], bool] = lambda fact: False,
) -> Iterator[RuleFinding]:
    """Yield a finding for each fact; `sentences` returns its message and advice, by its kind.

    Facts of which `is_note` is true are notes, since they are often meant.
    """
    for fact in facts:
        message, advice = sentences[fact.kind](fact)
        yield RuleFinding(
            "fail", target_of(fact), fact.kind, message, fact.count, 0, fact.place,
            "note" if is_note(fact) else None, advice=advice,
        )  # fmt: skip


def without_findings(
    report: TrainingReport, kinds: Sequence[str], good: str, nothing: str
) -> RuleFinding:
    """Return the finding of a rule that has found nothing wrong.

    It passed with the message `good`; or it was skipped, since there was `nothing` to judge, or
    since this run did not see the calls of the script, as after torch.compile.
    """
    looks = report.looked_for or {}
    if not set(kinds) <= looks.keys():
        return unseen("the calls that the script makes of PyTorch were not seen")
    if not any(looks[kind] for kind in kinds):
        return skipped(nothing)
    return passed(good)


def target_of(fact: ScriptFact) -> str:
    """Return the target of a finding: the record that it is about, if that is known."""
    return fact.record or ""
