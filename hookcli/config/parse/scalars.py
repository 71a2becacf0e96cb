"""The validators of values. Each reads a node, and describes itself as JSON Schema.

`read` returns plain data or raises NodeError. A container notes the problems inside it, continues,
and raises ReportedError at its end, so that all problems are reported at once.
"""

# ruff: noqa: D102  # Validator documents `expected`, `read` and `schema` for all of them

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NoReturn, Protocol

from hookcli.config.parse.nodes import (
    Node,
    NodeError,
    Problems,
    describe,
    excerpt,
    plain,
    suggest,
)
from hookcli.sentences import must_be, unknown
from hookcli.spec.inputs import LARGEST
from hookcli.text import nearest, try_instead, with_article

Schema = dict[str, Any]


class Validator(Protocol):
    """Reads a value, and describes what is allowed."""

    @property
    def expected(self) -> str:
        """What is allowed, to follow "must be": "a string"."""

    def read(self, item: Node, problems: Problems) -> Any:
        """Return the plain data. Raises NodeError or ReportedError."""

    def schema(self) -> Schema:
        """Return the JSON Schema of what is allowed."""


def reject(item: Node, expected: str, hint: str) -> NoReturn:
    """Raise the error for a value that is not what was expected."""
    raise NodeError(item, must_be(item.label, expected, describe(item)), hint)


def must_not_be_empty(item: Node, hint: str) -> NodeError:
    """Return the error for a value that must not be empty."""
    return NodeError(item, f"{item.label} must not be empty", hint)


@dataclass(frozen=True, slots=True)
class Text:
    """A string that is not empty, unless `empty` allows it."""

    expected: str = "a string"
    hint: str = "write a string, in quotes if it looks like a number, true, false or null"
    empty: bool = False

    def read(self, item: Node, problems: Problems) -> str:
        if not isinstance(item.value, str):
            reject(item, self.expected, self.hint)
        if not (item.value or self.empty):
            raise must_not_be_empty(item, f"write {self.expected}")
        return item.value

    def schema(self) -> Schema:
        return {"type": "string"} if self.empty else {"type": "string", "minLength": 1}


@dataclass(frozen=True, slots=True)
class Choice:
    """One of some words."""

    words: tuple[str, ...]

    @property
    def expected(self) -> str:
        return ("one of " if self.words[1:] else "") + ", ".join(self.words)

    def read(self, item: Node, problems: Problems) -> str:
        if not isinstance(item.value, str) or item.value not in self.words:
            word = item.value if isinstance(item.value, str) else ""
            reject(item, self.expected, suggest(word, self.words))
        return item.value

    def schema(self) -> Schema:
        return {"enum": list(self.words)}


@dataclass(frozen=True, slots=True)
class Named:
    """A name in a catalogue; `does` describes each name.

    `listing` is the hint that leads to a list of them. `bare` strips what users add to a name;
    `meant` are other words, each with the name that somebody who writes it looks for.
    """

    what: str
    does: Mapping[str, str]
    listing: str
    bare: Callable[[str], str] = str
    meant: Mapping[str, str] = field(default_factory=dict)

    @property
    def expected(self) -> str:
        return f"the name of {with_article(self.what)}"

    def read(self, item: Node, problems: Problems) -> str:
        word = item.value
        if not isinstance(word, str):
            reject(item, self.expected, self.listing)
        if word not in self.does:
            guess = nearest(self.bare(word), (*self.does, *self.meant), ignore_case=True)
            hint = try_instead(guess and self.meant.get(guess, guess), self.listing)
            raise NodeError(item, unknown(self.what, excerpt(word)), hint)
        return word

    def schema(self) -> Schema:
        return {"oneOf": [_constant(name, does) for name, does in self.does.items()]}


def _constant(name: str, does: str) -> Schema:
    return {"const": name, "description": does} if does else {"const": name}


@dataclass(frozen=True, slots=True)
class Refined:
    """A validator followed by a check, which may convert the value or raise NodeError."""

    of: Validator
    check: Callable[[Node, Any], Any]

    @property
    def expected(self) -> str:
        return self.of.expected

    def read(self, item: Node, problems: Problems) -> Any:
        return self.check(item, self.of.read(item, problems))

    def schema(self) -> Schema:
        return self.of.schema()


@dataclass(frozen=True, slots=True)
class Boolean:
    """true or false."""

    expected: str = "true or false"

    def read(self, item: Node, problems: Problems) -> bool:
        if not isinstance(item.value, bool):
            reject(item, self.expected, "write true or false, without quotes")
        return item.value

    def schema(self) -> Schema:
        return {"type": "boolean"}


@dataclass(frozen=True, slots=True)
class Integer:
    """An integer from `low` to `high`. None is the largest that torch accepts."""

    low: int = 0
    high: int | None = None

    @property
    def expected(self) -> str:
        if self.high is None:
            return f"an integer of at least {self.low}"
        return f"an integer between {self.low} and {self.high}"

    def read(self, item: Node, problems: Problems) -> int:
        value = item.value
        hint = f"write an integer such as {max(self.low, 1)}"
        if not isinstance(value, int) or isinstance(value, bool):
            reject(item, self.expected, hint)
        if self.high is None and value > LARGEST:
            reject(item, Integer(self.low, LARGEST).expected, "write a smaller integer")
        if value < self.low or (self.high is not None and value > self.high):
            reject(item, self.expected, hint)
        return value

    def schema(self) -> Schema:
        return {"type": "integer", "minimum": self.low, "maximum": self.high or LARGEST}


@dataclass(frozen=True, slots=True)
class Number:
    """A number. If `above` or `most` bound it, it must be finite."""

    above: float | None = None
    most: float | None = None

    @property
    def expected(self) -> str:
        most = f" and at most {self.most:g}" if self.most is not None else ""
        return "a number" if self.above is None else f"a number greater than {self.above:g}{most}"

    def read(self, item: Node, problems: Problems) -> float:
        value = item.value
        if not isinstance(value, int | float) or isinstance(value, bool):
            reject(item, self.expected, "write a number such as 0.5 or 1e-3, without quotes")
        low = -math.inf if self.above is None else self.above
        high = math.inf if self.most is None else self.most
        bounded = self.above is not None or self.most is not None
        if bounded and not (low < value <= high and value < math.inf):
            reject(item, self.expected, f"write a number such as {max(low, 0) + 0.5:g}")
        if abs(value) > sys.float_info.max and value not in (math.inf, -math.inf):
            reject(item, "a number in the range of a float", "write a smaller number")
        # torch does not accept a larger int, even if a float is allowed
        return float(value) if LARGEST < abs(value) < math.inf else value

    def schema(self) -> Schema:
        lower = {"exclusiveMinimum": self.above} if self.above is not None else {}
        upper = {"maximum": self.most} if self.most is not None else {}
        return {"type": "number", **lower, **upper}


@dataclass(frozen=True, slots=True)
class Data:
    """Any plain data."""

    expected: str = "a value"

    def read(self, item: Node, problems: Problems) -> Any:
        return plain(item)

    def schema(self) -> Schema:
        return {}
