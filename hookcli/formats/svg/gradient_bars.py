"""The gradients of one step as bars on a log scale, with the norms of the weights below them."""

from __future__ import annotations

import math
from collections.abc import Sequence

from hookcli.formats.parts.bars import positive
from hookcli.formats.parts.short_names import shortened
from hookcli.formats.parts.text import figure
from hookcli.formats.svg.drawing import MARGIN, SMALL, Drawing, plain, text_width
from hookcli.formats.svg.gradient_rows import WORDS, GradientRow, GradientRows
from hookcli.formats.svg.marks import MARKS, fill

WIDTH = 960
_NAME = 44  # characters of a name
_ROW = 20
_VALUE = 76  # pixels for a number beside the bars
_MOST_DECADES = 30  # of the scale; smaller values have the shortest bar
_TICKS = 10


def draw(drawing: Drawing, rows: GradientRows, top: float) -> float:
    """Draw a row for each parameter; return the bottom."""
    names = shortened([plain(row.name) for row in rows.rows], _NAME)
    widest = max((text_width(name, SMALL) for name in names.values()), default=0)
    left = MARGIN + widest + 12
    low, high = decades(rows.rows)
    room = WIDTH - MARGIN - _VALUE - left

    def place(value: float) -> float:
        part = (math.log10(value) - low) / (high - low)
        return left + min(max(part, 0.0), 1.0) * room

    top = _legend(drawing, left, top) + 22
    bottom = top + _ROW * len(rows.rows)
    _axis(drawing, (low, high), left, room, top, bottom)
    for i, row in enumerate(rows.rows):
        y = top + i * _ROW
        name = names[plain(row.name)]
        drawing.text(left - 10, y + 13, name, "mono small ink", anchor="end", tip=_tip(row))
        _row(drawing, row, left, y, max(place(row.cell.norm) - left, 2) if row.cell.norm else 0)
        if (weight := positive(row.weight)) is not None:
            drawing.rect(left, y + 14, max(place(weight) - left, 1), 3, "weight", tip=_tip(row))
        text = figure(row.cell.norm) if row.cell.kind == "value" else ""
        drawing.text(WIDTH - MARGIN, y + 13, text, "mono small muted", anchor="end")
    return bottom + 8


def decades(rows: Sequence[GradientRow]) -> tuple[int, int]:
    """Return the powers of ten at both ends of the scale, around all norms that have a logarithm.

    Norms are those of gradients and of weights.
    """
    values = [value for row in rows for value in (row.cell.norm, row.weight)]
    logs = [math.log10(known) for value in values if (known := positive(value)) is not None]
    high = math.ceil(max(logs, default=0))
    low = math.floor(min(logs, default=-1))
    return max(min(low, high - 1), high - _MOST_DECADES), high


def _row(drawing: Drawing, row: GradientRow, left: float, y: float, width: float) -> None:
    """Draw the bar of a gradient, or the mark of one without a norm with its word beside it."""
    kind = row.cell.kind
    if kind not in MARKS:
        drawing.rect(left, y + 2, width, 10, "bar", tip=_tip(row))
        return
    drawing.rect(left, y + 2, 24, 10, more=fill(drawing, kind), tip=_tip(row))
    style = {"nan": "wrong", "inf": "wrong", "frozen": "muted", "unknown": "muted"}
    drawing.text(left + 30, y + 11, WORDS[kind], f"small {style.get(kind, 'mind')}")


def _tip(row: GradientRow) -> str:
    norm = figure(row.cell.norm) if row.cell.kind == "value" else WORDS[row.cell.kind]
    return f"{row.name}: gradient {norm}, weight {figure(row.weight)}"


def _axis(
    drawing: Drawing,
    span: tuple[int, int],
    left: float,
    room: float,
    top: float,
    bottom: float,
) -> None:
    """Draw a line at every power of ten, or at every second or fifth if there are many."""
    low, high = span
    step = next(s for s in (1, 2, 5, 10, 100) if (high - low) / s <= _TICKS)
    for power in range(low, high + 1):
        if power % step:
            continue
        x = left + (power - low) / (high - low) * room
        drawing.line(x, top - 2, x, bottom, "grid")
        drawing.text(x, top - 8, f"1e{power}", "mono small muted", anchor="middle")
    drawing.line(left, top - 2, left, bottom, "axis")


def _legend(drawing: Drawing, left: float, top: float) -> float:
    drawing.rect(left, top, 24, 9, "bar")
    drawing.text(left + 30, top + 9, "norm of the gradient", "small muted")
    drawing.rect(left + 180, top + 3, 24, 3, "weight")
    drawing.text(left + 210, top + 9, "norm of the weight", "small muted")
    return top + 14
