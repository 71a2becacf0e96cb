"""Numbers, shapes and names as text."""

from __future__ import annotations

import re
from collections.abc import Sequence

from hookcli.console import escape
from hookcli.report.values import Leaf, Shape


def number(value: int | None) -> str:
    """Return an integer as 1,234,567; None as a dash."""
    return "–" if value is None else f"{value:,}"


def figure(value: object) -> str:
    """Return a measured number in three or four digits: 0.1234, 1.23e-05, nan; None as a dash."""
    if value is None:
        return "–"
    if isinstance(value, str):  # "nan", "inf", "-inf"
        return escape(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return "?"
    if value == 0 or 1e-3 <= abs(value) < 1e5:
        return f"{value:.4g}" if abs(value) < 1e4 else f"{value:.0f}"
    return f"{value:.2e}"


def count(value: object) -> str:
    """Return a measured number of elements: 1,234; None as a dash."""
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else figure(value)


def size(value: int | None) -> str:
    """Return bytes in decimal units, as torchinfo and disks do."""
    if value is None:
        return "–"
    for unit, factor in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if value >= factor:
            return f"{value / factor:.2f} {unit}"
    return f"{value} B"


def shape(value: Shape, *, tight: bool = False) -> str:
    """Return a shape as [2, 3, 32, 32]; a dimension without a fixed size is a star."""
    return "[" + ("," if tight else ", ").join("*" if s is None else str(s) for s in value) + "]"


def _leaf(leaf: Leaf, *, named: bool, tight: bool) -> str:
    text = shape(leaf.shape, tight=tight)
    path = escape(leaf.path.removeprefix("."))
    return f"{path} {text}" if named and path else text


def leaf_text(leaves: Sequence[Leaf], width: int, *, inputs: bool = False) -> str:
    """Return as many leaves as fit, then the number of the others.

    Paths are omitted for a single leaf and for positional inputs.
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
    """Return the first sizes of a shape; a number is never cut."""
    for shown in range(min(len(value), width), 0, -1):  # each takes two characters
        text = shape(value[:shown], tight=True)
        text = text if shown == len(value) else f"{text[:-1]},…]"
        if len(text) <= width:
            return text
    return "[…]"


def _parts(leaves: Sequence[Leaf], width: int, *, inputs: bool, tight: bool) -> list[str]:
    """Return the first leaves that fit: a cache can contain hundreds."""
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
    """Return every leaf with its path."""
    return leaf_text(leaves, 1 << 30, inputs=inputs)


# Without a leading `.*`, which a search would try again at each character. The lookahead leaves the
# slash for the next match.
_INSTALLED = re.compile(r"[/\\](?:site|dist)-packages(?=[/\\])")


def place(text: str | None) -> str:
    """Return a place for display: files of installed packages without the folder of packages."""
    if text is None:
        return "–"
    return escape("\n".join(_below_packages(line) for line in text.split("\n")))


def _below_packages(line: str) -> str:
    ends = [match.end() for match in _INSTALLED.finditer(line)]
    return line[ends[-1] + 1 :] if ends else line


def cut(text: str, width: int, *, mark: str = "…") -> str:
    """Return the text within `width`, cut in the middle."""
    if len(text) <= width:
        return text
    if width <= len(mark):
        return mark[:width]
    keep = width - len(mark)
    head = keep - keep // 2
    return text[:head] + mark + (text[len(text) - keep // 2 :] if keep // 2 else "")


def sentence(text: str) -> str:
    """Return the text with a capital letter and a period."""
    return text[:1].upper() + text[1:] + ("" if text.endswith(".") else ".")
