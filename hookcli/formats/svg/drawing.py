"""A drawing in SVG: its elements, its colours in light and dark, its text.

It has no script, no font and nothing that is fetched. Colours are classes of a style block without
variables, so that programs that convert SVG for print read them too.
"""

from __future__ import annotations

import textwrap
import unicodedata
import zlib
from collections.abc import Sequence
from typing import Literal, TypeAlias

from hookcli.formats.parts.text import cut
from hookcli.outputs.escapes import xml_line, xml_markup
from hookcli.text import shorten

Anchor: TypeAlias = Literal["start", "middle", "end"]

MARGIN = 24
SMALL, NORMAL, LARGE = 11, 12, 17  # font sizes in pixels
_MONOSPACE = "ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace"
_SANS = "system-ui,-apple-system,'Segoe UI',Helvetica,Arial,'DejaVu Sans',sans-serif"
_ADVANCE = 0.61  # width of a character of a monospaced font, in font sizes
_SANS_ADVANCE = 0.56  # of a usual character; DejaVu Sans, a wide font, has it too
_OWN = "\0"  # before ids until the drawing is written; no text contains it
_LONGEST = 300  # characters of a tooltip

# (selector, property, light, dark). Text has a contrast of at least 4.5 with its ground.
_COLORS = (
    (".bg", "fill", "#ffffff", "#0d1117"),
    (".bg", "stroke", "#d0d7de", "#30363d"),
    (".ink", "fill", "#1f2328", "#e6edf3"),
    (".muted", "fill", "#59636e", "#9198a1"),
    (".wrong", "fill", "#cf222e", "#ff7b72"),
    (".mind", "fill", "#9a6700", "#d29922"),
    (".good", "fill", "#1a7f37", "#3fb950"),
    (".grid", "stroke", "#d8dee4", "#2a313a"),
    (".axis", "stroke", "#8c959f", "#656c76"),
    (".bar", "fill", "#2f6fb3", "#58a6ff"),
    (".curve", "stroke", "#2f6fb3", "#58a6ff"),
    (".cross", "stroke", "#cf222e", "#ff7b72"),
    (".weight", "fill", "#afb8c1", "#484f58"),
    (".empty", "fill", "#f3f5f7", "#161b22"),
    (".hatch", "stroke", "#6e7781", "#8b949e"),
    (".hollow", "stroke", "#6e7781", "#8b949e"),
    (".box", "fill", "#f6f8fa", "#1b222b"),
    (".box", "stroke", "#8c959f", "#656c76"),
    (".learns", "fill", "#dbeafb", "#16304f"),
    (".learns", "stroke", "#2f6fb3", "#4b8fdb"),
    (".group", "stroke", "#b4bdc7", "#464e58"),
    (".group", "fill", "#ffffff", "#0d1117"),
    (".group2", "fill", "#f6f8fa", "#12171e"),
    (".group2", "stroke", "#b4bdc7", "#464e58"),
    (".failed", "fill", "#ffebe9", "#4a1c1c"),
    (".failed", "stroke", "#cf222e", "#ff7b72"),
    (".pill", "fill", "#fff8c5", "#3b2f0b"),
    (".pill", "stroke", "#b08800", "#9e7c1a"),
    (".wrongfill", "fill", "#cf222e", "#da3633"),
    (".mindfill", "fill", "#9a6700", "#9e6a03"),
    (".onfill", "fill", "#ffffff", "#ffffff"),
    (".edge", "stroke", "#6e7781", "#8b949e"),
    (".tip", "fill", "#6e7781", "#8b949e"),
    (".loop", "stroke", "#8250df", "#bc8cff"),
    (".looptip", "fill", "#8250df", "#bc8cff"),
)
_FIXED = f"""\
.hookcli{{font-family:{_SANS};font-size:{NORMAL}px}}
.hookcli .mono{{font-family:{_MONOSPACE}}}
.hookcli .title{{font-size:{LARGE}px;font-weight:600}}
.hookcli .small{{font-size:{SMALL}px}}
.hookcli .bold{{font-weight:600}}
.hookcli .edge,.hookcli .loop,.hookcli .hatch,.hookcli .hollow{{fill:none}}
.hookcli .edge,.hookcli .loop{{stroke-width:1.3}}
.hookcli .curve{{fill:none;stroke-width:1.6;stroke-linejoin:round;stroke-linecap:round}}
.hookcli .cross{{fill:none;stroke-width:1.4}}
.hookcli .cell{{shape-rendering:crispEdges}}
"""


def _style() -> str:
    """Return the rules: light colours, and dark ones where the reader prefers these."""
    light = "".join(f".hookcli {s}{{{key}:{a}}}\n" for s, key, a, _ in _COLORS)
    dark = "".join(f".hookcli {s}{{{key}:{b}}}\n" for s, key, _, b in _COLORS)
    return f"{_FIXED}{light}@media (prefers-color-scheme:dark){{\n{dark}}}\n"


def plain(text: str) -> str:
    """Return a string of the user's on one line, with what a terminal or XML forbids escaped."""
    return xml_line(text)


def clean(text: str) -> str:
    """Return a string of the user's as the text of an element or attribute."""
    return xml_markup(text)


