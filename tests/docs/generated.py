"""Pages, and parts of pages, that are made from the program: UPDATE_DOCS=1 writes them."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

UPDATE = bool(os.environ.get("UPDATE_DOCS"))
_STALE = "the page is not what the program says: `make docs` writes it"


def check_page(path: Path, text: str) -> None:
    """A page is this text; with UPDATE_DOCS it becomes that."""
    if UPDATE:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    assert path.read_text() == text, f"{path.name}: {_STALE}"


def check_parts(path: Path, parts: Mapping[str, Callable[[], str]]) -> None:
    """Each part between `<!-- generated: NAME -->` and `<!-- end -->` is what its function makes.

    A page may have parts of several tests.
    """
    text = path.read_text()
    for name, make in parts.items():
        between = re.compile(rf"(<!-- generated: {name} -->\n).*?(<!-- end -->)", re.S)
        assert between.search(text), f"{path.name} has no part `<!-- generated: {name} -->`"
        text = between.sub(lambda m, make=make: f"{m[1]}{make()}{m[2]}", text)
    check_page(path, text)


def rows(*cells: Iterable[str]) -> str:
    """Rows of a Markdown table."""
    escaped = ([cell.replace("|", r"\|") for cell in row] for row in cells)
    return "".join(f"| {' | '.join(row)} |\n" for row in escaped)


def table(head: list[str], body: Iterable[Iterable[str]]) -> str:
    """A Markdown table."""
    return rows(head, ["---"] * len(head)).replace(" --- ", "---") + rows(*body)
