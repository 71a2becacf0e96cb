"""A part of a tensor that an action changes: an index as in Python, or heads of the last axis."""

from __future__ import annotations

import re
from dataclasses import dataclass
from types import EllipsisType
from typing import TypeAlias

Index: TypeAlias = "tuple[int | slice | EllipsisType | list[int], ...]"
_INTEGER = re.compile(r"[+-]?\d{1,18}")
_LIST = re.compile(r"\[\s*[+-]?\d{1,18}\s*(,\s*[+-]?\d{1,18}\s*)*\]")
_HEADS = re.compile(r"(\d{1,6}(?:\s*,\s*\d{1,6})*)\s+of\s+(\d{1,6})")


@dataclass(frozen=True, slots=True)
class TensorPart:
    """A part of a tensor: `index` as it was written, or `heads` of `count` equal parts.

    Heads are consecutive parts of the last axis, as the output of an attention before its output
    projection has them. They are counted from 0.
    """

    index: str | None = None
    heads: tuple[int, ...] = ()
    count: int = 0

    def __str__(self) -> str:
        if self.index is not None:
            return f"index {self.index}"
        return f"heads {', '.join(map(str, self.heads))} of {self.count}"

    def indices(self, shape: tuple[int, ...]) -> Index:
        """Return what indexes the part of a tensor of this shape.

        Raises
        ------
        ValueError : the shape has no such part; the message tells why.
        """
        if self.index is not None:
            return parse_index(self.index)
        if not shape or shape[-1] % self.count:
            size = shape[-1] if shape else 1
            raise ValueError(f"its last axis of {size} cannot be divided by {self.count}")
        width = shape[-1] // self.count
        return (..., [head * width + i for head in self.heads for i in range(width)])


def parse_index(text: str) -> Index:
    """Return an index: integers, slices, lists of integers and one `...`, between commas.

    Raises
    ------
    ValueError : the text is not one.

    >>> parse_index("[:, 3]")
    (slice(None, None, None), 3)
    >>> parse_index("..., [0, 2]")
    (Ellipsis, [0, 2])
    """
    text = text.strip()
    inner = text[1:-1] if text.startswith("[") and _closes_at_end(text) else text
    items = [_item(word.strip()) for word in _split(inner)]
    if sum(item is ... for item in items) > 1:
        raise ValueError(f"not an index: {text}")
    return tuple(items)


def _closes_at_end(text: str) -> bool:
    """Return whether the bracket that begins a text is closed by its last character."""
    depth = 0
    for number, letter in enumerate(text):
        depth += (letter == "[") - (letter == "]")
        if depth == 0:
            return number == len(text) - 1
    return False


def _split(text: str) -> list[str]:
    """Split at the commas that are not in brackets."""
    return re.split(r",(?![^\[]*\])", text)


def _item(word: str) -> int | slice | EllipsisType | list[int]:
    if word == "...":
        return ...
    if _INTEGER.fullmatch(word):
        return int(word)
    if _LIST.fullmatch(word):
        return [int(number) for number in word[1:-1].split(",")]
    bounds = [bound.strip() for bound in word.split(":")]
    if not 2 <= len(bounds) <= 3 or not all(_INTEGER.fullmatch(b) for b in bounds if b):
        raise ValueError(f"not an index: {word}")
    parts = [int(bound) if bound else None for bound in bounds]
    if len(parts) == 3 and parts[2] is not None and parts[2] < 1:
        raise ValueError(f"not an index: {word}")  # torch has no negative steps
    return slice(*parts)


def parse_heads(text: str) -> TensorPart:
    """Return the heads of `2 of 8` or `0, 2 of 8`.

    Raises
    ------
    ValueError : the text has another form, or names a head that there is not.
    """
    found = _HEADS.fullmatch(text.strip())
    if found is None:
        raise ValueError(f"not heads: {text}")
    heads = tuple(dict.fromkeys(int(number) for number in found[1].split(",")))
    count = int(found[2])
    if count < 1 or max(heads) >= count:
        raise ValueError(f"not heads: {text}")
    return TensorPart(heads=heads, count=count)
