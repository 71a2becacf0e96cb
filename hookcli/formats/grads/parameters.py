"""The parameters of a gradient report: those that a view shows, and their cells."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase
from typing import Any

from hookcli.console import escape
from hookcli.formats.names import GRADS_COLUMNS
from hookcli.formats.parts.bars import WIDTH, Scale, positive
from hookcli.formats.parts.grid import Column
from hookcli.formats.parts.style import Style, status_style
from hookcli.formats.parts.text import figure, shape
from hookcli.formats.view import View
from hookcli.report.report import ParameterRow, Report
from hookcli.text import shorten

WORDS = {
    "ok": "ok",
    "zero": "zero",
    "none": "none: the loss does not reach it",
    "non_finite": "non-finite",
    "frozen": "frozen",
    "None": "–",
}
_WORST_FIRST = ("non_finite", "none", "zero", "ok", "frozen", None)
_MARKED = 3  # of the largest and of the smallest norms
_ENOUGH = 12  # norms, with which it helps to mark some


def name_style(row: ParameterRow) -> Style | None:
    """The style of a parameter's name: one whose gradient is fine has none."""
    return None if row.status == "ok" else status_style(row.status)


def norm_style(rows: Sequence[ParameterRow]) -> Callable[[ParameterRow], Style | None]:
    """The style of norms: the few largest and smallest of many are marked."""
    norms = [norm for row in rows if (norm := positive(stat(row.grad, "norm"))) is not None]
    if len(norms) < _ENOUGH:
        return lambda _: None
    norms.sort()
    low, high = norms[_MARKED - 1], norms[-_MARKED]

    def style(row: ParameterRow) -> Style | None:
        norm = positive(stat(row.grad, "norm"))
        return Style.NOTED if norm is not None and not low < norm < high else None

    return style


def stat(stats: dict[str, Any] | None, key: str) -> Any:
    """Return one of the statistics, None if it is not known."""
    return None if stats is None else stats.get(key)


def measured(value: object) -> float | None:
    """Return the value as a number, also "nan", "inf" and "-inf"; None if it is not known."""
    if isinstance(value, str):
        return float(value) if value in {"nan", "inf", "-inf"} else None
    return float(value) if isinstance(value, int | float) else None


def _module(name: str) -> str:
    return name.rpartition(".")[0]


def _depth(row: ParameterRow) -> int:
    return row.name.count(".")


def _matches(row: ParameterRow, glob: str) -> bool:
    """Return whether a glob matches a name of the parameter or of a module that contains it."""
    names = (row.name, *row.shared_with)
    return any(fnmatchcase(n, glob) or fnmatchcase(_module(n), glob) for n in names)


def descending(value: object) -> tuple[int, float]:
    """Return a sort key: non-finite values first, then the largest, unknown ones last."""
    number = measured(value)
    if number is None:
        return (2, 0.0)
    return (1, -number) if math.isfinite(number) else (0, 0.0)


_KEYS: dict[str, Callable[[ParameterRow], Any]] = {
    "name": lambda row: row.name,
    "norm": lambda row: descending(stat(row.grad, "norm")),
    "ratio": lambda row: descending(row.grad_to_weight),
    "status": lambda row: _WORST_FIRST.index(row.status),
    "params": lambda row: descending(row.numel),
}


def select_rows(report: Report, view: View) -> list[ParameterRow]:
    """Return the parameters of the view, in its order; a shared one is a single row."""
    rows = [
        row
        for row in report.parameters
        if (view.depth is None or _depth(row) <= view.depth)
        and (view.only is None or _matches(row, view.only))
    ]
    return rows if view.sort in {None, "order"} else sorted(rows, key=_KEYS[view.sort or ""])


def count(value: object) -> str:
    """Return a number of elements as text."""
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else figure(value)


def status(row: ParameterRow, width: int | None = None) -> str:
    """Return the status in words, of each step if they differ; a short form if it is too long."""
    words = [str(step.get("status")) for step in row.steps]
    words = words if len(set(words)) > 1 else [str(row.status)]
    text = ", ".join(WORDS.get(word, "?") for word in words)
    if width is None or len(text) <= width:
        return text
    text = ", ".join(WORDS.get(word, "?").partition(":")[0] for word in words)
    return shorten(text, width)


