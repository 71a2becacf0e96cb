"""What --data-only refuses in a configuration of unknown origin. Readers mark it as they read it.

These are references to code, and folders to write to that are not below the working folder.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

from hookcli.config.parse.nodes import Node, Problems, excerpt
from hookcli.spec.working_folder import WRITE_HINT, obstacle, parts_below, refused_folder

What: TypeAlias = Literal["a function", "a library", "a model", "a program"]
Judge: TypeAlias = Callable[[str], str | None]

_HINT = "omit `--data-only` if you trust the author of this file"


class _Marked(str):
    """A string with its place. A pickle contains only the string."""

    item: Node

    def __reduce__(self) -> tuple[type[str], tuple[str]]:
        """Drop the place, so that the document is not pickled too."""
        return str, (str(self),)


class Code(_Marked):
    """A string that refers to code."""

    what: What

    def __new__(cls, text: str, item: Node, what: What) -> Code:
        """Mark a string."""
        made = super().__new__(cls, text)
        made.item, made.what = item, what
        return made


class Written(_Marked):
    """The absolute path of a folder that files are written to."""

    def __new__(cls, text: str, item: Node) -> Written:
        """Mark a string."""
        made = super().__new__(cls, text)
        made.item = item
        return made


def refuse(value: Any, judge: Judge, problems: Problems) -> None:
    """Note every reference to code in a value, and every folder that must not be written to.

    `judge` returns what a model's source is if it is code, else None.
    """
    noted: set[int] = set()
    for marked in _marked(value):
        if id(marked.item) in noted:
            continue  # a hook of several kinds is read several times
        noted.add(id(marked.item))
        text = excerpt(str(marked.item.value))
        if isinstance(marked, Code):
            what = judge(marked) if marked.what == "a model" else marked.what
            if what is not None:
                message = f"--data-only does not allow code, and {text} names {what}"
                problems.add(marked.item, message, _HINT)
        elif isinstance(marked, Written):
            why = _why_not_written(marked)
            if why is not None:
                problems.add(marked.item, refused_folder(text, why), WRITE_HINT)


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
