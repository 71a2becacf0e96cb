"""The values of a document with their places, and the problems that are found in them."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from hookcli.errors import ProblemsError, RequestError
from hookcli.spec.yaml import flow
from hookcli.text import nearest, shorten, try_instead

_WORD = re.compile(r"[^\W\d][\w-]*")
_LONGEST = 80  # characters of a source line that an error shows
_SENTENCE = 300  # characters of a message, a hint or a place
_WITHHELD = "invalid configuration (--data-only hides its content)"
PATH_HINT = "check the path: it is relative to the configuration file"
_WITHHELD_HINT = "extend a .yaml file below the working folder that is not hidden"


@dataclass(frozen=True, slots=True)
class Mark:
    """A place in a file. `file` is as the user typed it; paths are relative to `folder`.

    `order` counts the files that were read. `line` counts from 1. `text` is the line as shown.
    """

    file: str
    folder: Path
    order: int
    line: int
    column: int
    text: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


@dataclass(frozen=True, slots=True)
class Node:
    """One value with its key path: a scalar, a list of nodes, or a dict of nodes.

    The mark of a mapping's value is that of its key, because a reader looks there first.
    """

    value: Any
    mark: Mark
    path: str

    @property
    def place(self) -> str:
        """The place for errors: "hooks.yaml:14: hooks[2].at"."""
        return f"{self.mark}: {self.path}" if self.path else str(self.mark)

    @property
    def label(self) -> str:
        """The name of the value in a message: its key."""
        return self.path.rpartition(".")[2] if self.path else "the configuration"

    def get(self, key: str) -> Node | None:
        """Return a mapping's value, or None if it is missing or this is not a mapping."""
        child = self.value.get(key) if isinstance(self.value, dict) else None
        return child if isinstance(child, Node) else None


class NodeError(Exception):
    """A value cannot be read. The reader of the enclosing value notes the problem and continues.

    `listed` is the folder whose files the hint names, if it names any.
    """

    def __init__(self, item: Node, message: str, hint: str, *, listed: Path | None = None) -> None:
        super().__init__(message)
        self.listed = listed
        self.item = item
        self.message = message
        self.hint = hint


class ReportedError(Exception):
    """A value cannot be read, and the problems have been noted."""


class Problems:
    """All problems of a configuration.

    `may_show` tells for a path whether errors may show the content of that file, or the names of
    the files in that folder. By default they may.
    """

    def __init__(self, may_show: Callable[[str], bool] = lambda _: True) -> None:
        self._found: list[tuple[tuple[int, int, int], RequestError]] = []
        self._may_show = functools.cache(may_show)

    def __len__(self) -> int:
        return len(self._found)

    def add(self, item: Node, message: str, hint: str, *, listed: Path | None = None) -> None:
        """Note a problem. Its place is the file, the line number, the key path and the line itself.

        For a file that errors may not show, the problem tells only that the file is invalid.
        """
        mark = item.mark
        if not self._may_show(mark.file):
            error = RequestError(_WITHHELD, place=_sentence(mark.file), hint=_WITHHELD_HINT)
            self._found.append(((mark.order, 0, 0), error))
            return
        if listed is not None and not self._may_show(str(listed / "any.yaml")):
            hint = PATH_HINT
        place = _sentence(item.place) + (f"  |  {mark.text}" if mark.text else "")
        error = RequestError(_sentence(message), place=place, hint=_sentence(hint))
        self._found.append(((mark.order, mark.line, mark.column), error))

    def catching(self) -> Catching:
        """Return a context that notes an error raised inside it, and continues after it."""
        return Catching(self)

    def settle(self) -> None:
        """Raise the problems, if there are any.

        Raises
        ------
        RequestError : there is one problem.
        ProblemsError : there are several: those of the file in its order, then those of its bases.

        """
        all_errors = [error for _, error in sorted(self._found, key=lambda item: item[0])]
        withheld = {item.place: item for item in all_errors if item.message is _WITHHELD}
        errors = tuple(
            item
            for item in all_errors
            if item.message is not _WITHHELD or withheld[item.place] is item
        )
        if len(errors) > 1:
            raise ProblemsError(errors)
        if errors:
            raise errors[0]


class Catching:
    """The context of `Problems.catching`."""

    def __init__(self, problems: Problems) -> None:
        self._problems = problems

    def __enter__(self) -> None:
        """Do nothing."""

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> bool:
        """Note a NodeError; suppress it and ReportedError."""
        if isinstance(error, NodeError):
            self._problems.add(error.item, error.message, error.hint, listed=error.listed)
        return isinstance(error, NodeError | ReportedError)


def excerpt(line: str, column: int = 0) -> str:
    """Return a source line as errors show it: a long line is cut to the part around the column."""
    column -= len(line) - len(line.lstrip())
    line = line.strip()
    if len(line) <= _LONGEST:
        return line
    start = max(0, min(column - _LONGEST // 3, len(line) - _LONGEST + 1))
    return shorten(("…" if start else "") + line[start : start + _LONGEST + 1], _LONGEST)


def _sentence(text: str) -> str:
    """Return the text on one line, cut in the middle if it is long: a name may fill a page."""
    text = " ".join(text.split())
    half = _SENTENCE // 2
    return text if len(text) <= _SENTENCE else f"{text[:half]}…{text[1 - half :]}"


def below(path: str, key: object) -> str:
    """Return the key path of a mapping's value or, for an int, of a list's item."""
    if isinstance(key, str) and _WORD.fullmatch(key):
        return f"{path}.{key}" if path else key
    return f"{path}[{key!r}]"


def describe(item: Node) -> str:
    """Return the value as a message shows it: `'abc'`, `3`, `{a: 1}`."""
    value = item.value
    return f"'{excerpt(value)}'" if isinstance(value, str) else excerpt(flow(plain(item)))


def plain(item: Node) -> Any:
    """Return the value without its places."""
    value = item.value
    if isinstance(value, dict):
        return {key: plain(child) for key, child in value.items()}
    if isinstance(value, list):
        return [plain(child) for child in value]
    return value


def suggest(word: str, known: Iterable[str]) -> str:
    """Return the hint for an unknown word: the nearest known one, or all of them."""
    names = list(known)
    guess = nearest(word, names, ignore_case=True)
    return try_instead(guess, f"choose from {', '.join(names)}")


def with_value(item: Node, value: Any) -> Node:
    """Return a node with another value in the same place."""
    return replace(item, value=value)
