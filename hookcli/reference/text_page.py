"""A page of plain text: paragraphs, labelled fields, lists."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Mapping, Sequence

from hookcli.formats.parts.grid import Column, Row, draw

WIDTH = 80
_LEAST = 40


def filled(text: str, width: int, first: str, later: str) -> str:
    """Return the text wrapped to `width`; `first` and `later` are prefixes of the lines."""
    return textwrap.fill(
        text,
        max(width, _LEAST),
        initial_indent=first,
        subsequent_indent=later,
        break_long_words=False,
        break_on_hyphens=False,
    )


def fields(pairs: Sequence[tuple[str, str]], width: int) -> str:
    """Return labels with their wrapped texts to the right. Labels without text are omitted."""
    pairs = [(label, text) for label, text in pairs if text]
    wide = max(len(label) for label, _ in pairs)
    return "\n".join(
        filled(text, width, f"{label:<{wide}}  ", " " * (wide + 2)) for label, text in pairs
    )


def bullet_list(title: str, items: Iterable[str], width: int) -> str:
    """Return a title with a bullet for each item, or "" if there are no items."""
    lines = [filled(item, width, "  - ", "    ") for item in items]
    return "\n".join([title, *lines]) if lines else ""


def page(parts: Iterable[str]) -> str:
    """Return the parts that are not empty, with a blank line between them."""
    return "\n\n".join(part for part in parts if part) + "\n"


def grouped(
    columns: Mapping[str, Column[Row]],
    groups: Mapping[str, Sequence[Row]],
    *,
    width: int,
    give_way: Sequence[str],
) -> str:
    """Return a table of groups, each below its title; a group may have the title ""."""
    rows = [row for group in groups.values() for row in group]
    titles, rule, *lines = draw(columns, rows, width=width, give_way=give_way).split("\n")
    out, at = [titles, rule], 0
    for title, group in groups.items():
        if title and group:
            out += ["", f"{title}:"]
        out += lines[at : at + len(group)]
        at += len(group)
    return "\n".join(out) + "\n"
