"""Pages, and parts of pages, that are made from the program: UPDATE_DOCS=1 writes them."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from tests.docs.console import entries
from tests.docs.markdown import blocks

UPDATE = bool(os.environ.get("UPDATE_DOCS"))
_STALE = "the page is not what the program says: `make docs` writes it"


def check_page(path: Path, text: str) -> None:
    """A page is this text; with UPDATE_DOCS it becomes that."""
    if UPDATE:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    assert path.read_text() == text, f"{path.name}: {_STALE}"


def check_page_without_outputs(path: Path, text: str) -> None:
    """A page is this text, in which console blocks show no output; they have some in the page.

    With UPDATE_DOCS it becomes that: new commands get a line that the test of examples replaces.
    """
    page = path.read_text() if path.exists() else ""
    outputs = {
        entry.typed: entry.shown
        for block in blocks(page)
        if block.language == "console"
        for entry in entries(block.lines)
    }

    def with_output(match: re.Match[str]) -> str:
        lines = match[1].split("\n")
        return "\n".join(["```console", *lines, *outputs.get(tuple(lines), ("?",)), "```"])

    check_page(path, re.sub(r"```console\n(.*?)\n```", with_output, text, flags=re.S))


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