def step_norm(row: ParameterRow, index: int) -> Any:
    """Return the norm of the gradient in a step."""
    if index >= len(row.steps):
        return None
    grad = row.steps[index].get("grad")
    return grad.get("norm") if isinstance(grad, dict) else None


def steps_of(rows: Sequence[ParameterRow]) -> int:
    """Return how many steps have their own columns: 0 if there is only one."""
    most = max((len(row.steps) for row in rows), default=0)
    return most if most > 1 else 0


def _number(key: str, write: Callable[[object], str] = figure) -> Column[ParameterRow]:
    title = GRADS_COLUMNS[{"nans": "nan", "infs": "inf"}.get(key, key)]
    return Column(title, lambda row: write(stat(row.grad, key)), right=True)


def _plain() -> dict[str, Column[ParameterRow]]:
    titles = GRADS_COLUMNS
    return {
        "name": Column(titles["name"], lambda row: escape(row.name), least=32, style=name_style),
        "shape": Column(titles["shape"], lambda row: shape(row.shape), least=12),
        "dtype": Column(titles["dtype"], lambda row: escape(row.dtype)),
        "type": Column(titles["type"], lambda row: escape(row.module_type), least=12),
        "norm": _number("norm"),
        "mean": _number("mean"),
        "std": _number("std"),
        "min": _number("min"),
        "max": _number("max"),
        "zeros": _number("zeros", count),
        "nan": _number("nans", count),
        "inf": _number("infs", count),
        "weight": Column(
            titles["weight"], lambda row: figure(stat(row.stats, "norm")), right=True
        ),
        "ratio": Column(titles["ratio"], lambda row: figure(row.grad_to_weight), right=True),
        "status": Column(
            titles["status"],
            status,
            least=10,
            fit=status,
            style=lambda row: status_style(row.status),
        ),
        "also": Column(
            titles["also"], lambda row: ", ".join(map(escape, row.shared_with)) or "–", least=16
        ),
    }  # fmt: skip


def bar_column(scale: Scale, norm: Callable[[Any], object]) -> Column[Any]:
    """Return the column with bars of norms; its title is the scale."""
    return Column(
        scale.title(),
        lambda row: scale.bar(norm(row), WIDTH),
        least=8,
        spare=True,
        fit=lambda row, width: scale.bar(norm(row), width),
    )


def _step(index: int) -> Column[ParameterRow]:
    return Column(f"Step {index}", lambda row: figure(step_norm(row, index)), right=True)


_DEFAULT = (
    "name", "shape", "norm", "mean", "std", "min", "max", "zeros", "nan", "inf", "weight", "ratio",
    "status", "bar",
)  # fmt: skip
# Dropped on a narrow terminal, in this order, unless the user chose the columns.
GIVE_WAY = ("mean", "min", "max", "std", "weight", "inf", "nan", "zeros", "shape", "bar", "ratio")


def columns(rows: list[ParameterRow], view: View) -> dict[str, Column[ParameterRow]]:
    """Return the chosen columns, else the default ones, with a norm for each step."""
    known = _plain()
    known["norm"] = dataclasses.replace(known["norm"], style=norm_style(rows))
    known["bar"] = bar_column(
        Scale.over((stat(row.grad, "norm") for row in rows), unicode=view.unicode),
        lambda row: stat(row.grad, "norm"),
    )
    if view.asked is not None:
        return {name: known[name] for name in view.asked if name in known}
    rare = {"nan": "nans", "inf": "infs"}
    shown: dict[str, Column[ParameterRow]] = {}
    for name in _DEFAULT:
        if name in rare and not any(stat(row.grad, rare[name]) for row in rows):
            continue
        if name == "norm" and steps_of(rows):
            shown.update({f"step {i}": _step(i) for i in range(steps_of(rows))})
        else:
            shown[name] = known[name]
    return shown


def give_way(rows: list[ParameterRow], view: View) -> tuple[str, ...]:
    """Return the columns to drop: figures, then the steps between the first and the last."""
    if view.asked is not None:
        return ()
    between = tuple(f"step {i}" for i in range(1, max(steps_of(rows) - 1, 1)))
    return (*GIVE_WAY, *between, *(["step 0"] if steps_of(rows) else []))
