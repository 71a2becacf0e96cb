"""The flow of gradients: the norms of the gradients at the output and input of each call."""

from __future__ import annotations

from collections.abc import Callable
from fnmatch import fnmatchcase

from hookcli.formats.grads.parameters import bar_column, descending, stat
from hookcli.formats.inspect.cells import label
from hookcli.formats.names import FLOW_COLUMNS, SHARED_COLUMNS
from hookcli.formats.parts.bars import Scale
from hookcli.formats.parts.grid import Column
from hookcli.formats.parts.text import figure, place
from hookcli.formats.view import View
from hookcli.report.report import LayerRow, Report

GIVE_WAY = ("place", "call", "bar")  # on a narrow terminal, in this order


def at_output(row: LayerRow) -> object:
    """Return the norm of the gradient at the call's output."""
    return stat(row.output_grad, "norm")


def select_rows(report: Report, view: View) -> list[LayerRow]:
    """Return the calls of the view; none if no call has a recorded gradient."""
    rows = [row for row in report.layers if _seen(row) or not row.recomputed]
    if not any(_seen(row) for row in rows) or not _wanted(view):
        return []
    rows = [
        row
        for row in rows
        if (view.depth is None or row.depth <= view.depth)
        and (view.only is None or fnmatchcase(row.name or "", view.only))
    ]
    keys: dict[str, Callable[[LayerRow], object]] = {
        "name": lambda row: row.name or "",
        "norm": lambda row: descending(at_output(row)),
    }
    key = keys.get(view.sort or "")
    return rows if key is None else sorted(rows, key=key)  # type: ignore[arg-type]


def _seen(row: LayerRow) -> bool:
    return row.output_grad is not None or row.input_grad is not None


def _wanted(view: View) -> bool:
    """Return whether a chosen column is only in this table, or all chosen ones are shared."""
    chosen = set(view.asked or FLOW_COLUMNS)
    return bool(chosen & (FLOW_COLUMNS.keys() - SHARED_COLUMNS)) or chosen <= SHARED_COLUMNS


def columns(rows: list[LayerRow], view: View) -> dict[str, Column[LayerRow]]:
    """Return the chosen columns, else all; without the call if each row is a first call."""
    titles = FLOW_COLUMNS
    scale = Scale.over(map(at_output, rows), unicode=view.unicode)
    known: dict[str, Column[LayerRow]] = {
        "layer": Column(
            titles["layer"], lambda row: label(row, None, 1, unicode=view.unicode), least=32
        ),
        "call": Column(titles["call"], lambda row: str(row.call), right=True),
        "output": Column(titles["output"], lambda row: figure(at_output(row)), right=True),
        "input": Column(
            titles["input"], lambda row: figure(stat(row.input_grad, "norm")), right=True
        ),
        "bar": bar_column(scale, at_output),
        "place": Column(titles["place"], lambda row: place(row.place), least=24, spare=True),
    }
    if view.asked is not None:
        return {name: known[name] for name in view.asked if name in known}
    if not any(row.call for row in rows):
        del known["call"]
    return known
