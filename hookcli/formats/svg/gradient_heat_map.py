"""A heat map of gradients: a row for each parameter, a column for each step, the norm as colour."""

from __future__ import annotations

from collections.abc import Sequence

from hookcli.formats.parts.color_scale import PALETTE, position, robust_range
from hookcli.formats.parts.short_names import shortened
from hookcli.formats.parts.text import figure
from hookcli.formats.svg.drawing import MARGIN, SMALL, Drawing, plain, sans_width, text_width
from hookcli.formats.svg.gradient_rows import WORDS, GradientCell, GradientRows, columns_of
from hookcli.formats.svg.marks import MARKS, fill, hexadecimal, legend

WIDTH = 960
MOST_COLUMNS = 160
_NAME = 44  # characters of a name
_TALLEST, _LOWEST = 18, 11  # pixels of a row
_WIDEST = 64  # pixels of a column
_APART = 8  # pixels of a column, from which there is a gap between cells
_ROOM = 720  # pixels of rows, above which rows are lower
_TIPS = 2500  # cells, above which they have no tooltips: the file would be too large
_SCALE = 200  # pixels of the palette


def draw(drawing: Drawing, rows: GradientRows, top: float) -> float:
    """Draw the map below its legend; return the bottom."""
    spans, rows = columns_of(rows, MOST_COLUMNS)
    names = shortened([plain(row.name) for row in rows.rows], _NAME)
    height = min(max(_ROOM // max(len(rows.rows), 1), _LOWEST), _TALLEST)
    size = min(SMALL, height - 1)
    left = MARGIN + max((text_width(name, size) for name in names.values()), default=0) + 10
    width = min((WIDTH - MARGIN - left) / max(len(spans), 1), _WIDEST)
    width = float(int(width)) if width >= 4 else width  # sharp edges
    left = float(round(left))
    cells = [cell for row in rows.rows for cell in row.steps]
    span = robust_range(cell.norm for cell in cells)
    top = _legend(drawing, top, span, cells) + 12
    gap = 1 if width >= _APART else 0
    tips = len(cells) <= _TIPS
    for i, row in enumerate(rows.rows):
        y = top + i * height
        name = names[plain(row.name)]
        drawing.add(f'<g class="row" style="font-size:{size}px">')
        drawing.text(
            left - 8, y + height / 2 + size * 0.35, name, "mono ink", anchor="end", tip=row.name
        )
        for j, cell in enumerate(row.steps):
            tip = f"{row.name}, step {_steps(spans[j])}: {_value(cell)}" if tips else ""
            _cell(drawing, cell, (left + j * width, y, width - gap, height - gap), span, tip)
        drawing.add("</g>")
    bottom = top + height * len(rows.rows)
    if not gap:
        drawing.rect(left, top, width * len(spans), bottom - top, "axis", more='fill="none"')
    return _steps_axis(drawing, spans, left, width, bottom)


def _cell(
    drawing: Drawing,
    cell: GradientCell,
    at: tuple[float, float, float, float],
    span: tuple[float, float] | None,
    tip: str,
) -> None:
    if cell.kind in MARKS:
        paint = fill(drawing, cell.kind)
    elif cell.norm is None or span is None:
        return
    else:
        paint = f'fill="{hexadecimal(position(cell.norm, span))}"'
    drawing.rect(*at, "cell", more=paint, tip=tip)


def _value(cell: GradientCell) -> str:
    return figure(cell.norm) if cell.kind == "value" else WORDS[cell.kind]


def _steps(span: tuple[int, int]) -> str:
    return str(span[0]) if span[0] == span[1] else f"{span[0]} to {span[1]}"


def _steps_axis(
    drawing: Drawing,
    spans: Sequence[tuple[int, int]],
    left: float,
    width: float,
    bottom: float,
) -> float:
    """Draw the numbers of as many steps as fit, of the first and the last at least."""
    y, free = bottom + 16, left - width
    last = len(spans) - 1
    end = left + (last + 0.5) * width - text_width(f"{spans[-1][0]:,}", SMALL) if spans else left
    for i, (first, _) in enumerate(spans):
        x = left + (i + 0.5) * width
        half = text_width(f"{first:,}", SMALL) / 2
        if i not in (0, last) and (x - half < free or x + half > end - half):
            continue
        drawing.line(x, bottom, x, bottom + 4, "axis")
        drawing.text(x, y, f"{first:,}", "mono small muted", anchor="middle")
        free = x + half + 14
    many = any(a != b for a, b in spans)
    note = ": a column shows the largest norm of its steps, or the worst mark" if many else ""
    drawing.text(left, y + 18, f"step{note}", "small muted")
    return y + 26


def _legend(
    drawing: Drawing,
    top: float,
    span: tuple[float, float] | None,
    cells: Sequence[GradientCell],
) -> float:
    """Draw the palette with the values at its ends, and the marks that occur."""
    x: float = MARGIN
    if span is not None:
        text = figure(span[0])
        drawing.text(x, top + 12, text, "mono small muted")
        x += text_width(text, SMALL) + 8
        drawing.rect(x, top, _SCALE, 16, more=_palette(drawing))
        x += _SCALE + 8
        text = figure(span[1])
        drawing.text(x, top + 12, text, "mono small muted")
        x += text_width(text, SMALL) + 8
        text = "norm of the gradient, log scale"
        drawing.text(x, top + 12, text, "small muted")
        x += sans_width(text, SMALL) + 24
    return max(legend(drawing, x, top, (cell.kind for cell in cells), WIDTH - MARGIN - x), top + 22)


def _palette(drawing: Drawing) -> str:
    """Return the attribute that fills a shape with the palette."""
    last = len(PALETTE) - 1
    stops = "".join(
        f'<stop offset="{i / last:.3f}" stop-color="{hexadecimal(i / last)}"/>'
        for i in range(last + 1)
    )
    return f'fill="{drawing.define("palette", "linearGradient", f">{stops}")}"'