def text_width(text: str, size: float = NORMAL) -> float:
    """Return how wide a string is in a monospaced font, in pixels."""
    wide = sum(unicodedata.east_asian_width(letter) in "WF" for letter in text)
    return (len(text) + wide) * _ADVANCE * size


def sans_width(text: str, size: float = NORMAL) -> float:
    """Return about how wide a string is in a font without serifs, in pixels."""
    return len(text) * _SANS_ADVANCE * size


def fitting(text: str, width: float, size: float = NORMAL) -> str:
    """Return a string within a width in pixels, cut in the middle, with its controls escaped."""
    text = plain(text)
    return cut(text, max(int(width / (_ADVANCE * size)), 1))


def number(value: float) -> str:
    """Return a coordinate with at most one decimal."""
    text = f"{value:.1f}"
    return text[:-2] if text.endswith(".0") else text


class Drawing:
    """Elements of SVG in the order in which they are painted. Coordinates are in pixels."""

    def __init__(self) -> None:
        self._elements: list[str] = []
        self._definitions: dict[str, str] = {}

    def add(self, element: str) -> None:
        """Add an element, whose text is escaped already."""
        self._elements.append(element)

    def define(self, name: str, tag: str, element: str) -> str:
        """Add a definition, such as a pattern, unless one of its name is there.

        `element` is what follows its id. Return the reference to it. Its id is unique, as an html
        page may contain several drawings.
        """
        self._definitions.setdefault(name, f'<{tag} id="{_OWN}{name}"{element}</{tag}>')
        return f"url(#{_OWN}{name})"

    def extend(self, other: Drawing, dx: float, dy: float) -> None:
        """Add another drawing, moved by (dx, dy)."""
        self._definitions = {**other._definitions, **self._definitions}
        self.add(f'<g transform="translate({number(dx)} {number(dy)})">')
        self._elements += other._elements
        self.add("</g>")

    def text(
        self,
        x: float,
        y: float,
        text: str,
        style: str,
        *,
        anchor: Anchor = "start",
        tip: str = "",
    ) -> None:
        """Add text whose baseline is at y. `tip` is shown where the pointer rests on it."""
        end = "" if anchor == "start" else f' text-anchor="{anchor}"'
        self.add(
            f'<text x="{number(x)}" y="{number(y)}" class="{style}"{end}>{_tip(tip)}'
            f"{clean(text)}</text>"
        )

    def rect(
        self,
        x: float,
        y: float,
        width: float,
        height: float,
        style: str = "",
        *,
        more: str = "",
        tip: str = "",
    ) -> None:
        """Add a rectangle; `more` are further attributes."""
        style = f' class="{style}"' if style else ""
        more = f" {more}" if more else ""
        end = f">{_tip(tip)}</rect>" if tip else "/>"
        self.add(
            f'<rect x="{number(x)}" y="{number(y)}" width="{number(width)}" '
            f'height="{number(height)}"{style}{more}{end}'
        )

    def line(self, x1: float, y1: float, x2: float, y2: float, style: str) -> None:
        """Add a line."""
        self.path(f"M{number(x1)} {number(y1)}L{number(x2)} {number(y2)}", style)

    def path(self, commands: str, style: str, *, more: str = "") -> None:
        """Add a path."""
        more = f" {more}" if more else ""
        self.add(f'<path d="{commands}" class="{style}"{more}/>')

    def render(self, width: float, height: float, label: str) -> str:
        """Return the whole picture on its own ground; `label` describes it to screen readers."""
        w, h = number(round(width)), number(round(height))
        definitions = "\n".join(self._definitions.values())
        text = "\n".join(
            [
                f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {w} {h}" width="{w}" '
                f'height="{h}" class="hookcli" role="img" aria-label="{clean(label)}">',
                f"<style>\n{_style()}</style>",
                *([f"<defs>\n{definitions}\n</defs>"] if definitions else []),
                f'<rect x="0.5" y="0.5" width="{number(round(width) - 1)}" '
                f'height="{number(round(height) - 1)}" rx="8" class="bg"/>',
                *self._elements,
                "</svg>",
                "",
            ]
        )
        text = text.replace(_OWN, f"hookcli-{zlib.crc32(text.encode()):08x}-")
        return text.encode("ascii", "xmlcharrefreplace").decode()  # in whatever encoding it is kept


def _tip(text: str) -> str:
    return f"<title>{clean(cut(text, _LONGEST))}</title>" if text else ""


def headline(drawing: Drawing, width: float, title: str, lines: Sequence[tuple[str, str]]) -> float:
    """Draw a title and lines of (text, style) below it; return where the picture begins.

    A line that is too long continues on a second one, and its end is left out.
    """
    room = width - 2 * MARGIN
    drawing.text(MARGIN, 36, fitting(title, room, LARGE), "title ink", tip=title)
    y = 36.0
    for text, style in lines:
        y += 3
        for part in _wrapped(text, int(room / (_SANS_ADVANCE * NORMAL))):
            y += 17
            drawing.text(MARGIN, y, part, style, tip=text)
    return y + 20


def _wrapped(text: str, width: int) -> list[str]:
    return textwrap.wrap(
        shorten(text, 2 * width), width, max_lines=2, placeholder=" …", break_on_hyphens=False
    )
