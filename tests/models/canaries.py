"""Texts that make a folder where they run as Python, and programs with one in each of their texts.

Fields are found by walking the JSON, so that a field which torch adds is covered too.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PROGRAM = "models/model.json"
LISTS = ("data/weights/model_weights_config.json", "data/constants/model_constants_config.json")
_CODE = "__import__('os').makedirs({!r}, exist_ok=True)"
_BREAKS = ("\n", "\r", "\r\n", "\f", "\n\f", "\v", "\x1c", "\x85", "\u2028")
_ENDS = ("", '"', "'", '")', "')", "): pass", "]", '"])')  # of what a text may stand in


def texts(mark: Path, old: str) -> list[str]:
    """What could run in the place of `old`: as an expression, behind a quote, on a line of its own.

    The code itself has no quotes, and no name that a check could look for.
    """
    code = _CODE.format(str(mark))
    bare = f"exec(bytes({list(code.encode())}))".replace(" ", "")
    word = old if old.isidentifier() else "a"
    found = [
        bare,
        code,
        f"{word}={bare}",
        f"{word}={bare}#",
        f"{word}:{bare}",
        f"{old}', {bare}, '",
        f'{old}", {bare}, "',
        f"{old}'+str({bare})+'",
        f'{old}"), {bare}, getattr(self, "{word}',
        f"{old}\\",
        f"{old}\\', {bare}) #",
        f"{old}[{bare}]",
        f"Symbol('{word}', integer={bare})",
        f"Max({bare}, 1)",
        f"torch.{bare}",
        f"_operator.{bare}",
    ]
    found += [f"{old}{end}{line}{bare}#" for end in _ENDS for line in _BREAKS]
    found += [f"{old}{end}{line}{bare}{line}def f(b):#" for end in _ENDS for line in _BREAKS]
    found += [f"{old}{end}\n    {bare}\n    #" for end in _ENDS]
    return found


@dataclass(frozen=True)
class Place:
    """Where a text stands: under which field, and the text; of a dictionary its key."""

    field: str
    text: str
    is_key: bool = False


def places(program: Any) -> list[Place]:
    """Every text of a program once, with the field that it stands in."""
    return list(dict.fromkeys(_places(program, "")))


def _places(value: Any, field: str) -> Iterator[Place]:
    if isinstance(value, str):
        yield Place(field, value)
    elif isinstance(value, list):
        for item in value:
            yield from _places(item, field)
    elif isinstance(value, dict):
        for key, item in value.items():
            yield Place(field, key, is_key=True)
            yield from _places(item, key)


def one_of_each(found: list[Place], known: set[str]) -> list[Place]:
    """The first of each field, and the first key of each mapping; `known` are names of fields."""
    texts = [one for one in found if not (one.is_key and one.text in known)]
    return list({(one.field, one.is_key): one for one in reversed(texts)}.values())[::-1]


def replaced(value: Any, place: Place, new: str, *, everywhere: bool) -> Any:
    """A copy with `new` in a place, or wherever the same text stands, so that it is still known."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return [_item(item, place, new, place.field if everywhere else "", everywhere)
                for item in value]  # fmt: skip
    if isinstance(value, dict):
        return {
            new if key == place.text and (everywhere or place.is_key) else key: _item(
                item, place, new, key, everywhere
            )
            for key, item in value.items()
        }
    return copy.copy(value)


def _item(item: Any, place: Place, new: str, field: str, everywhere: bool) -> Any:
    if isinstance(item, str):
        here = everywhere or (field == place.field and not place.is_key)
        return new if here and item == place.text else item
    if isinstance(item, list):
        return [_item(one, place, new, field, everywhere) for one in item]
    return replaced(item, place, new, everywhere=everywhere)


def dumped(value: Any) -> bytes:
    return json.dumps(value).encode()
