"""The report of inspect: a table like torchinfo's, one row per call."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from hookcli.formats.document import common
from hookcli.formats.document.document import Document, TableBlock
from hookcli.formats.inspect import existing
from hookcli.formats.inspect.cells import RIGHT, Caller, cell, cost, label, memory
from hookcli.formats.inspect.fold import DEEPEST, CallNode, fold
from hookcli.formats.inspect.training import nothing_saved, training_columns, training_notes
from hookcli.formats.names import COLUMNS, MEMORY_COLUMNS
from hookcli.formats.order import notes as order_notes, sort_key
from hookcli.formats.parts import summary
from hookcli.formats.parts.grid import LAST_TURN, Column
from hookcli.formats.parts.short_names import ShortNames
from hookcli.formats.parts.style import Style
from hookcli.formats.parts.text import cut
from hookcli.formats.view import View, shown_rows
from hookcli.report.memory import CallMemory
from hookcli.report.report import LayerRow, Report
from hookcli.text import counted


@dataclass(frozen=True, slots=True)
class LayerLine:
    """One row to draw; `hidden`: calls below it are omitted."""

    row: LayerRow
    guides: str
    label: str
    hidden: bool
    macs: int | None
    flops: int | None
    memory: CallMemory | None

    def cell(self, column: str, width: int) -> str:
        """Return the text of a column other than that of the layer."""
        if column in {"macs", "flops"}:
            return cost(self.macs if column == "macs" else self.flops)
        if column in MEMORY_COLUMNS:
            return memory(self.memory, column)
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


def fit(line: LayerLine, width: int, names: ShortNames | None = None) -> str:
    """Return the first cell within `width`: guides are cut first, from the left, then the label.

    `names` are the labels of all lines: those that differ do not look alike when they are cut.
    """
    room = max(width // 2, width - len(line.label))
    above = line.guides
    if len(above) > room:
        above = "…" + above[len(above) - room + 1 :]
    room = width - len(above)
    return above + (cut(line.label, room) if names is None else names.within(line.label, room))


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
                row,
                "",
                label(row, None, 1, unicode=view.unicode),
                False,
                row.macs,
                row.flops,
                row.memory,
            )
            for row in shown_rows(report, view).rows
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
                alternating=node.alternating,
            ),
            node.hidden,
            node.macs,
            node.flops,
            node.memory,
        )
        for node in fold(report.layers, view.levels(report))
    ]


def columns(report: Report, view: View) -> list[str]:
    """Return the chosen columns, else the default ones without unknown costs.

    The columns of memory replace the inputs and costs by default, if memory was measured.
    """
    computed = {
        "macs": report.totals.macs is not None,
        "flops": report.totals.flops is not None,
    }
    asked = view.columns
    default = asked == View().columns
    if default and report.memory is not None:
        return ["layer", "output", "params", *MEMORY_COLUMNS]
    shown = [c for c in asked if not default or computed.get(c, True)]
    by = sort_key(view.sort or "")
    return [*shown, by] if default and by in SHOWN_IF_SORTED and by not in shown else shown


# Columns that are not in the table by default, and are added if it is sorted by them.
SHOWN_IF_SORTED = ("own", "trainable", "call", "flops")
_LONGEST = 1000  # characters of a cell
_TITLE_ROOM = 2  # characters by which columns are wider than their titles
_SHAPES = {"input", "output"}
_TEXTS = {"place", "notes", "aliases", "name"}
_GIVE_WAY = ("input", "flops", "macs")  # dropped on a narrow terminal, in this order


def _column(name: str, names: ShortNames) -> Column[LayerLine]:
    """Return a column.

    Text columns shrink first, then shapes, then the tree of layers, then both as far as possible.
    """
    title, right = COLUMNS[name], name in RIGHT

    def within(line: LayerLine, width: int) -> str:
        return line.cell(name, width)

    if name == "layer":
        return Column(
            title,
            lambda line: line.guides + line.label,
            fit=partial(fit, names=names),
            turns=((2, 36), (4, 16)),
            guides=guides_in,
            nested=lambda line: (len(line.guides) // 3, line.label),
        )
    if name in _SHAPES:
        return Column(
            title,
            lambda line: within(line, _LONGEST),
            fit=within,
            style=lambda line: Style.WRONG if within(line, _LONGEST) == "raised" else None,
            turns=((1, 24), (3, 13)),
            grow=False,
        )
    turns = ((0, 16), (LAST_TURN, 8)) if name in _TEXTS else ()
    return Column(title, lambda line: within(line, _LONGEST), right=right, turns=turns)


def notes(report: Report, view: View) -> list[str]:
    """Return the notes below the rows of calls."""
    more: list[str] = []
    if view.flat():
        order = shown_rows(report, view)
        more += (
            summary.hidden_rows(len(order.rows), len(report.layers), "call") if order.rows else []
        )
        more += order_notes(view.sort, order)
    elif (levels := view.levels(report)) is not None:
        hidden = sum(row.depth > levels for row in report.layers)
        more += [f"{counted(hidden, 'call')} below depth {levels} not shown"] if hidden else []
    return [*summary.notes(report, view.only), *more]


def table(report: Report, view: View) -> TableBlock[LayerLine]:
    """Return the table of the calls."""
    drawn = lines(report, view)
    names = ShortNames(lambda: [line.label for line in drawn])
    return TableBlock(
        {name: _column(name, names) for name in columns(report, view)},
        drawn,
        "call",
        give_way=()
        if view.asked
        else [name for name in _GIVE_WAY if name != sort_key(view.sort or "")],
        selectable=True,
        title_room=_TITLE_ROOM,
        keeps_titles=True,
    )


def build(report: Report, view: View) -> Document:
    """Return the document with the calls, the memory of training steps, and existing hooks."""
    training = () if report.memory is None else report.memory.training
    hooks = existing.first_groups(report, view)
    return common.document(
        report,
        view,
        [
            *([table(report, view)] if report.layers else []),
            TableBlock(training_columns(), training, "training step"),
            TableBlock(existing.COLUMNS, hooks, "existing hook"),
        ],
        totals=summary.totals(report),
        notes=[
            *notes(report, view),
            *nothing_saved(report, view),
            *training_notes(report),
            *existing.notes(report, view),
        ],
    )
