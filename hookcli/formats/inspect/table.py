"""The default format: torchinfo's look, one row per call, as wide as the terminal."""

from __future__ import annotations

from dataclasses import dataclass

from tabulate import MIN_PADDING, tabulate

from hookcli.formats.inspect.cells import RIGHT, Caller, cell, cost, label
from hookcli.formats.inspect.fold import DEEPEST, CallNode, fold
from hookcli.formats.names import COLUMNS, DEFAULT_COLUMNS
from hookcli.formats.parts import page, summary
from hookcli.formats.parts.text import cut
from hookcli.formats.parts.widths import shrink
from hookcli.formats.view import View, shown_rows
from hookcli.report.report import LayerRow, Report

_GAP = 2  # tabulate's columns stand two apart
_LEAST_SHAPE = 13
_LEAST_LAYER = 16


@dataclass(frozen=True, slots=True)
class LayerLine:
    """One row to draw; `hidden` says that calls below it are left out."""

    row: LayerRow
    guides: str
    label: str
    hidden: bool
    macs: int | None
    flops: int | None

    def cell(self, column: str, width: int) -> str:
        """The text of a column."""
        if column == "layer":
            return fit(self, width)
        if column in {"macs", "flops"}:
            return cost(self.macs if column == "macs" else self.flops)
        return cut(cell(self.row, column, width, hidden=self.hidden), width)


def guides(node: CallNode, *, unicode: bool) -> str:
    """The tree lines before a row."""
    if not node.guides:
        return ""
    bar, tee, end = ("│  ", "├─ ", "└─ ") if unicode else ("|  ", "|- ", "`- ")
    levels = node.guides[1:]
    above = "".join(bar if goes_on else "   " for goes_on in levels[-DEEPEST:])
    if len(levels) > DEEPEST:
        above = "…" + above[1:]
    return above + (end if node.last else tee)


def fit(line: LayerLine, width: int) -> str:
    """The first cell within `width`: deep guides give way first, from the left, then the label."""
    room = max(width // 2, width - len(line.label))
    above = line.guides
    if len(above) > room:
        above = "…" + above[len(above) - room + 1 :]
    return above + cut(line.label, width - len(above))


def lines(report: Report, view: View) -> list[LayerLine]:
    """The rows to draw, with their first cell."""
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
    """The columns asked for, less those that nothing is known of."""
    counted = {
        "macs": report.totals.macs is not None,
        "flops": report.totals.flops is not None,
    }
    asked = view.columns
    default = asked == View().columns
    return [c for c in asked if not default or counted.get(c, True)]


_SHAPES = {"input", "output"}


def _widths(drawn: list[LayerLine], names: list[str], width: int) -> dict[str, int]:
    """How wide each flexible column may be; what short forms of shapes leave over, others get."""
    natural = {
        name: max(
            [len(COLUMNS[name]) + MIN_PADDING]
            + [
                len(line.guides) + len(line.label)
                if name == "layer"
                else len(line.cell(name, width))
                for line in drawn
            ]
        )
        for name in names
    }
    widths = _allot(natural, names, width)
    for name in _SHAPES & natural.keys():
        if widths[name] < natural[name]:
            used = max(len(line.cell(name, widths[name])) for line in drawn)
            natural[name] = min(widths[name], max(used, len(COLUMNS[name]) + MIN_PADDING))
    return _allot(natural, names, width)


def _allot(natural: dict[str, int], names: list[str], width: int) -> dict[str, int]:
    """The columns' widths, made smaller in a stated order until the table fits."""
    natural = dict(natural)
    room = width - _GAP * (len(names) - 1)
    excess = sum(natural.values()) - room
    if excess <= 0:
        return natural
    shapes = [n for n in names if n in _SHAPES]
    texts = [n for n in names if n in {"place", "notes", "aliases", "name"}]
    for group, least in (
        (texts, 16),
        (shapes, 24),
        (["layer"], 36),
        (shapes, _LEAST_SHAPE),
        (["layer"], _LEAST_LAYER),
        (texts, 8),
    ):
        present = [n for n in group if n in natural]
        widths = [natural[n] for n in present]
        excess = shrink(widths, [least] * len(present), excess)
        natural.update(zip(present, widths, strict=True))
    return natural


def _draw(report: Report, view: View) -> str:
    names = columns(report, view)
    drawn = lines(report, view)
    widths = _widths(drawn, names, view.width)
    give_way = ("input", "flops", "macs") if view.columns == DEFAULT_COLUMNS else ()
    for least in give_way:  # on a narrow terminal, in this order; never what was asked for
        if least in names and sum(widths.values()) + _GAP * (len(names) - 1) > view.width:
            names = [name for name in names if name != least]
            widths = _widths(drawn, names, view.width)
    body = [[line.cell(name, widths[name]) for name in names] for line in drawn]
    return tabulate(
        body,
        headers=[COLUMNS[name] for name in names],
        tablefmt="simple",
        colalign=["right" if name in RIGHT else "left" for name in names] if body else None,
        disable_numparse=True,
        preserve_whitespace=True,
    )


def render(report: Report, view: View) -> str:
    """The model, the table, the totals and the notes."""
    drawn = _draw(report, view) if report.layers else ""
    drawn = "\n".join(line.rstrip() for line in drawn.splitlines())
    return page.assemble(
        report,
        view,
        [page.bold_title(drawn) if view.color else drawn],
        totals=summary.totals(report),
        notes=summary.notes(report, view.only),
    )
