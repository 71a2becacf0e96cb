"""The rows of pictures of gradients: parameters in the order of forward, or their modules.

Many parameters are folded to modules, the deepest level at which the rows fit into a picture.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from hookcli.formats.grads.parameters import select_rows, stat
from hookcli.formats.order import measured
from hookcli.formats.parts.color_scale import CellKind, cell_kind
from hookcli.formats.view import View
from hookcli.report.report import ParameterRow, Report
from hookcli.text import counted

MOST_ROWS = 120
_FEW = 24  # rows that are too few for a model with many parameters
# What a cell of several gradients shows, the first of these that occurs.
_WORST_FIRST: tuple[CellKind, ...] = ("nan", "inf", "value", "zero", "none", "unknown", "frozen")
WORDS: dict[CellKind, str] = {
    "value": "value",
    "nan": "NaN",
    "inf": "infinite",
    "zero": "all zeros",
    "none": "no gradient",
    "frozen": "frozen",
    "unknown": "not measured",
}


@dataclass(frozen=True, slots=True)
class GradientCell:
    """One gradient, or several folded into one. `norm` is the 2-norm, if it is a number above 0."""

    kind: CellKind
    norm: float | None = None


@dataclass(frozen=True, slots=True)
class GradientRow:
    """A parameter, or `count` parameters of a module. `weight` is the 2-norm of their values."""

    name: str
    count: int
    cell: GradientCell
    weight: float | None
    steps: tuple[GradientCell, ...]


@dataclass(frozen=True, slots=True)
class GradientRows:
    """The rows of a picture, the numbers of the steps of their cells, and what the rows are."""

    rows: tuple[GradientRow, ...]
    steps: tuple[int, ...]
    parameters: int
    folded: str  # how parameters were folded, "" if each has a row


def gradient_rows(report: Report, view: View) -> GradientRows:
    """Return the parameters that a view shows, in the order of forward unless it sorts them."""
    chosen = select_rows(report, view).rows
    if view.sort is None:
        chosen = forward_order(report, chosen)
    numbers = sorted({_number(step, i) for row in chosen for i, step in enumerate(row.steps)})
    groups, folded = _folded(chosen)
    rows = tuple(_row(name, group, numbers) for name, group in groups)
    return GradientRows(rows, tuple(numbers), len(chosen), folded)


def forward_order(report: Report, rows: Sequence[ParameterRow]) -> list[ParameterRow]:
    """Return the parameters in the order in which forward first called their modules.

    If a module was not called, the nearest called one around it counts, except the root; without
    one, the parameter stays behind its predecessor.
    """
    first: dict[str, int] = {}
    for layer in report.layers:
        for name in (layer.name, *layer.aliases):
            if name is not None:
                first.setdefault(name, layer.order)
    orders: list[int] = []
    for row in rows:
        name, dot, _ = row.name.rpartition(".")
        while dot and name not in first:
            name, dot, _ = name.rpartition(".")
        before = orders[-1] if orders else -1
        orders.append(first.get(name, before) if dot or "." not in row.name else before)
    return [row for _, row in sorted(zip(orders, rows, strict=True), key=lambda pair: pair[0])]


def _number(step: dict[str, object], index: int) -> int:
    number = step.get("step", index)
    return number if isinstance(number, int) else index


def _folded(rows: Sequence[ParameterRow]) -> tuple[list[tuple[str, list[ParameterRow]]], str]:
    """Return the parameters of each row under its name, and how they were folded."""
    if len(rows) <= MOST_ROWS:
        return [(row.name, [row]) for row in rows], ""
    depth = max(row.name.count(".") for row in rows)
    finer: list[tuple[str, list[ParameterRow]]] = [(row.name, [row]) for row in rows]
    for level in range(depth, 0, -1):
        groups = _by_module(rows, level)
        if len(groups) <= MOST_ROWS and (len(groups) > _FEW or len(finer) <= len(groups)):
            return groups, "modules"
        if len(groups) <= MOST_ROWS:
            break
        finer = groups
    return _runs(finer), "neighbours"


def _by_module(rows: Sequence[ParameterRow], level: int) -> list[tuple[str, list[ParameterRow]]]:
    """Return the parameters by the first `level` parts of the names of their modules."""
    groups: dict[str, list[ParameterRow]] = {}
    for row in rows:
        module = row.name.split(".")[:-1]
        groups.setdefault(".".join(module[:level]) or row.name, []).append(row)
    return list(groups.items())


def _runs(
    groups: Sequence[tuple[str, list[ParameterRow]]],
) -> list[tuple[str, list[ParameterRow]]]:
    """Return groups of neighbours, about as long as each other, named for the first and last."""
    size = math.ceil(len(groups) / MOST_ROWS)
    runs = [groups[i : i + size] for i in range(0, len(groups), size)]
    return [
        (
            run[0][0] if len(run) == 1 else f"{run[0][0]} – {run[-1][0]}",
            [row for _, rows in run for row in rows],
        )
        for run in runs
    ]


def _row(name: str, group: Sequence[ParameterRow], numbers: Sequence[int]) -> GradientRow:
    cells = [_cell_of(row) for row in group]
    by_step: dict[int, list[GradientCell]] = {number: [] for number in numbers}
    for row in group:
        for i, step in enumerate(row.steps):
            grad = step.get("grad")
            kind = cell_kind(grad, step.get("status"))
            by_step[_number(step, i)].append(_cell(kind, stat(grad, "norm")))
    return GradientRow(
        name,
        len(group),
        joined(cells),
        _root_of_squares(measured(stat(row.stats, "norm")) for row in group),
        tuple(joined(by_step[number]) for number in numbers),
    )


def _cell_of(row: ParameterRow) -> GradientCell:
    return _cell(cell_kind(row.grad, row.status), stat(row.grad, "norm"))


def _cell(kind: CellKind, norm: object) -> GradientCell:
    return GradientCell(kind, measured(norm) if kind == "value" else None)


def joined(cells: Sequence[GradientCell], *, largest: bool = False) -> GradientCell:
    """Return one cell for several gradients: the worst kind, and the 2-norm of all together.

    With `largest` the norm is that of the largest, for cells of one parameter at several steps.
    """
    kinds = {cell.kind for cell in cells}
    kind: CellKind = next((kind for kind in _WORST_FIRST if kind in kinds), "unknown")
    if kind != "value":
        return GradientCell(kind)
    norms = [cell.norm for cell in cells if cell.norm is not None]
    return GradientCell(kind, max(norms) if largest else math.hypot(*norms))


def _root_of_squares(norms: Iterable[float | None]) -> float | None:
    known = list(norms)
    numbers = [norm for norm in known if norm is not None]
    return math.hypot(*numbers) if numbers and len(numbers) == len(known) else None


def columns_of(rows: GradientRows, most: int) -> tuple[list[tuple[int, int]], GradientRows]:
    """Return (first, last) step of each of at most `most` columns, and the rows with these cells.

    Neighbouring steps share a column if there are more: it shows the worst kind, else the largest
    norm.
    """
    size = math.ceil(len(rows.steps) / most) or 1
    starts = range(0, len(rows.steps), size)
    spans = [(rows.steps[i], rows.steps[min(i + size, len(rows.steps)) - 1]) for i in starts]
    if size == 1:
        return spans, rows
    merged = tuple(
        dataclasses.replace(
            row, steps=tuple(joined(row.steps[i : i + size], largest=True) for i in starts)
        )
        for row in rows.rows
    )
    return spans, dataclasses.replace(rows, rows=merged)


def what_rows_are(rows: GradientRows) -> str:
    """Return what the rows of a picture are, in a phrase."""
    parameters = counted(rows.parameters, "parameter")
    if rows.folded == "modules":
        return f"{parameters} folded to {counted(len(rows.rows), 'module')}"
    if rows.folded:
        return f"{parameters} folded to {counted(len(rows.rows), 'row')} of neighbours"
    return parameters
