"""A Markdown page as its fenced blocks, headings and links."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.conftest import ROOT

DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]
NAMES = [str(page.relative_to(ROOT)) for page in PAGES]

_FENCE = re.compile(r"^(?P<indent> *)(?P<fence>`{3,})(?P<language>[\w+-]*) *(?P<info>[^`]*)$")
_TITLE = re.compile(r'title="([^"]+)"')
_COMMENT = re.compile(r"^\s*<!-- (.*) -->$")
_HEADING = re.compile(r"^#{1,6} (.*?)(?: #+)?$")
_LINK = re.compile(r"(?<!!)\[(?:[^\[\]]|\[[^\]]*\])*\]\(([^()\s]+)\)")

_IMAGE = re.compile(r"!\[[^\]]*\]\(([^()\s]+)\)")


@dataclass(frozen=True)
class Block:
    """A fenced block; `line` is that of its opening fence, counted from 1."""

    line: int
    language: str
    title: str | None
    lines: tuple[str, ...]
    comments: tuple[str, ...]  # the HTML comments directly above it
    indent: str = ""

    @property
    def text(self) -> str:
        return "".join(f"{line}\n" for line in self.lines)

    def after(self, word: str) -> str | None:
        """What follows `word: ` in a comment above the block."""
        for comment in self.comments:
            if comment.startswith(f"{word}: "):
                return comment.removeprefix(f"{word}: ")
        return None


def blocks(text: str) -> list[Block]:
    """The fenced blocks of a page, in order."""
    lines, found, number = text.split("\n"), [], 0
    while number < len(lines):
        opening = _FENCE.match(lines[number])
        if opening is None:
            number += 1
            continue
        indent, fence = opening["indent"], opening["fence"]
        end = next(
            (n for n in range(number + 1, len(lines)) if lines[n] == indent + fence), len(lines)
        )
        title = _TITLE.search(opening["info"])
        found.append(
            Block(
                number + 1,
                opening["language"],
                title and title[1],
                tuple(line.removeprefix(indent) for line in lines[number + 1 : end]),
                tuple(_comments_above(lines, number)),
                indent,
            )
        )
        number = end + 1
    return found


def _comments_above(lines: list[str], number: int) -> Iterator[str]:
    while number and (comment := _COMMENT.match(lines[number - 1])):
        yield comment[1]
        number -= 1


def with_block(text: str, block: Block, new: list[str]) -> str:
    """The page with other lines in a block."""
    lines = text.split("\n")
    lines[block.line : block.line + len(block.lines)] = [
        f"{block.indent}{line}" if line else line for line in new
    ]
    return "\n".join(lines)


def prose(text: str) -> list[str]:
    """The lines outside fenced blocks; those inside are empty, so that numbers stay."""
    lines = text.split("\n")
    for block in blocks(text):
        for number in range(block.line - 1, block.line + len(block.lines) + 1):
            if number < len(lines):
                lines[number] = ""
    return lines


def anchors(path: Path) -> set[str]:
    """What `#…` can name on a page: its headings, as GitHub and the site spell them."""
    seen: Counter[str] = Counter()
    names = set()
    for line in prose(path.read_text()):
        if heading := _HEADING.match(line):
            slug = slugify(heading[1])
            names.add(f"{slug}-{seen[slug]}" if seen[slug] else slug)
            seen[slug] += 1
    return names


def slugify(heading: str) -> str:
    """A heading's anchor: lower case, without punctuation, a hyphen for each blank."""
    plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("\\", "")
    return re.sub(r"[^\w\- ]", "", plain).strip().lower().replace(" ", "-")


def links(text: str) -> Iterator[tuple[int, str]]:
    """(line, target) of each link and image of a page, code aside."""
    for number, line in enumerate(prose(text), 1):
        plain = re.sub(r"(`+)(?!`).*?(?<!`)\1(?!`)", "code", line)
        for pattern in (_LINK, _IMAGE):
            for match in pattern.finditer(plain):
                yield number, match[1]
