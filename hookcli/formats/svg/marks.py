"""The marks of gradients without a norm: each has a colour and a shape, and an entry of a legend."""

from __future__ import annotations

from collections.abc import Iterable

from hookcli.formats.parts.color_scale import CellKind, color_at
from hookcli.formats.svg.drawing import SMALL, Drawing, text_width
from hookcli.formats.svg.gradient_rows import WORDS

_TILE = 'patternUnits="userSpaceOnUse" width="8" height="8"'
# Colours that the palette does not have, with a shape in each tile of 8 pixels.
_PATTERNS: dict[CellKind, str] = {
    "nan": '<rect width="8" height="8" fill="#d1242f"/>'
    '<path d="M2 2L6 6M6 2L2 6" stroke="#ffffff" stroke-width="1.4" fill="none"/>',
    "inf": '<rect width="8" height="8" fill="#e8710a"/>'
    '<path d="M4 1.5L6.8 6.5H1.2Z" fill="#ffffff"/>',
    "zero": '<rect width="8" height="8" class="empty"/>'
    '<circle cx="4" cy="4" r="1.5" class="hatch" stroke="none"/>',
    "none": '<rect width="8" height="8" class="empty"/>'
    '<path d="M-1 9L9 -1M-1 1L1 -1M7 9L9 7" class="hatch" stroke-width="1.2"/>',
    "frozen": '<rect width="8" height="8" class="empty"/>'
    '<path d="M1 4H7" class="hatch" stroke-width="1.2"/>',
    "unknown": '<rect width="8" height="8" class="empty"/>',
}
MARKS = tuple(_PATTERNS)


def fill(drawing: Drawing, kind: CellKind) -> str:
    """Return the attribute that fills a shape with the mark of a kind, and define its pattern."""
    name = f"hookcli-{kind}"
    drawing.define(name, f'<pattern id="{name}" {_TILE}>{_PATTERNS[kind]}</pattern>')
    return f'fill="url(#{name})"'


def legend(drawing: Drawing, x: float, y: float, kinds: Iterable[CellKind], room: float) -> float:
    """Draw an entry for each kind of mark that occurs, in lines; return the bottom."""
    occurring = set(kinds)
    left, top = x, y
    for kind in MARKS:
        if kind not in occurring:
            continue
        width = 22 + text_width(WORDS[kind], SMALL) + 16
        if left > x and left + width > x + room:
            left, top = x, top + 22
        drawing.rect(left, top, 16, 16, "axis", more=f'{fill(drawing, kind)} stroke-width="0.5"')
        drawing.text(left + 22, top + 12, WORDS[kind], "small muted")
        left += width
    return top + 22 if left > x or top > y else y


def hexadecimal(part: float) -> str:
    """Return the colour at a position of the palette, as #rrggbb."""
    red, green, blue = color_at(part)
    return f"#{red:02x}{green:02x}{blue:02x}"
