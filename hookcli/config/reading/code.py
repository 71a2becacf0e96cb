"""References to code in a configuration: marked where they are read, refused with --data-only."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass
from typing import Any, Literal, TypeAlias

from hookcli.config.reading.items import Item, Problems, shown

What: TypeAlias = Literal["a function", "a library", "a model"]
Judge: TypeAlias = Callable[[str], str | None]

_HINT = "leave --data-only out if you know who wrote this file"


class Code(str):
    """A text that names code, with its place. In a pickle it is the text alone."""

    item: Item
    what: What

    def __new__(cls, text: str, item: Item, what: What) -> Code:
        """Mark a text."""
        made = super().__new__(cls, text)
        made.item, made.what = item, what
        return made

    def __reduce__(self) -> tuple[type[str], tuple[str]]:
        """Forget the place: the document is not to go along."""
        return str, (str(self),)


def refuse_code(found: Any, judge: Judge, problems: Problems) -> None:
    """Note every reference to code in what was read.

    `judge` says what a model's source is, where that is code, else None.
    """
    told: set[int] = set()
    for one in _references(found):
        if id(one.item) in told:
            continue  # a hook of several kinds is read several times
        told.add(id(one.item))
        what = judge(one) if one.what == "a model" else one.what
        if what is not None:
            text = shown(str(one.item.value))
            message = f"--data-only refuses code, and this names {what}: {text}"
            problems.add(one.item, message, _HINT)


def _references(found: Any) -> Iterator[Code]:
    if isinstance(found, Code):
        yield found
    elif isinstance(found, dict):
        for one in found.values():
            yield from _references(one)
    elif isinstance(found, list | tuple):
        for one in found:
            yield from _references(one)
    elif is_dataclass(found) and not isinstance(found, Item | type):
        for field in fields(found):
            yield from _references(getattr(found, field.name))
