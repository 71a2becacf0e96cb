"""What a stranger's configuration must not say: marked where it is read, refused with --data-only.

That is references to code, and folders to write to that are not below the working folder.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

from hookcli.config.parse.nodes import Node, Problems, shown
from hookcli.spec.working_folder import obstacle, parts_below

What: TypeAlias = Literal["a function", "a library", "a model"]
Judge: TypeAlias = Callable[[str], str | None]

_HINT = "leave --data-only out if you know who wrote this file"
_WRITE_HINT = "name a folder below the working folder: {save: taps/}"


class _Marked(str):
    """A text with its place. In a pickle it is the text alone."""

    item: Node

    def __reduce__(self) -> tuple[type[str], tuple[str]]:
        """Forget the place: the document is not to go along."""
        return str, (str(self),)


class Code(_Marked):
    """A text that names code."""

    what: What

    def __new__(cls, text: str, item: Node, what: What) -> Code:
        """Mark a text."""
        made = super().__new__(cls, text)
        made.item, made.what = item, what
        return made


class Written(_Marked):
    """The absolute path of a folder that files are written to."""

    def __new__(cls, text: str, item: Node) -> Written:
        """Mark a text."""
        made = super().__new__(cls, text)
        made.item = item
        return made


def refuse(value: Any, judge: Judge, problems: Problems) -> None:
    """Note every reference to code in what was read, and every folder that is not to be written to.

    `judge` says what a model's source is, where that is code, else None.
    """
    told: set[int] = set()
    for marked in _marked(value):
        if id(marked.item) in told:
            continue  # a hook of several kinds is read several times
        told.add(id(marked.item))
        text = shown(str(marked.item.value))
        if isinstance(marked, Code):
            what = judge(marked) if marked.what == "a model" else marked.what
            if what is not None:
                message = f"--data-only refuses code, and this names {what}: {text}"
                problems.add(marked.item, message, _HINT)
        elif isinstance(marked, Written):
            why = _why_not_written(marked)
            if why is not None:
                problems.add(
                    marked.item, f"--data-only does not write to {text}: {why}", _WRITE_HINT
                )


def _why_not_written(folder: Written) -> str | None:
    home = Path.cwd()
    parts = parts_below(home, folder)
    if parts is None:
        return "it is not below the working folder"
    return obstacle(home, parts)


def _marked(value: Any) -> Iterator[_Marked]:
    if isinstance(value, _Marked):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from _marked(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _marked(item)
    elif is_dataclass(value) and not isinstance(value, Node | type):
        for field in fields(value):
            yield from _marked(getattr(value, field.name))
