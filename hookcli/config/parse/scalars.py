"""The shapes that values have. Each reads an item, and says itself as JSON Schema: one source.

`read` gives plain data or raises FaultError; a container notes the faults inside it, goes on, and
raises NotedError at its end, so that all are said at once.
"""

# ruff: noqa: D102  # Shape says what `wants`, `read` and `schema` are, for all of them

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NoReturn, Protocol

from hookcli.config.parse.nodes import (
    Node,
    NodeError,
    Problems,
    plain,
    said,
    shown,
    suggestion,
)
from hookcli.spec.inputs import LARGEST
from hookcli.text import nearest, try_instead

Schema = dict[str, Any]


class Validator(Protocol):
    """What can be read, and described."""

    @property
    def wants(self) -> str:
        """What may stand there, for a sentence."""

    def read(self, item: Node, problems: Problems) -> Any:
        """The plain data; raises FaultError or NotedError."""

    def schema(self) -> Schema:
        """JSON Schema of what may stand there."""


def misfit(item: Node, wants: str, hint: str) -> NoReturn:
    """Say that something else stands there."""
    raise NodeError(item, f"{item.label} wants {wants}, not {said(item)}", hint)


@dataclass(frozen=True, slots=True)
class Text:
    """A text that is not empty."""

    wants: str = "a text"
    hint: str = "write a text; quote it where it begins with a digit, true, false or null"
    empty: bool = False

    def read(self, item: Node, problems: Problems) -> str:
        if not isinstance(item.value, str):
            misfit(item, self.wants, self.hint)
        if not (item.value or self.empty):
            raise NodeError(item, f"{item.label} is empty", f"write {self.wants}")
        return item.value

    def schema(self) -> Schema:
        return {"type": "string"} if self.empty else {"type": "string", "minLength": 1}


@dataclass(frozen=True, slots=True)
class Choice:
    """One of some words."""

    words: tuple[str, ...]

    @property
    def wants(self) -> str:
        return "one of " + ", ".join(self.words)

    def read(self, item: Node, problems: Problems) -> str:
        if not isinstance(item.value, str) or item.value not in self.words:
            word = item.value if isinstance(item.value, str) else ""
            hint = suggestion(word, self.words, "write one of")
            misfit(item, self.wants, hint)
        return item.value

    def schema(self) -> Schema:
        return {"enum": list(self.words)}


@dataclass(frozen=True, slots=True)
class Named:
    """A name out of a catalogue, which says what each `does`.

    `listing` is a hint that lists them; `bare` strips what users write around a name.
    """

    what: str
    does: Mapping[str, str]
    listing: str
    bare: Callable[[str], str] = str

    @property
    def wants(self) -> str:
        return f"the name of a {self.what}"

    def read(self, item: Node, problems: Problems) -> str:
        word = item.value
        if not isinstance(word, str):
            misfit(item, self.wants, self.listing)
        if word not in self.does:
            near = nearest(self.bare(word), self.does, ignore_case=True)
            hint = try_instead(near, self.listing)
            raise NodeError(item, f"there is no {self.what} '{shown(word)}'", hint)
        return word

    def schema(self) -> Schema:
        return {"oneOf": [_constant(name, does) for name, does in self.does.items()]}


def _constant(name: str, does: str) -> Schema:
    return {"const": name, "description": does} if does else {"const": name}


@dataclass(frozen=True, slots=True)
class Refined:
    """A shape with a check behind it, which may give something else or raise FaultError."""

    of: Validator
    check: Callable[[Node, Any], Any]

    @property
    def wants(self) -> str:
        return self.of.wants

    def read(self, item: Node, problems: Problems) -> Any:
        return self.check(item, self.of.read(item, problems))

    def schema(self) -> Schema:
        return self.of.schema()


@dataclass(frozen=True, slots=True)
class Boolean:
    """true or false."""

    wants: str = "true or false"

    def read(self, item: Node, problems: Problems) -> bool:
        if not isinstance(item.value, bool):
            misfit(item, self.wants, "write true or false, without quotes")
        return item.value

    def schema(self) -> Schema:
        return {"type": "boolean"}


@dataclass(frozen=True, slots=True)
class Integer:
    """A whole number from `low` to `high`; None is as much as torch takes."""

    low: int = 0
    high: int | None = None

    @property
    def wants(self) -> str:
        upto = f" to {self.high}" if self.high is not None else ""
        return f"a whole number from {self.low}{upto}"

    def read(self, item: Node, problems: Problems) -> int:
        value = item.value
        if not isinstance(value, int) or isinstance(value, bool):
            misfit(item, self.wants, f"write a whole number such as {max(self.low, 1)}")
        if self.high is None and value > LARGEST:
            misfit(item, f"{self.wants} to {LARGEST}", "write a smaller one")
        if value < self.low or (self.high is not None and value > self.high):
            misfit(item, self.wants, f"write a whole number such as {max(self.low, 1)}")
        return value

    def schema(self) -> Schema:
        return {"type": "integer", "minimum": self.low, "maximum": self.high or LARGEST}


@dataclass(frozen=True, slots=True)
class Number:
    """A number; `above` and `most` bound it, and then it is finite."""

    above: float | None = None
    most: float | None = None

    @property
    def wants(self) -> str:
        most = f" and at most {self.most:g}" if self.most is not None else ""
        return "a number" if self.above is None else f"a number above {self.above:g}{most}"

    def read(self, item: Node, problems: Problems) -> float:
        value = item.value
        if not isinstance(value, int | float) or isinstance(value, bool):
            misfit(item, self.wants, "write a number such as 0.5 or 1e-3, without quotes")
        low = -math.inf if self.above is None else self.above
        high = math.inf if self.most is None else self.most
        bounded = self.above is not None or self.most is not None
        if bounded and not (low < value <= high and value < math.inf):
            misfit(item, self.wants, f"write a number such as {max(low, 0) + 0.5:g}")
        if abs(value) > sys.float_info.max and value not in (math.inf, -math.inf):
            misfit(
                item, "a number that a float holds", "write a smaller one"
            )  # an int of 400 digits
        # torch takes no larger int where a number may be a float
        return float(value) if LARGEST < abs(value) < math.inf else value

    def schema(self) -> Schema:
        lower = {"exclusiveMinimum": self.above} if self.above is not None else {}
        upper = {"maximum": self.most} if self.most is not None else {}
        return {"type": "number", **lower, **upper}


@dataclass(frozen=True, slots=True)
class Data:
    """Any plain data."""

    wants: str = "a value"

    def read(self, item: Node, problems: Problems) -> Any:
        return plain(item)

    def schema(self) -> Schema:
        return {}
