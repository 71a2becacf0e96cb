"""The flow of gradients: the norms of the gradients at the output and input of each call."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase
from functools import partial
from operator import attrgetter

from hookcli.formats.grads.parameters import bar_column, stat
from hookcli.formats.inspect.cells import label
from hookcli.formats.names import COUNTS, FLOW, FLOW_COLUMNS, SHARED_COLUMNS, statistic
from hookcli.formats.order import Ordered, ordered, sort_key
from hookcli.formats.parts.bars import Scale
from hookcli.formats.parts.grid import Column
from hookcli.formats.parts.summary import not_measured
from hookcli.formats.parts.text import count, figure, place
from hookcli.formats.view import View
from hookcli.report.report import LayerRow, Report

_DEFAULT = ("layer", "call", "output", "input", "bar", "place")
GIVE_WAY = ("place", "call", "bar")  # on a narrow terminal, in this order


def at_output(row: LayerRow) -> object:
    """Return the norm of the gradient at the call's output."""
    return stat(row.output_grad, "norm")


def select_rows(report: Report, view: View) -> Ordered[LayerRow]:
    """Return the calls of the view; none if no call has a recorded gradient."""
    rows = [row for row in report.layers if _seen(row) or not row.recomputed]
    if not any(_seen(row) for row in rows) or not _wanted(view):
        return Ordered([])
    rows = [
        row
        for row in rows
        if (view.depth is None or row.depth <= view.depth)
        and (view.only is None or fnmatchcase(row.name or "", view.only))
    ]
    key = sort_key(view.sort or "order")
    if key == "order":
        return Ordered(rows[::-1] if view.sort == "-order" else rows)
    if key in {"name", "type"}:
        return ordered(rows, view.sort or "", attrgetter(key), words=True)
    if key == "call":
        return ordered(rows, view.sort or "", attrgetter(key))
    name = "output" if key == "norm" else key
    if name not in FLOW or not FLOW[name].stat:
        return Ordered(rows)  # a key of the parameters
    return ordered(rows, view.sort or "", partial(_statistic, name=name))


def _statistic(row: LayerRow, name: str) -> object:
    """Return a statistic of the gradient at a call's output or input."""
    grad = row.output_grad if name.startswith("output") else row.input_grad
    return statistic(grad, FLOW[name].stat)


def _cell(row: LayerRow, name: str) -> str:
    write = count if name.partition("_")[2] in COUNTS else figure
    return write(_statistic(row, name))


def _seen(row: LayerRow) -> bool:
    return row.output_grad is not None or row.input_grad is not None


def _wanted(view: View) -> bool:
    """Return whether a chosen column is only in this table, or all chosen ones are shared."""
    chosen = set(view.asked or FLOW_COLUMNS)
    return bool(chosen & (FLOW_COLUMNS.keys() - SHARED_COLUMNS)) or chosen <= SHARED_COLUMNS


def unmeasured(rows: Sequence[LayerRow], view: View) -> list[str]:
    """Return a note about the chosen statistics that no hook recorded."""
    names = [
        name
        for name in view.asked or ()
        if name in FLOW
        and FLOW[name].stat
        and name not in SHARED_COLUMNS
        and all(_statistic(row, name) is None for row in rows)
    ]
    return not_measured(names, "a hook at `MODULE:output` or `MODULE:input`") if rows else []


def columns(rows: list[LayerRow], view: View) -> dict[str, Column[LayerRow]]:
    """Return the chosen columns, else all; without the call if each row is a first call."""
    titles = FLOW_COLUMNS
    scale = Scale.over(map(at_output, rows), unicode=view.unicode)
    known: dict[str, Column[LayerRow]] = {
        "layer": Column(
            titles["layer"],
            lambda row: label(row, None, 1, unicode=view.unicode),
            least=32,
            distinct=True,
        ),
        "call": Column(titles["call"], lambda row: str(row.call), right=True),
        **{
            name: Column(facts.title, partial(_cell, name=name), right=True)
            for name, facts in FLOW.items()
            if facts.stat
        },
        "bar": bar_column(scale, at_output),
        "place": Column(titles["place"], lambda row: place(row.place), least=24, spare=True),
    }
    if view.asked is not None:
        return {name: known[name] for name in view.asked if name in known}
    shown = [each for each in _DEFAULT if each != "call" or any(row.call for row in rows)]
    by = sort_key(view.sort or "")
    shown += [by] if by in known and by not in shown else []
    return {name: known[name] for name in shown}
