"""How rules tell what functions get and are not made for: in a model, and in a script."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, TypeAlias

from hookcli.report.findings import Measurement
from hookcli.report.report import Report
from hookcli.report.training import ScriptFact
from hookcli.rules.rule import RuleFinding
from hookcli.rules.script.facts import target_of
from hookcli.rules.training.series import script_line

Values: TypeAlias = Mapping[str, Any]
Sentences: TypeAlias = Mapping[str, Callable[[Values], tuple[str, str]]]
IsNote: TypeAlias = Callable[[str, Values], bool]


def _never(what: str, values: Values) -> bool:
    return False


def misfits(report: Report, probe: str) -> list[Measurement]:
    """Return what a probe has found in the run of a model; the whole of a training is judged."""
    rows = [m for m in report.measurements if m.probe == probe and isinstance(m.value, dict)]
    return [] if report.training is not None else [one for one in rows if "what" in one.value]


def findings_of_model(
    report: Report, found: Iterable[Measurement], sentences: Sentences, is_note: IsNote = _never
) -> Iterator[RuleFinding]:
    """Yield a finding for each measurement. `sentences` has message and advice by its `what`."""
    for one in found:
        what, values = one.value["what"], one.value["values"]
        message, advice = sentences[what](values)
        yield RuleFinding(
            "fail", one.target, what, message,
            place=one.value["place"] or script_line(report, "loss"),
            severity="note" if is_note(what, values) else None, advice=advice,
        )  # fmt: skip


def findings_of_facts(
    facts: Iterable[ScriptFact], sentences: Sentences, is_note: IsNote = _never
) -> Iterator[RuleFinding]:
    """Yield a finding for each fact of a script. `sentences` has message and advice by target."""
    for fact in facts:
        message, advice = sentences[fact.target](fact.values)
        yield RuleFinding(
            "fail", target_of(fact), fact.target, message, fact.count, 0, fact.place,
            "note" if is_note(fact.target, fact.values) else None, advice=advice,
        )  # fmt: skip
