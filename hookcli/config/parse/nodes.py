"""The values of a document with where each stands, and the problems that are found in them."""

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
_WITHHELD = "this file is not a valid configuration, and --data-only does not show what is in it"
_WITHHELD_HINT = "extend a .yaml file below the working folder that is not hidden"


@dataclass(frozen=True, slots=True)
class Mark:
    """A place in a file. `file` is as the user typed it, `folder` what its paths are relative to.

    `order` counts the files that were read, `line` from 1; `text` is the line, for showing.
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
    """One value: a scalar, a list of items, or a dict of items, and its key path.

    The mark of a mapping's value is that of its key: there a reader looks first.
    """

    value: Any
    mark: Mark
    path: str

    @property
    def place(self) -> str:
        """Where it stands: "hooks.yaml:14: hooks[2].at"."""
        return f"{self.mark}: {self.path}" if self.path else str(self.mark)

    @property
    def label(self) -> str:
        """What to call it in a sentence: its own key."""
        return self.path.rpartition(".")[2] if self.path else "a configuration"

    def get(self, key: str) -> Node | None:
        """A mapping's value, or None without one, or where this is no mapping."""
        child = self.value.get(key) if isinstance(self.value, dict) else None
        return child if isinstance(child, Node) else None


class NodeError(Exception):
    """A value cannot be read. Whoever reads the values around it notes it and goes on.

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
    """All that is wrong with a configuration.

    `may_show` says of a file's name whether errors may show what is in the file, and of a folder's
    whether they may name its files; by default they may.
    """

    def __init__(self, may_show: Callable[[str], bool] = lambda _: True) -> None:
        self._found: list[tuple[tuple[int, int, int], RequestError]] = []
        self._may_show = functools.cache(may_show)

    def __len__(self) -> int:
        return len(self._found)

    def add(self, item: Node, message: str, hint: str, *, listed: Path | None = None) -> None:
        """Note one: the place says the file, the line, the key path, and shows the line.

        Of a file that errors may not show they say that something is wrong with it.
        """
        mark = item.mark
        if not self._may_show(mark.file):
            error = RequestError(_WITHHELD, place=_sentence(mark.file), hint=_WITHHELD_HINT)
            self._found.append(((mark.order, 0, 0), error))
            return
        if listed is not None and not self._may_show(str(listed / "any.yaml")):
            hint = "paths are relative to the configuration that names them"
        place = _sentence(item.place) + (f"  |  {mark.text}" if mark.text else "")
        error = RequestError(_sentence(message), place=place, hint=_sentence(hint))
        self._found.append(((mark.order, mark.line, mark.column), error))

    def catching(self) -> Catching:
        """Note what is raised inside a `with`, and go on after it."""
        return Catching(self)

    def settle(self) -> None:
        """Go on where there are none.

        Raises
        ------
        RequestError : there is one.
        ProblemsError : there are several; the file's own in its order, then those it extends.

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
    """What `Problems.catching` gives."""

    def __init__(self, problems: Problems) -> None:
        self._problems = problems

    def __enter__(self) -> None:
        """Nothing to begin with."""

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> bool:
        """Note a fault."""
        if isinstance(error, NodeError):
            self._problems.add(error.item, error.message, error.hint, listed=error.listed)
        return isinstance(error, NodeError | ReportedError)


def shown(line: str, column: int = 0) -> str:
    """A source line as errors show it: cut, where it is long, to what is around the column."""
    column -= len(line) - len(line.lstrip())
    line = line.strip()
    if len(line) <= _LONGEST:
        return line
    start = max(0, min(column - _LONGEST // 3, len(line) - _LONGEST + 1))
    return shorten(("…" if start else "") + line[start : start + _LONGEST + 1], _LONGEST)


def _sentence(text: str) -> str:
    """On one line, and no longer than anyone reads: a name may be a page long."""
    text = " ".join(text.split())
    half = _SENTENCE // 2
    return text if len(text) <= _SENTENCE else f"{text[:half]}…{text[1 - half :]}"


def below(path: str, key: object) -> str:
    """The key path of a mapping's value or, for an int, of a list's item."""
    if isinstance(key, str) and _WORD.fullmatch(key):
        return f"{path}.{key}" if path else key
    return f"{path}[{key!r}]"


def said(item: Node) -> str:
    """What stands there, for a sentence: "the text 'abc'"."""
    value = item.value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return f"the text '{shown(value)}'"
    if isinstance(value, int | float):
        return f"the number {flow(value)}"
    if isinstance(value, dict | list):
        return f"the {'mapping' if isinstance(value, dict) else 'list'} {shown(flow(plain(item)))}"
    return "nothing"


def plain(item: Node) -> Any:
    """The value without its places."""
    value = item.value
    if isinstance(value, dict):
        return {key: plain(child) for key, child in value.items()}
    if isinstance(value, list):
        return [plain(child) for child in value]
    return value


def suggestion(word: str, known: Iterable[str], what: str) -> str:
    """A hint: the near name, or all of them."""
    names = list(known)
    near = nearest(word, names, ignore_case=True)
    return try_instead(near, f"{what} {', '.join(names)}")


def with_value(item: Node, value: Any) -> Node:
    """Another value in the same place."""
    return replace(item, value=value)
