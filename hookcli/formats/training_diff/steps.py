"""The tables of a comparison of two trainings: settings, steps and gradients."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable
from dataclasses import dataclass

from hookcli.comparison.training.parting import value
from hookcli.comparison.training.training_diff import (
    GradientDiff,
    Pair,
    RecordDiff,
    SettingDiff,
    StepDiff,
    TrainingDiff,
)
from hookcli.console import escape
from hookcli.formats.parts.grid import Column
from hookcli.formats.parts.style import Style, status_style
from hookcli.formats.parts.text import figure, number
from hookcli.formats.view import View
from hookcli.report.values import Number

_BEFORE, _AFTER = 2, 6  # steps shown before the first difference, and from it
_MOST = 20  # parameters of a table, unless --only asks for them
_WORDS = {"same": "same", "close": "close", "different": "differs", "unknown": "unknown"}


@dataclass(frozen=True, slots=True)
class StepLine:
    """One step of one record. `is_first`: it is the step at which the record parts."""

    record: str
    row: StepDiff
    is_first: bool


@dataclass(frozen=True, slots=True)
class GradientDiffLine:
    """One parameter of one record."""

    record: str
    row: GradientDiff


@dataclass(frozen=True, slots=True)
class Selected:
    """The rows to draw, and how many steps and parameters that differ are not drawn."""

    settings: tuple[SettingDiff, ...]
    steps: list[StepLine]
    gradients: list[GradientDiffLine]
    hidden_steps: int
    hidden_gradients: int


def select(diff: TrainingDiff, view: View) -> Selected:
    """Return the steps around the first difference and the last, and the gradients that differ.

    With --only, all parameters that match are shown.
    """
    steps = [line for record in diff.records for line in _steps(record)]
    total = sum(len(record.rows) for record in diff.records)
    gradients = [
        GradientDiffLine(record.a or record.b or "", row)
        for record in diff.records
        for row in _gradients(record, view)
    ]
    shown = gradients if view.only is not None else gradients[:_MOST]
    hidden = len(gradients) - len(shown)
    return Selected(diff.settings, steps, shown, total - len(steps) if steps else 0, hidden)


def every_step(diff: TrainingDiff) -> list[StepLine]:
    """Return all steps of all records."""
    return [line for record in diff.records for line in _lines(record, range(len(record.rows)))]


def _steps(record: RecordDiff) -> list[StepLine]:
    marked = record.first or record.first_inexact
    if marked is None:
        return []
    at = next(i for i, row in enumerate(record.rows) if row.step == marked.step)
    last = len(record.rows) - 1
    around = range(max(at - _BEFORE, 0), min(at + _AFTER, last + 1))
    return _lines(record, around if last in around else (*around, last))


def _lines(record: RecordDiff, places: Iterable[int]) -> list[StepLine]:
    first = None if record.first is None else record.first.step
    return [
        StepLine(record.a or record.b or "", record.rows[i], record.rows[i].step == first)
        for i in places
    ]


def _gradients(record: RecordDiff, view: View) -> list[GradientDiff]:
    if view.only is not None:
        glob = view.only
        return [row for row in record.parameters if fnmatch.fnmatchcase(row.a or row.b or "", glob)]
    apart = [row for row in record.parameters if row.first is not None]
    return sorted(apart, key=lambda row: row.first.step if row.first else 0)


def ratio(pair: Pair) -> str:
    """Return the relative difference of two figures: "0", "1.2e-07"."""
    a, b = pair
    if a is None or b is None:
        return "–"
    if a == b:
        return "0"
    ours, theirs = float(a), float(b)
    apart = abs(ours - theirs)
    return figure(apart / abs(ours)) if ours and apart < float("inf") else "–"


def _digits(item: Number | None) -> str:
    """Return a number with enough digits to tell A from B."""
    if item is None:
        return "–"
    return item if isinstance(item, str) else f"{item:.6g}"


SETTINGS: dict[str, Column[SettingDiff]] = {
    "name": Column("Setting", lambda row: escape(row.name), least=12, distinct=True),
    "record": Column("Record", lambda row: escape(row.record or ""), least=6),
    "a": Column("A", lambda row: escape(row.a or "–"), least=10, spare=True),
    "b": Column("B", lambda row: escape(row.b or "–"), least=10, spare=True),
}
SETTINGS_GIVE_WAY = ("record",)

STEPS: dict[str, Column[StepLine]] = {
    "record": Column("Record", lambda line: escape(line.record), least=8),
    "step": Column(
        "Step",
        lambda line: number(line.row.step),
        right=True,
        style=lambda line: Style.WORST if line.is_first else None,
    ),
    "loss_a": Column("Loss A", lambda line: _digits(line.row.loss[0]), right=True),
    "loss_b": Column("Loss B", lambda line: _digits(line.row.loss[1]), right=True),
    "loss": Column("Loss diff", lambda line: ratio(line.row.loss), right=True),
    "norm_a": Column("Grad norm A", lambda line: _digits(line.row.grad_norm[0]), right=True),
    "norm_b": Column("Grad norm B", lambda line: _digits(line.row.grad_norm[1]), right=True),
    "norm": Column("Norm diff", lambda line: ratio(line.row.grad_norm), right=True),
    "figures": Column(
        "Differ", lambda line: f"{line.row.different:,} of {line.row.compared:,}", right=True
    ),
    "verdict": Column(
        "Verdict",
        lambda line: _WORDS[line.row.status],
        style=lambda line: status_style(line.row.status),
    ),
}
STEPS_GIVE_WAY = ("figures", "norm_b", "norm_a", "loss")


def steps_of(diff: TrainingDiff) -> dict[str, Column[StepLine]]:
    """Return the columns of steps; with one record, without its name."""
    return {k: c for k, c in STEPS.items() if k != "record" or len(diff.records) > 1}


def _parameter(line: GradientDiffLine) -> str:
    row = line.row
    text = escape(row.a or row.b or "")
    return text if row.a is None or row.b is None or row.a == row.b else f"{text} | {row.b}"


def _first(line: GradientDiffLine) -> str:
    first = line.row.first
    return "–" if first is None else number(first.step)


def _verdict(line: GradientDiffLine) -> str:
    row = line.row
    if row.status == "only_a" or row.status == "only_b":
        return f"only in {row.status[-1].upper()}"
    if row.first is None:
        return "shape differs" if row.status == "different" else _WORDS[row.status]
    return f"differs at {row.different:,} of {row.steps:,}"


GRADIENTS: dict[str, Column[GradientDiffLine]] = {
    "record": Column("Record", lambda line: escape(line.record), least=8),
    "name": Column("Parameter", _parameter, least=16, distinct=True),
    "step": Column("First step", _first, right=True),
    "a": Column(
        "Gradient A",
        lambda line: value(line.row.first.a) if line.row.first else "–",
        right=True,
    ),
    "b": Column(
        "Gradient B",
        lambda line: value(line.row.first.b) if line.row.first else "–",
        right=True,
    ),
    "relative": Column(
        "Diff", lambda line: figure(line.row.first.relative) if line.row.first else "–", right=True
    ),
    "verdict": Column(
        "Sampled steps",
        _verdict,
        least=12,
        style=lambda line: status_style(line.row.status),
    ),
}
GRADIENTS_GIVE_WAY = ("b", "a")


def gradients_of(diff: TrainingDiff) -> dict[str, Column[GradientDiffLine]]:
    """Return the columns of gradients; with one record, without its name."""
    return {k: c for k, c in GRADIENTS.items() if k != "record" or len(diff.records) > 1}
