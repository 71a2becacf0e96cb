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


def refuse(found: Any, judge: Judge, problems: Problems) -> None:
    """Note every reference to code in what was read, and every folder that is not to be written to.

    `judge` says what a model's source is, where that is code, else None.
    """
    told: set[int] = set()
    for one in _marked(found):
        if id(one.item) in told:
            continue  # a hook of several kinds is read several times
        told.add(id(one.item))
        text = shown(str(one.item.value))
        if isinstance(one, Code):
            what = judge(one) if one.what == "a model" else one.what
            if what is not None:
                message = f"--data-only refuses code, and this names {what}: {text}"
                problems.add(one.item, message, _HINT)
        elif isinstance(one, Written):
            why = _why_not_written(one)
            if why is not None:
                problems.add(one.item, f"--data-only does not write to {text}: {why}", _WRITE_HINT)


def _why_not_written(folder: Written) -> str | None:
    home = Path.cwd()
    parts = parts_below(home, folder)
    if parts is None:
        return "it is not below the working folder"
    return obstacle(home, parts)


def _marked(found: Any) -> Iterator[_Marked]:
    if isinstance(found, _Marked):
        yield found
    elif isinstance(found, dict):
        for one in found.values():
            yield from _marked(one)
    elif isinstance(found, list | tuple):
        for one in found:
            yield from _marked(one)
    elif is_dataclass(found) and not isinstance(found, Node | type):
        for field in fields(found):
            yield from _marked(getattr(found, field.name))
