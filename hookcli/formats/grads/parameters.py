"""The parameters of a gradient report: those that a view shows, and their cells."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase
from functools import partial
from typing import Any

from hookcli.console import escape
from hookcli.formats.names import COUNTS, GRADS, statistic
from hookcli.formats.order import Ordered, ordered, sort_key
from hookcli.formats.parts.bars import WIDTH, Scale, positive
from hookcli.formats.parts.grid import LAST_TURN, Column
from hookcli.formats.parts.style import Style, status_style
from hookcli.formats.parts.text import count, figure, shape
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
_STEPS = 12  # that have a column
_REASON = max(map(len, WORDS.values()))  # characters
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


def _module(name: str) -> str:
    return name.rpartition(".")[0]


def _depth(row: ParameterRow) -> int:
    return row.name.count(".")


def _matches(row: ParameterRow, glob: str) -> bool:
    """Return whether a glob matches a name of the parameter or of a module that contains it."""
    names = (row.name, *row.shared_with)
    return any(fnmatchcase(n, glob) or fnmatchcase(_module(n), glob) for n in names)


_KEYS: dict[str, Callable[[ParameterRow], object]] = {
    "name": lambda row: row.name,
    "type": lambda row: row.module_type,
    "ratio": lambda row: row.grad_to_weight,
    "status": lambda row: -_WORST_FIRST.index(row.status),
    "params": lambda row: row.numel,
}


def _sort_value(key: str) -> Callable[[ParameterRow], object] | None:
    """Return the function of a row's value by which it is sorted; None: a key of the calls."""
    if key in _KEYS:
        return _KEYS[key]
    if key not in GRADS:
        return None
    return partial(_statistic, name=key)


def _statistic(row: ParameterRow, name: str) -> object:
    """Return a statistic of the gradient, or of the parameter itself."""
    return statistic(row.stats if name.startswith("weight") else row.grad, GRADS[name].stat)


def select_rows(report: Report, view: View) -> Ordered[ParameterRow]:
    """Return the parameters of the view, in its order; a shared one is a single row."""
    rows = [
        row
        for row in report.parameters
        if (view.depth is None or _depth(row) <= view.depth)
        and (view.only is None or _matches(row, view.only))
    ]
    key = sort_key(view.sort or "order")
    value = _sort_value(key)
    if key == "order" or value is None:
        return Ordered(rows[::-1] if view.sort == "-order" else rows)
    return ordered(rows, view.sort or "", value, words=key in {"name", "type"})


def status(row: ParameterRow, width: int | None = None, *, most: int = _STEPS) -> str:
    """Return the status in words, of each step if they differ; a short form if it is too long.

    With more than `most` steps, it is the number of steps with each status.
    """
    words = [str(step.get("status")) for step in row.steps]
    words = words if len(set(words)) > 1 else [str(row.status)]
    long = {word: WORDS.get(word, "?") for word in words}
    short = {word: text.partition(":")[0] for word, text in long.items()}
    if len(words) > most:
        return _within(", ".join(f"{short[w]} ×{n:,}" for w, n in Counter(words).items()), width)
    text = ", ".join(long[word] for word in words)
    if width is None or len(text) <= width:
        return text
    return shorten(", ".join(short[word] for word in words), width)


def _within(text: str, width: int | None) -> str:
    return text if width is None else shorten(text, width)


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


def shown_steps(rows: Sequence[ParameterRow], most: int = _STEPS) -> list[tuple[int, int]]:
    """Return (index, number) of at most `most` steps that have columns, the first and last too."""
    count = steps_of(rows)
    longest = max((row.steps for row in rows), key=len, default=())
    shown = min(count, most)
    picked = sorted({i * (count - 1) // max(shown - 1, 1) for i in range(shown)})
    return [(i, longest[i].get("step", i)) for i in picked]


def _plain() -> dict[str, Column[ParameterRow]]:
    known = {
        "name": Column(
            GRADS["name"].title,
            lambda row: escape(row.name),
            least=32,
            style=name_style,
            distinct=True,
        ),
        "shape": Column(GRADS["shape"].title, lambda row: shape(row.shape), least=12),
        "dtype": Column(GRADS["dtype"].title, lambda row: escape(row.dtype)),
        "type": Column(GRADS["type"].title, lambda row: escape(row.module_type), least=12),
        "ratio": Column(
            GRADS["ratio"].title, lambda row: figure(row.grad_to_weight), right=True
        ),
        "status": Column(
            GRADS["status"].title,
            status,
            turns=((1, _REASON), (LAST_TURN, 10)),  # figures are dropped before the reason
            fit=status,
            style=lambda row: status_style(row.status),
        ),
        "also": Column(
            GRADS["also"].title,
            lambda row: ", ".join(map(escape, row.shared_with)) or "–",
            least=16,
        ),
    }  # fmt: skip
    return known | {
        name: Column(facts.title, partial(_cell, name=name), right=True)
        for name, facts in GRADS.items()
        if facts.stat
    }


def _cell(row: ParameterRow, name: str) -> str:
    write = count if name.removeprefix("weight_") in COUNTS else figure
    return write(_statistic(row, name))


def bar_column(scale: Scale, norm: Callable[[Any], object]) -> Column[Any]:
    """Return the column with bars of norms; its title is the scale."""
    return Column(
        scale.title(),
        lambda row: scale.bar(norm(row), WIDTH),
        least=8,
        spare=True,
        fit=lambda row, width: scale.bar(norm(row), width),
    )


def _step(index: int, number: int) -> Column[ParameterRow]:
    return Column(f"Step {number}", lambda row: figure(step_norm(row, index)), right=True)


_DEFAULT = (
    "name", "shape", "norm", "mean", "std", "min", "max", "zeros", "nan", "inf", "weight", "ratio",
    "status", "bar",
)  # fmt: skip
# Dropped on a narrow terminal, in this order, unless the user chose the columns.
GIVE_WAY = ("mean", "min", "max", "std", "weight", "inf", "nan", "zeros", "shape", "bar", "ratio")


def columns(
    rows: list[ParameterRow], view: View, *, steps: int = _STEPS
) -> dict[str, Column[ParameterRow]]:
    """Return the chosen columns, else the default ones, with a norm for each of `steps` steps."""
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
            picked = shown_steps(rows, steps)
            shown.update({f"step {number}": _step(i, number) for i, number in picked})
        else:
            shown[name] = known[name]
    by = sort_key(view.sort or "")
    return shown | ({by: known[by]} if by in known else {})


def give_way(rows: list[ParameterRow], view: View) -> tuple[str, ...]:
    """Return the columns to drop: figures, then the steps between the first and the last."""
    if view.asked is not None:
        return ()
    steps = [f"step {number}" for _, number in shown_steps(rows)]
    names = (*GIVE_WAY, *steps[1:-1], *steps[:1])
    return tuple(name for name in names if name != sort_key(view.sort or ""))
