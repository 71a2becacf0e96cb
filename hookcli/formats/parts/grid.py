"""Rows → a drawn table that fits: columns give way in a stated order, then shrink."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from hookcli.formats.parts.text import cut
from hookcli.formats.parts.widths import shrink

Row = TypeVar("Row")
_GAP = 2  # between columns
_LEAST_ASKED = 8  # a column that was asked for never goes away, and shrinks to this
_WIDEST = 1000  # of a column that does not shrink: all rows are as wide as its widest cell
MARKDOWN_WIDTH = 60  # of a cell in Markdown


@dataclass(frozen=True, slots=True)
class Column(Generic[Row]):
    """One column. `text` gives a cell in full, `fit` one within a width (else it is cut).

    `least` is how narrow the column may become; None: it never does. One that is `spare` becomes
    so before the others do. `color` gives the number of a terminal's colour, or None.
    """

    title: str
    text: Callable[[Row], str]
    right: bool = False
    least: int | None = None
    spare: bool = False
    fit: Callable[[Row, int], str] | None = None
    color: Callable[[Row], int | None] | None = None

    def within(self, row: Row, width: int) -> str:
        """The cell within a width."""
        return cut(self.text(row), width) if self.fit is None else self.fit(row, width)


@dataclass(frozen=True, slots=True)
class _Drawn(Generic[Row]):
    """A column with its cells in full."""

    name: str
    column: Column[Row]
    cells: list[str]
    natural: int

    @property
    def least(self) -> int:
        """The width that it wants at the least."""
        if self.column.least is None:
            return self.natural
        return min(self.natural, max(self.column.least, len(self.column.title)))

    def within(self, row: Row, index: int, width: int) -> str:
        """A cell within a width."""
        text = self.cells[index]
        return text if len(text) <= width else self.column.within(row, width)


def _drawn(name: str, column: Column[Row], rows: Sequence[Row], width: int) -> _Drawn[Row]:
    cells = [column.text(row) for row in rows]
    natural = max(len(column.title), min(max(width, _WIDEST), max(map(len, cells))))
    return _Drawn(name, column, cells, natural)


def _over(widths: Sequence[int], width: int) -> int:
    """By how much columns of these widths are wider than the table may be."""
    return sum(widths) + _GAP * (len(widths) - 1) - width


def _allot(drawn: list[_Drawn[Row]], natural: list[int], width: int) -> list[int]:
    """The columns' widths: those to spare give first, those that were asked for at last."""
    least = [min(n, one.least) for n, one in zip(natural, drawn, strict=True)]
    widths = [min(n, max(width, few)) for n, few in zip(natural, least, strict=True)]
    spare = [f if d.column.spare else w for f, d, w in zip(least, drawn, widths, strict=True)]
    for limits in (spare, least):
        shrink(widths, limits, _over(widths, width))
    hard = [_LEAST_ASKED if one.column.least is not None else one.natural for one in drawn]
    hard = [min(h, w) for h, w in zip(hard, widths, strict=True)]
    shrink(widths, hard, _over(widths, width))
    return widths


def _widths(drawn: list[_Drawn[Row]], rows: Sequence[Row], width: int) -> list[int]:
    """The columns' widths; what short forms of cells leave over, the other columns get."""
    natural = [one.natural for one in drawn]
    widths = _allot(drawn, natural, width)
    for i, (one, given) in enumerate(zip(drawn, widths, strict=True)):
        if one.column.fit is not None and given < one.natural:
            used = max(len(one.within(row, j, given)) for j, row in enumerate(rows))
            if used < given:
                natural[i] = max(used, len(one.column.title))
    return _allot(drawn, natural, width)


def draw(
    columns: Mapping[str, Column[Row]],
    rows: Sequence[Row],
    *,
    width: int,
    give_way: Sequence[str] = (),
    color: bool = False,
) -> str:
    """The table: a line of titles, a rule, a line for each row. `give_way`: what is left out first.

    Without rows there is nothing to draw: "".
    """
    if not rows or not columns:
        return ""
    drawn = [_drawn(name, column, rows, width) for name, column in columns.items()]
    for name in give_way:
        if _over([one.least for one in drawn], width) <= 0:
            break
        drawn = [one for one in drawn if one.name != name]
    widths = _widths(drawn, rows, width)
    pairs = list(zip(drawn, widths, strict=True))
    titles = _line([_pad(one.column.title, w, one.column) for one, w in pairs])
    out = [f"\x1b[1m{titles}\x1b[0m" if color else titles, _line(["-" * w for w in widths])]
    for i, row in enumerate(rows):
        out.append(_line([_cell(one, row, i, w, color=color) for one, w in pairs]))
    return "\n".join(out)


def _line(cells: list[str]) -> str:
    return (" " * _GAP).join(cells).rstrip()


def _pad(text: str, width: int, column: Column[Row]) -> str:
    return text.rjust(width) if column.right else text.ljust(width)


def _cell(one: _Drawn[Row], row: Row, index: int, width: int, *, color: bool) -> str:
    text = one.within(row, index, width)
    number = one.column.color(row) if color and one.column.color is not None else None
    if number is None:
        return _pad(text, width, one.column)
    padded = _pad(text, width, one.column)
    return padded.replace(text, f"\x1b[{number}m{text}\x1b[0m", 1) if text else padded


def cells_of(
    columns: Mapping[str, Column[Row]], rows: Sequence[Row], width: int = MARKDOWN_WIDTH
) -> list[list[str]]:
    """The cells of each row, none wider than `width`."""
    return [
        [
            (text if len(text := column.text(row)) <= width else column.within(row, width)).strip()
            for column in columns.values()
        ]
        for row in rows
    ]
