"""The default format: a table like torchinfo's, one row per call, as wide as the terminal."""

from __future__ import annotations

from dataclasses import dataclass

from hookcli.formats.inspect.cells import RIGHT, Caller, cell, cost, label
from hookcli.formats.inspect.fold import DEEPEST, CallNode, fold
from hookcli.formats.names import COLUMNS
from hookcli.formats.parts import page, summary
from hookcli.formats.parts.grid import LAST_TURN, Column, draw
from hookcli.formats.parts.style import Style
from hookcli.formats.parts.text import cut
from hookcli.formats.view import View, shown_rows
from hookcli.report.report import LayerRow, Report


@dataclass(frozen=True, slots=True)
class LayerLine:
    """One row to draw; `hidden`: calls below it are omitted."""

    row: LayerRow
    guides: str
    label: str
    hidden: bool
    macs: int | None
    flops: int | None

    def cell(self, column: str, width: int) -> str:
        """Return the text of a column."""
        if column == "layer":
            return fit(self, width)
        if column in {"macs", "flops"}:
            return cost(self.macs if column == "macs" else self.flops)
        return cut(cell(self.row, column, width, hidden=self.hidden), width)


def guides(node: CallNode, *, unicode: bool) -> str:
    """Return the tree lines before a row."""
    if not node.guides:
        return ""
    bar, tee, end = ("│  ", "├─ ", "└─ ") if unicode else ("|  ", "|- ", "`- ")
    levels = node.guides[1:]
    above = "".join(bar if continues else "   " for continues in levels[-DEEPEST:])
    if len(levels) > DEEPEST:
        above = "…" + above[1:]
    return above + (end if node.last else tee)


def fit(line: LayerLine, width: int) -> str:
    """Return the first cell within `width`: guides are cut first, from the left, then the label."""
    room = max(width // 2, width - len(line.label))
    above = line.guides
    if len(above) > room:
        above = "…" + above[len(above) - room + 1 :]
    return above + cut(line.label, width - len(above))


def guides_in(line: LayerLine, cell: str) -> int:
    """How many characters at the start of the first cell are guides."""
    return max(len(cell) - len(line.label), 0) if cell.endswith(line.label) else _drawn(line, cell)


def _drawn(line: LayerLine, cell: str) -> int:
    """The guides before a label that was cut."""
    drawn = len(cell) - len(cell.lstrip("│├└─|`-… "))
    return min(drawn, len(line.guides))


def lines(report: Report, view: View) -> list[LayerLine]:
    """Return the rows to draw, with their first cell."""
    if view.flat():
        return [
            LayerLine(
                row, "", label(row, None, 1, unicode=view.unicode), False, row.macs, row.flops
            )
            for row in shown_rows(report, view)
        ]
    parents = {row.parent for row in report.layers}
    callers = {row.order: Caller(row) for row in report.layers if row.order in parents}
    return [
        LayerLine(
            node.row,
            guides(node, unicode=view.unicode),
            label(
                node.row,
                None if node.row.parent is None else callers.get(node.row.parent),
                node.times,
                unicode=view.unicode,
                in_turn=node.in_turn,
            ),
            node.hidden,
            node.macs,
            node.flops,
        )
        for node in fold(report.layers, view.depth)
    ]


def columns(report: Report, view: View) -> list[str]:
    """Return the chosen columns, else the default ones without unknown costs."""
    counted = {
        "macs": report.totals.macs is not None,
        "flops": report.totals.flops is not None,
    }
    asked = view.columns
    default = asked == View().columns
    return [c for c in asked if not default or counted.get(c, True)]


_TITLE_ROOM = 2  # characters by which columns are wider than their titles
_SHAPES = {"input", "output"}
_TEXTS = {"place", "notes", "aliases", "name"}
_GIVE_WAY = ("input", "flops", "macs")  # dropped on a narrow terminal, in this order


def _column(name: str, width: int) -> Column[LayerLine]:
    """Return a column of a table that is `width` wide.

    Text columns shrink first, then shapes, then the tree of layers, then both as far as possible.
    """
    title, right = COLUMNS[name], name in RIGHT

    def within(line: LayerLine, width: int) -> str:
        return line.cell(name, width)

    if name == "layer":
        return Column(
            title,
            lambda line: line.guides + line.label,
            fit=fit,
            turns=((2, 36), (4, 16)),
            guides=guides_in,
        )
    if name in _SHAPES:
        return Column(
            title,
            lambda line: within(line, width),
            fit=within,
            style=lambda line: Style.WRONG if within(line, width) == "raised" else None,
            turns=((1, 24), (3, 13)),
            grow=False,
        )
    turns = ((0, 16), (LAST_TURN, 8)) if name in _TEXTS else ()
    return Column(title, lambda line: within(line, width), right=right, turns=turns)


def _draw(report: Report, view: View) -> str:
    return draw(
        {name: _column(name, view.width) for name in columns(report, view)},
        lines(report, view),
        width=view.width,
        give_way=() if view.asked else _GIVE_WAY,
        color=view.color,
        title_room=_TITLE_ROOM,
        empty=True,
    )


def render(report: Report, view: View) -> str:
    """Render the model, the table, the totals and the notes."""
    return page.assemble(
        report,
        view,
        [_draw(report, view)] if report.layers else [],
        totals=summary.totals(report),
        notes=summary.notes(report, view.only),
    )
