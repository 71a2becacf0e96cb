"""The page that `--watch` draws on a terminal: the last result, with marks at what has changed."""

from __future__ import annotations

import difflib
import re
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass

from hookcli.outputs.escapes import escape
from hookcli.text import shorten

_SGR = re.compile(r"\x1b\[[0-9;]*m")
_GUIDES = str.maketrans(dict.fromkeys("├└│─|`-+", " "))
_BEFORE_MARK = 3  # lines shown above the first mark, if not all lines fit
_MOST_CHANGES = 6  # sentences about what changed
_NEW, _CHANGED = "new", "changed"


@dataclass(frozen=True, slots=True)
class PageSize:
    """The size of a terminal, in lines and columns."""

    lines: int
    columns: int


@dataclass(frozen=True, slots=True)
class WatchPage:
    """What to draw. `table` is the last good result, `before` the one before that.

    `message` is what the run printed on stderr: notes, errors and the model's own output. `failed`
    tells that the table is not of the last run.
    """

    head: str
    changes: Sequence[str]
    table: str
    before: str | None
    message: str
    failed: bool

    def lines(self, size: PageSize, *, color: bool, unicode: bool) -> list[str]:
        """Return the lines to draw, at most as many as the terminal has."""
        width = size.columns
        above = [_styled(shorten(self.head, width), "1" if color else "")]
        shown = [shorten(f"* {escape(text)}", width) for text in self.changes[:_MOST_CHANGES]]
        if len(self.changes) > _MOST_CHANGES:
            shown.append(f"* {len(self.changes) - _MOST_CHANGES} more changes")
        above += [_styled(line, "33" if color else "") for line in shown]
        message = _message(self.message, width, color=color)
        table = self.table.splitlines()
        if self.failed:
            title = ["", "The last result:"] if table else []
            body = [_styled(_SGR.sub("", line), "2" if color else "") for line in [*title, *table]]
            return [*above, *message, *body][: size.lines]
        marks = {} if self.before is None else changed_lines(self.before, self.table)
        body = [
            _marked(line, marks.get(number), width, unicode=unicode, color=color)
            for number, line in enumerate(table)
        ]
        below = ["", *message] if message else []
        room = size.lines - len(above) - len(below)
        return [*above, *_window(body, marks, room, width), *below][: size.lines]


def changed_lines(before: str, after: str) -> dict[int, str]:
    """Return the numbers of the lines that are new or changed, with the word for it.

    Columns that became wider and guides of the tree are not a change.
    """
    old, new = ([_plain(line) for line in text.splitlines()] for text in (before, after))
    marks: dict[int, str] = {}
    matcher = difflib.SequenceMatcher(None, old, new, autojunk=False)
    for tag, i, i_end, j, j_end in matcher.get_opcodes():
        for number in range(j, j_end) if tag in {"insert", "replace"} else ():
            if new[number]:
                is_changed = tag == "replace" and _has_pair(new[number], old[i:i_end])
                marks[number] = _CHANGED if is_changed else _NEW
    return marks


def _has_pair(line: str, old: Sequence[str]) -> bool:
    """Return whether a line begins as one of the old ones, as the row of the same layer does."""
    return any(other.partition(" ")[0] == line.partition(" ")[0] for other in old)


def _plain(line: str) -> str:
    return " ".join(_SGR.sub("", line).translate(_GUIDES).split())


def _styled(line: str, code: str) -> str:
    return f"\x1b[{code}m{line}\x1b[0m" if code and line else line


_WORDS = {"error:": "31", "note:": "33", "hint:": "36"}  # as `Console` colours them


def _message(text: str, width: int, *, color: bool) -> list[str]:
    """Return what was printed on stderr, in lines that fit; of a progress bar its last state."""
    lines: list[str] = []
    for raw in text.splitlines():
        plain = escape(_SGR.sub("", raw.rsplit("\r", 1)[-1]))
        first, *rest = textwrap.wrap(plain, width) or [""]
        word = first.partition(" ")[0]
        if color and word in _WORDS:
            first = _styled(word, _WORDS[word]) + first.removeprefix(word)
        lines += [first, *rest]
    return lines


def _marked(line: str, word: str | None, width: int, *, unicode: bool, color: bool) -> str:
    if word is None:
        return line
    mark = _styled(f"{'◂' if unicode else '<'} {word}", "1;33" if color else "")
    used = len(_SGR.sub("", line))
    if used + len(word) + 4 <= width:
        return f"{line}  {mark}"
    return f"{_SGR.sub('', line)[: max(width - len(word) - 3, 0)]} {mark}"


def _window(body: list[str], marks: dict[int, str], room: int, width: int) -> list[str]:
    """Return as many lines as there is room for, from a little above the first mark."""
    if len(body) <= room or room < 1:
        return body
    room -= 1  # for the line that says so
    first = max(0, min(min(marks, default=0) - _BEFORE_MARK, len(body) - room))
    left = len(body) - room
    note = f"... {left} more lines: make the window larger, or pass --depth or --only"
    return [*body[first : first + room], shorten(note, width)]
