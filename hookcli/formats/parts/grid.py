"""Draw rows as a table that fits a width: columns are dropped in a given order, then shrink."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Generic, TypeVar

from hookcli.formats.parts.short_names import ShortNames
from hookcli.formats.parts.style import Style, number_style, paint, paint_start
from hookcli.formats.parts.text import cut


def shrink(widths: list[int], least: Sequence[int], excess: int) -> int:
    """Take `excess` characters from the widest columns that may shrink; return what is left of it.

    Of equally wide columns the first shrinks first. The work does not depend on the widths, as a
    name may be a million characters long.
    """
    while excess > 0:
        free = [i for i, width in enumerate(widths) if width > least[i]]
        if not free:
            break
        most = max(widths[i] for i in free)
        level = [i for i in free if widths[i] == most]
        # All widest columns shrink in turn, down to the next width or limit.
        below = [widths[i] for i in free if widths[i] < most]
        floor = max([least[i] for i in level] + below)
        rounds = min(most - floor, excess // len(level))
        if rounds:
            for i in level:
                widths[i] -= rounds
            excess -= rounds * len(level)
        else:
            for i in level[:excess]:
                widths[i] -= 1
            excess -= min(excess, len(level))
    return excess


Row = TypeVar("Row")
_GAP = 2  # between columns
LAST_TURN = 9  # of shrinking: for columns that cannot be dropped
_LEAST_ASKED = 8  # the least width of a column that cannot be dropped
_WIDEST = 1000  # the largest width of a column that does not shrink
CELL_WIDTH = 60  # the largest width of a cell where a table has no width
_LONGEST = 1000  # characters of a nested cell, as other rows are padded to it


@dataclass(frozen=True, slots=True)
class Column(Generic[Row]):
    """One column. `text` returns a whole cell, `fit` a cell within a width (default: cut).

    `least` is the width to which the column may shrink; None: it does not shrink. A `spare` column
    shrinks before the others. `style` returns the style of a cell, or None. `guides` returns how
    many characters at the start of a cell are lines of a tree.

    `turns` replaces `least` and `spare` if a column shrinks more than once: pairs of a turn and the
    width to which it may shrink in that turn. A column that does not `grow` leaves to others the
    room that short forms of cells save. The cells of a `distinct` column are names: those that
    differ do not look alike when they are shortened.

    `nested` returns the level of a row in a tree and its text without guides, for outputs that
    indent it instead.
    """

    title: str
    text: Callable[[Row], str]
    right: bool = False
    least: int | None = None
    spare: bool = False
    fit: Callable[[Row, int], str] | None = None
    style: Callable[[Row], Style | None] | None = None
    guides: Callable[[Row, str], int] | None = None
    turns: tuple[tuple[int, int], ...] = ()
    grow: bool = True
    distinct: bool = False
    nested: Callable[[Row], tuple[int, str]] | None = None

    def within(self, row: Row, width: int) -> str:
        """Return the cell within a width."""
        return cut(self.text(row), width) if self.fit is None else self.fit(row, width)

    def shrinks(self) -> tuple[tuple[int, int], ...]:
        """Return the turns in which the column shrinks, each with its least width."""
        if self.turns or self.least is None:
            return self.turns
        return (0 if self.spare else 1, self.least), (LAST_TURN, _LEAST_ASKED)


@dataclass(frozen=True, slots=True)
class _Measured(Generic[Row]):
    """A column with its whole cells and its possible widths.

    `natural` is the width of the widest cell, `title` the least width of the title.
    """

    name: str
    column: Column[Row]
    cells: list[str]
    natural: int
    title: int
    turns: dict[int, int]
    names: ShortNames | None

    @property
    def least(self) -> int:
        """The least width before the last turn."""
        return min([self.natural, *(w for turn, w in self.turns.items() if turn < LAST_TURN)])

    def painter(self, row: Row, cell: str) -> Callable[[str], str]:
        """Return the function that colours the padded cell."""
        guides = 0 if self.column.guides is None else self.column.guides(row, cell)
        if guides:
            return lambda padded: paint_start(padded, guides, Style.FAINT)
        text = cell.strip()
        style = None if self.column.style is None else self.column.style(row)
        if text == "–" or (style is None and self.column.right):
            style = number_style(text)
        return lambda padded: paint(padded, style)

    def within(self, row: Row, index: int, width: int) -> str:
        """Return a cell within a width."""
        text = self.cells[index]
        if len(text) <= width:
            return text
        if self.names is not None:
            return self.names.within(text, width)
        return self.column.within(row, width)


def _measure(
    name: str, column: Column[Row], rows: Sequence[Row], title_room: int, width: int
) -> _Measured[Row]:
    cells = [column.text(row) for row in rows]
    title = len(column.title) + title_room
    turns = {
        turn: width if turn == LAST_TURN else max(width, title) for turn, width in column.shrinks()
    }
    natural = max(title, min(max(width, _WIDEST), max(map(len, cells), default=0)))
    names = ShortNames(lambda: cells) if column.distinct else None
    return _Measured(name, column, cells, natural, title, turns, names)


def _over(widths: Sequence[int], width: int) -> int:
    """Return by how much columns of these widths exceed the width of the table."""
    return sum(widths) + _GAP * (len(widths) - 1) - width


def _allot(columns: list[_Measured[Row]], natural: list[int], width: int) -> list[int]:
    """Return the widths of the columns, which shrink turn by turn until the table fits."""
    widths = [min(n, max(width, column.least)) for n, column in zip(natural, columns, strict=True)]
    for turn in sorted({turn for column in columns for turn in column.turns}):
        least = [c.turns.get(turn, w) for c, w in zip(columns, widths, strict=True)]
        shrink(widths, least, _over(widths, width))
    return widths


def _widths(columns: list[_Measured[Row]], rows: Sequence[Row], width: int) -> list[int]:
    """Return the widths of the columns; other columns get the room that short forms save."""
    natural = [column.natural for column in columns]
    widths = _allot(columns, natural, width)
    for i, (measured, given) in enumerate(zip(columns, widths, strict=True)):
        if measured.column.fit is not None and given < measured.natural:
            used = max(len(measured.within(row, j, given)) for j, row in enumerate(rows))
            if used < given or not measured.column.grow:
                natural[i] = max(used, measured.title)
    return _allot(columns, natural, width)


def draw(
    columns: Mapping[str, Column[Row]],
    rows: Sequence[Row],
    *,
    width: int,
    give_way: Sequence[str] = (),
    color: bool = False,
    title_room: int | None = None,
    empty: bool = False,
    dropped: list[str] | None = None,
) -> str:
    """Return the table: a line of titles, a rule, a line for each row.

    `give_way` lists the columns to drop if the table is too wide, the first one first. Every column
    is at least `title_room` wider than its title; None: a column that shrinks may become narrower
    than its title. Without rows the result is "", or only the titles if the table may be `empty`.
    The names of columns that are dropped are added to `dropped`.
    """
    if not columns or not (rows or empty):
        return ""
    measured = [_measure(name, c, rows, title_room or 0, width) for name, c in columns.items()]
    for name in give_way:
        if _over([measure.least for measure in measured], width) <= 0:
            break
        if dropped is not None and name in columns:
            dropped.append(name)
        measured = [measure for measure in measured if measure.name != name]
    widths = _widths(measured, rows, width)
    fitted = list(zip(measured, widths, strict=True))
    if title_room is not None:
        widths = [max(measure.title, w) for measure, w in fitted]
    right = [measure.column.right and bool(rows) for measure in measured]
    titles = _line([measure.column.title for measure in measured], widths, right)
    out = [
        paint(titles, Style.TITLE, color=color),
        _line(["-" * w for w in widths], widths, right),
    ]
    for i, row in enumerate(rows):
        cells = [measure.within(row, i, w) for measure, w in fitted]
        painters = [
            measure.painter(row, cell)
            for measure, cell in zip(measured if color else (), cells, strict=False)
        ]
        out.append(_line(cells, widths, right, painters))
    return "\n".join(out)


def _line(
    cells: Sequence[str],
    widths: Sequence[int],
    right: Sequence[bool],
    painters: Sequence[Callable[[str], str]] = (),
) -> str:
    """Return one line of cells, each aligned left or right in its column."""
    padded = [
        cell.rjust(width) if is_right else cell.ljust(width)
        for cell, width, is_right in zip(cells, widths, right, strict=True)
    ]
    for i, painter in enumerate(painters):
        padded[i] = painter(padded[i])
    return (" " * _GAP).join(padded).rstrip()


def cells_of(
    columns: Mapping[str, Column[Row]], rows: Sequence[Row], width: int = CELL_WIDTH
) -> list[list[str]]:
    """Return the cells of each row, none wider than `width`; nested ones whole, without guides."""
    texts = [[column.text(row) for row in rows] for column in columns.values()]
    names = [
        ShortNames(partial(list, cells)) if column.distinct else None
        for column, cells in zip(columns.values(), texts, strict=True)
    ]

    def cell(column: Column[Row], known: ShortNames | None, text: str, row: Row) -> str:
        if column.nested is not None:
            return cut(column.nested(row)[1], _LONGEST)
        if len(text) <= width:
            return text.strip()
        return (column.within(row, width) if known is None else known.within(text, width)).strip()

    parts = list(zip(columns.values(), names, texts, strict=True))
    return [
        [cell(column, known, cells[i], row) for column, known, cells in parts]
        for i, row in enumerate(rows)
    ]
