"""The gradients that matter most, as a Markdown table with bars, for the summary of a CI step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from hookcli.console import escape
from hookcli.formats.document.document import TableBlock
from hookcli.formats.grads.parameters import stat
from hookcli.formats.parts.bars import Scale, positive
from hookcli.formats.parts.color_scale import CellKind, cell_kind
from hookcli.formats.parts.grid import Column
from hookcli.formats.parts.short_names import shortened
from hookcli.formats.parts.text import figure
from hookcli.report.report import ParameterRow, Report
from hookcli.text import counted

_MOST = 15  # rows
_MOST_MARKED = 7  # of these, gradients without a norm
_WIDTH = 20  # characters of a bar
_NAME = 60  # characters of a name
_WORDS: dict[CellKind, str] = {
    "nan": "NaN",
    "inf": "infinite",
    "none": "no gradient",
    "zero": "all zeros",
}


class _Extreme(NamedTuple):
    parameter: ParameterRow
    kind: CellKind
    norm: float | None


def gradient_table(report: Report) -> list[TableBlock[_Extreme]]:
    """Return a table of the absent, the smallest and the largest gradients, in the report's order.

    There is none if no gradient was measured.
    """
    cells = [cell_kind(row.grad, row.status) for row in report.parameters]
    norms = [positive(stat(row.grad, "norm")) for row in report.parameters]
    if not any(cell in {"value", "nan", "inf", "zero"} for cell in cells):
        return []
    chosen = _chosen(cells, norms)
    scale = Scale.over(norms, unicode=True)
    rows = [_Extreme(report.parameters[i], cells[i], norms[i]) for i in chosen]
    names = shortened([escape(row.parameter.name) for row in rows], _NAME)
    columns: dict[str, Column[_Extreme]] = {
        "name": Column("Parameter", lambda row: names[escape(row.parameter.name)]),
        "norm": Column("Gradient norm", lambda row: figure(row.norm), right=True),
        "bar": Column(scale.title(), lambda row: scale.bar(row.norm, _WIDTH)),
        "status": Column("Status", lambda row: _WORDS.get(row.kind, "ok")),
    }
    count = sum(cell not in {"frozen", "unknown"} for cell in cells)
    which = "the absent, the smallest and the largest"
    part = f"{which}, {len(rows)} of {counted(count, 'parameter')}" if len(rows) < count else ""
    return [TableBlock(columns, rows, "parameter", title="Gradients", subtitle=part)]


def _chosen(cells: Sequence[CellKind], norms: Sequence[float | None]) -> list[int]:
    """Return the indices of the rows to show: those without a norm, then the extremes."""
    marked = [i for word in _WORDS for i, cell in enumerate(cells) if cell == word]
    known = sorted((norm, i) for i, norm in enumerate(norms) if norm is not None)
    left = _MOST - min(len(marked), max(_MOST_MARKED, _MOST - len(known)))
    small, large = (left + 1) // 2, left // 2
    extremes = known if len(known) <= left else [*known[:small], *known[len(known) - large :]]
    return sorted([*marked[: _MOST - len(extremes)], *(i for _, i in extremes)])
