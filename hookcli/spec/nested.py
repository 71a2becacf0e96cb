"""Brackets in the grammar of `--input`: `{key: SPEC, …}`, `[SPEC, …]` and `(SPEC, …)`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeAlias

CLOSES = {"{": "}", "[": "]", "(": ")"}
DEEPEST = 20  # brackets inside brackets
_HINT = "write `{image: 2x3x8x8, mask: 2x8x8}`, `[2x3, 2x4]` or `(2x3, 2x4)`"

Part: TypeAlias = tuple[str | None, str]  # the key of a mapping, else None; and the SPEC


def is_nested(body: str) -> bool:
    """Return whether a SPEC is in brackets."""
    return len(body) > 1 and CLOSES.get(body[0]) == body[-1]


def parts(body: str) -> list[Part]:
    """Return what is between the brackets of a SPEC.

    Raises
    ------
    ValueError : brackets or quotes do not match, an item is empty, a key is missing or given twice.
        The arguments are a message and a hint.
    """
    texts = [text.strip() for text in _split(body[1:-1])]
    if texts and not texts[-1]:
        texts.pop()  # the comma at the end, as in `(2x3,)`
    if not all(texts):
        raise ValueError("an item is empty", _HINT)
    if body[0] != "{":
        return [(None, text) for text in texts]
    pairs = [_pair(text) for text in texts]
    keys = [key for key, _ in pairs]
    for i, key in enumerate(keys):
        if key in keys[:i]:
            raise ValueError(f"key '{key}' is given twice", "remove one of them")
    return pairs


def rewritten(body: str, change: Callable[[str], str]) -> str:
    """Return a SPEC with every part that is not in brackets changed."""
    if not is_nested(body):
        return change(body)
    pairs = [(key, rewritten(inner, change)) for key, inner in parts(body)]
    texts = [inner if key is None else f"{key}: {inner}" for key, inner in pairs]
    comma = "," if body[0] == "(" and len(texts) == 1 else ""
    return f"{body[0]}{', '.join(texts)}{comma}{body[-1]}"


def _pair(text: str) -> Part:
    key, colon, inner = text.partition(":")
    key = key.strip().strip("\"'")
    if not colon or not key or not inner.strip():
        raise ValueError(f"'{text}' is not a key with a value", _HINT)
    return key, inner.strip()


def _split(text: str) -> Iterator[str]:
    """Yield the texts between the commas that are not inside brackets or quotes."""
    closing: list[str] = []
    quote, start = "", 0
    for i, letter in enumerate(text):
        if quote:
            quote = "" if letter == quote else quote
        elif letter in "\"'":
            quote = letter
        elif letter in CLOSES:
            closing.append(CLOSES[letter])
            if len(closing) > DEEPEST:
                raise ValueError(f"brackets are nested deeper than {DEEPEST} levels", _HINT)
        elif closing and letter == closing[-1]:
            closing.pop()
        elif letter in CLOSES.values():
            raise ValueError(f"'{letter}' does not match an opening bracket", _HINT)
        elif letter == "," and not closing:
            yield text[start:i]
            start = i + 1
    if quote or closing:
        raise ValueError(f"a {'quote' if quote else 'bracket'} is not closed", _HINT)
    if text.strip():
        yield text[start:]
