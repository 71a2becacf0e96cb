"""The steps of a record as rows: those that a view shows, and their columns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from operator import attrgetter
from typing import Any

from hookcli.formats.grads.parameters import bar_column
from hookcli.formats.names import STEPS
from hookcli.formats.order import Ordered, ordered, sort_key
from hookcli.formats.parts.bars import WIDTH, LinearScale, Scale
from hookcli.formats.parts.grid import Column
from hookcli.formats.parts.style import Style
from hookcli.formats.parts.text import count, figure
from hookcli.formats.training.facts import finite, is_clipped
from hookcli.formats.view import View
from hookcli.report.steps import StepRow, TrainingInfo

_MOST = 16  # rows of a table
_NOTED = 4  # rows for steps with a problem, beside those
_COUNTS = ("forwards", "backwards", "missing", "zero", "non_finite")
_FIGURES = (
    "loss", "grad_norm", "unclipped_norm", "lr", "update_ratio", "update_norm", "weight_norm",
    "scale",
)  # fmt: skip
_DEFAULT = (
    "step", "loss", "loss_bar", "unclipped_norm", "grad_norm", "grad_bar", "lr", "update_ratio",
    "scale", "backwards", "missing", "zero", "non_finite", "skipped",
)  # fmt: skip
# Dropped on a narrow terminal, in this order, unless the user chose the columns.
GIVE_WAY = ("backwards", "scale", "grad_bar", "lr", "loss_bar", "zero", "missing", "update_ratio")


def select_steps(info: TrainingInfo, view: View, *, every: bool = False) -> Ordered[StepRow]:
    """Return the steps of a view: the sampled ones, the first and the last, thinned if many.

    With `every`, or sorted by a figure of steps, all steps of the report count.
    """
    key = sort_key(view.sort or "order")
    if not wanted(view):
        return Ordered([])
    if key in STEPS and STEPS[key].sorts:
        result = ordered(info.steps, view.sort or "", attrgetter(key))
        return result if every else Ordered(result.rows[:_MOST], result.nan, result.unknown)
    rows = list(info.steps) if every else _thinned(info.steps)
    return Ordered(rows[::-1] if view.sort in {"-order", "-step"} else rows)


def wanted(view: View) -> bool:
    """Return whether the view has a column of this table."""
    return view.asked is None or any(name in STEPS for name in view.asked)


def is_bad(row: StepRow) -> bool:
    """Return whether a step was skipped, or has a loss or gradient that is not finite."""
    return bool(row.skipped or row.non_finite) or isinstance(row.loss, str) or isinstance(
        row.grad_norm, str
    )  # fmt: skip


def _thinned(rows: Sequence[StepRow]) -> list[StepRow]:
    """Return the sampled steps, the first, the last and the first bad ones, at most about 20."""
    if not rows:
        return []
    last = len(rows) - 1
    picked = [i for i, row in enumerate(rows) if row.sampled or i in {0, last}]
    shown = min(len(picked), _MOST)
    kept = {picked[i * (len(picked) - 1) // max(shown - 1, 1)] for i in range(shown)}
    kept.update([i for i, row in enumerate(rows) if is_bad(row)][:_NOTED])
    return [rows[i] for i in sorted(kept)]


def columns(rows: Sequence[StepRow], view: View) -> dict[str, Column[StepRow]]:
    """Return the chosen columns, else the default ones that have a figure."""
    known = _columns(rows, view)
    if view.asked is not None:
        return {name: known[name] for name in view.asked if name in known}
    shown = [name for name in _DEFAULT if _is_useful(name, rows)]
    by = sort_key(view.sort or "")
    shown += [by] if by in known and by not in shown else []
    return {name: known[name] for name in shown}


def _is_useful(column: str, rows: Sequence[StepRow]) -> bool:
    """Return whether a column of the default tells anything of these rows."""
    if column == "step":
        return True
    if column.endswith("_bar"):
        return len(rows) > 1 and _is_useful("loss" if column == "loss_bar" else "grad_norm", rows)
    if column == "backwards":
        return any(row.backwards != 1 for row in rows)
    values = [getattr(row, column) for row in rows]
    if column == "unclipped_norm":
        return any(is_clipped(row) for row in rows)
    if column in {"missing", "zero", "non_finite", "skipped"}:
        return any(values)
    return any(value is not None for value in values)


def _columns(rows: Sequence[StepRow], view: View) -> dict[str, Column[StepRow]]:
    losses = LinearScale.over(finite(row.loss for row in rows), unicode=view.unicode)
    norms = Scale.over((row.grad_norm for row in rows), unicode=view.unicode)
    known: dict[str, Column[StepRow]] = {
        "step": Column(STEPS["step"].title, lambda row: f"{row.step:,}", right=True),
        "loss_bar": _loss_bar(losses),
        "grad_bar": bar_column(norms, lambda row: row.grad_norm),
        "skipped": Column(
            STEPS["skipped"].title,
            lambda row: "skipped" if row.skipped else "",
            style=lambda row: Style.MIND if row.skipped else None,
        ),
    }
    for name in (*_FIGURES, *_COUNTS):
        known[name] = Column(
            STEPS[name].title, partial(_cell, name=name), right=True, style=_style(name)
        )
    return known


def _cell(row: StepRow, name: str) -> str:
    value = getattr(row, name)
    return count(value) if name in _COUNTS else figure(value)


def _style(name: str) -> Callable[[StepRow], Style | None] | None:
    """Return the style of counts of parameters: those above 0 stand out."""
    styles = {"missing": Style.MIND, "zero": Style.MIND, "non_finite": Style.WORST}
    if name not in styles:
        return None
    return lambda row: styles[name] if getattr(row, name) else None


def _loss_bar(scale: LinearScale) -> Column[Any]:
    def value(row: StepRow) -> float | None:
        return next(finite([row.loss]), None)

    return Column(
        scale.title(),
        lambda row: scale.bar(value(row), WIDTH),
        least=8,
        spare=True,
        fit=lambda row, width: scale.bar(value(row), width),
    )
