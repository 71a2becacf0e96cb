"""Numbers, shapes and names as text."""

from __future__ import annotations

import re
from collections.abc import Sequence

from hookcli.console import escape
from hookcli.report.values import Leaf, Shape


def number(value: int | None) -> str:
    """1,234,567; a dash for what is not known."""
    return "–" if value is None else f"{value:,}"


def figure(value: object) -> str:
    """A measured number in three or four digits: 0.1234, 1.23e-05, nan; a dash for none."""
    if value is None:
        return "–"
    if isinstance(value, str):  # "nan", "inf", "-inf"
        return escape(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return "?"
    if value == 0 or 1e-3 <= abs(value) < 1e5:
        return f"{value:.4g}" if abs(value) < 1e4 else f"{value:.0f}"
    return f"{value:.2e}"


def size(value: int | None) -> str:
    """Bytes in decimal units, as torchinfo and disks count them."""
    if value is None:
        return "–"
    for unit, factor in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if value >= factor:
            return f"{value / factor:.2f} {unit}"
    return f"{value} B"


def shape(value: Shape, *, tight: bool = False) -> str:
    """[2, 3, 32, 32]; a dimension without one size is a star."""
    return "[" + ("," if tight else ", ").join("*" if s is None else str(s) for s in value) + "]"


def _leaf(leaf: Leaf, *, named: bool, tight: bool) -> str:
    text = shape(leaf.shape, tight=tight)
    path = escape(leaf.path.removeprefix("."))
    return f"{path} {text}" if named and path else text


def leaf_text(leaves: Sequence[Leaf], width: int, *, inputs: bool = False) -> str:
    """As many leaves as fit, then how many more there are.

    Paths are left out where there is one leaf, and for positional inputs.
    """
    if not leaves:
        return "–"
    for tight in (False, True):
        parts = _parts(leaves, width, inputs=inputs, tight=tight)
        if len(parts) == len(leaves):
            return ", ".join(parts)
    while parts:
        text = f"{', '.join(parts)} +{len(leaves) - len(parts)}"
        if len(text) <= width:
            return text
        parts.pop()
    more = f" +{len(leaves) - 1}" if len(leaves) > 1 else ""
    return _head_of(leaves[0].shape, max(width - len(more), 3)) + more


def _head_of(value: Shape, width: int) -> str:
    """The first sizes of a shape, whole ones: half a number would be another."""
    for shown in range(min(len(value), width), 0, -1):  # each takes two characters
        text = shape(value[:shown], tight=True)
        text = text if shown == len(value) else f"{text[:-1]},…]"
        if len(text) <= width:
            return text
    return "[…]"


def _parts(leaves: Sequence[Leaf], width: int, *, inputs: bool, tight: bool) -> list[str]:
    """The first leaves, as many as fit: a cache can hold hundreds."""
    parts: list[str] = []
    for leaf in leaves:
        named = len(leaves) > 1 and not (inputs and leaf.path.startswith("["))
        part = _leaf(leaf, named=named, tight=tight)
        width -= len(part) + (2 if parts else 0)
        if width < 0:
            break
        parts.append(part)
    return parts


def leaves_full(leaves: Sequence[Leaf], *, inputs: bool = False) -> str:
    """Every leaf with its path."""
    return leaf_text(leaves, 1 << 30, inputs=inputs)


# Without `.*` before it, which a search would try again at each character; the slash behind it may
# be the one before the next.
_INSTALLED = re.compile(r"[/\\](?:site|dist)-packages(?=[/\\])")


def place(text: str | None) -> str:
    """A place for a person: an installed package's file without the way to it."""
    if text is None:
        return "–"
    return escape("\n".join(_below_packages(line) for line in text.split("\n")))


def _below_packages(line: str) -> str:
    ends = [match.end() for match in _INSTALLED.finditer(line)]
    return line[ends[-1] + 1 :] if ends else line


def cut(text: str, width: int, *, mark: str = "…") -> str:
    """The text within `width`, cut in the middle."""
    if len(text) <= width:
        return text
    if width <= len(mark):
        return mark[:width]
    keep = width - len(mark)
    head = keep - keep // 2
    return text[:head] + mark + (text[len(text) - keep // 2 :] if keep // 2 else "")


def sentence(text: str) -> str:
    """With a capital letter and a full stop."""
    return text[:1].upper() + text[1:] + ("" if text.endswith(".") else ".")
