"""The marks of gradients without a norm: a colour and a shape for each, and their legend."""

from __future__ import annotations

from collections.abc import Iterable

from hookcli.formats.parts.color_scale import CellKind, color_at
from hookcli.formats.svg.drawing import SMALL, Drawing, sans_width
from hookcli.formats.svg.gradient_rows import WORDS

# One tile for each shape that is filled: the 8 by 8 square is in its middle, as large as fits.
_TILE = 'width="1" height="1" viewBox="0 0 8 8" preserveAspectRatio="xMidYMid meet"'
_AROUND = 'x="-400" y="-8" width="808" height="24"'
_LINES = "".join(f"M{x} 12l16 -16" for x in range(-200, 200, 4))
# Colours that the palette does not have, each with a shape.
_PATTERNS: dict[CellKind, str] = {
    "nan": f'<rect {_AROUND} fill="#d1242f"/>'
    '<path d="M1.8 1.8L6.2 6.2M6.2 1.8L1.8 6.2" stroke="#ffffff" stroke-width="1.2" fill="none"/>',
    "inf": f'<rect {_AROUND} fill="#e8710a"/><path d="M4 1.4L7 6.6H1Z" fill="#ffffff"/>',
    "zero": f'<rect {_AROUND} class="empty"/>'
    '<circle cx="4" cy="4" r="1.9" class="hollow" stroke-width="0.9"/>',
    "none": f'<rect {_AROUND} class="empty"/><path d="{_LINES}" class="hatch" stroke-width="0.8"/>',
    "frozen": f'<rect {_AROUND} class="empty"/><path d="M1 4H7" class="hatch" stroke-width="0.9"/>',
    "unknown": f'<rect {_AROUND} class="empty"/>',
}
MARKS = tuple(_PATTERNS)


def fill(drawing: Drawing, kind: CellKind) -> str:
    """Return the attribute that fills a shape with the mark of a kind, and define its pattern."""
    return f'fill="{drawing.define(kind, "pattern", f" {_TILE}>{_PATTERNS[kind]}")}"'


def legend(drawing: Drawing, x: float, y: float, kinds: Iterable[CellKind], room: float) -> float:
    """Draw an entry for each kind of mark that occurs, in lines; return the bottom."""
    occurring = set(kinds)
    left, top = x, y
    for kind in MARKS:
        if kind not in occurring:
            continue
        width = 22 + sans_width(WORDS[kind], SMALL) + 16
        if left > x and left + width > x + room:
            left, top = x, top + 22
        drawing.rect(left, top, 16, 16, more=fill(drawing, kind))
        drawing.rect(left, top, 16, 16, "axis", more='fill="none" stroke-width="0.6"')
        drawing.text(left + 22, top + 12, WORDS[kind], "small muted")
        left += width
    return top + 22 if left > x or top > y else y


def hexadecimal(part: float) -> str:
    """Return the colour at a position of the palette, as #rrggbb."""
    red, green, blue = color_at(part)
    return f"#{red:02x}{green:02x}{blue:02x}"
