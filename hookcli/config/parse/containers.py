"""Validators of lists, of mappings, and of values that may have one of several types."""

# ruff: noqa: D102  # Validator documents `expected`, `read` and `schema` for all of them

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from hookcli.config.parse.nodes import Node, NodeError, Problems, ReportedError, suggest
from hookcli.config.parse.scalars import Schema, Validator, must_not_be_empty, reject
from hookcli.sentences import unknown
from hookcli.spec.yaml import flow
from hookcli.text import nearest


@dataclass(frozen=True, slots=True)
class ListOf:
    """A list; with `one` also a single item without brackets. It is read as a tuple."""

    of: Validator
    one: bool = False
    least: int = 0

    @property
    def expected(self) -> str:
        return f"{self.of.expected}, or a list of these" if self.one else "a list"

    def read(self, item: Node, problems: Problems) -> tuple[Any, ...]:
        if not isinstance(item.value, list):
            if self.one:
                return (self.of.read(item, problems),)
            reject(item, self.expected, "write a list: [a, b]")
        if len(item.value) < self.least:
            raise must_not_be_empty(item, "add an item, or remove the key")
        before, values = len(problems), []
        for inner in item.value:
            with problems.catching():
                values.append(self.of.read(inner, problems))
        if len(problems) > before:
            raise ReportedError
        return tuple(values)

    def schema(self) -> Schema:
        listed: Schema = {"type": "array", "items": self.of.schema()}
        if self.least:
            listed["minItems"] = self.least
        return {"anyOf": [self.of.schema(), listed]} if self.one else listed


@dataclass(frozen=True, slots=True)
class ByType:
    """A validator for each type of value that is allowed, by YAML's types."""

    shapes: Mapping[type, Validator]
    expected: str
    hint: str

    def read(self, item: Node, problems: Problems) -> Any:
        shape = self.shapes.get(type(item.value))
        if shape is None:
            reject(item, self.expected, self.hint)
        return shape.read(item, problems)

    def schema(self) -> Schema:
        return {"anyOf": [shape.schema() for shape in self.shapes.values()]}


def not_a_string(item: Node, key: object) -> NodeError:
    """Return the error for a key that is not a string."""
    return NodeError(item, f"a key must be a string, got {flow(key)}", "put the key in quotes")


def unknown_key(
    item: Node, key: object, known: Iterable[str], hint: str | None = None
) -> NodeError:
    """Return the error for an unknown key. Without a hint, it suggests known keys."""
    return NodeError(item, unknown("key", key), hint or suggest(str(key), known))


_EVERYWHERE = {"<<": "use `extends: base.yaml`: YAML 1.2 has no merge keys"}


@dataclass(frozen=True, slots=True)
class Key:
    """A key of a mapping: the validator of its value, and what it is for."""

    shape: Validator
    does: str
    required: bool = False


@dataclass(frozen=True, slots=True)
class Fields:
    """A mapping with known keys. With `rest`, other keys are allowed, and it reads their values."""

    keys: Mapping[str, Key]
    expected: str = "a mapping"
    hint: str = "write a mapping: {key: value}"
    hints: Mapping[str, str] = field(default_factory=dict)  # for certain unknown keys
    rest: Validator | None = None

    def read(self, item: Node, problems: Problems) -> dict[str, Any]:
        before = len(problems)
        values = self.partly(item, problems)
        if len(problems) > before:
            raise ReportedError
        return values

    def partly(self, item: Node, problems: Problems) -> dict[str, Any]:
        """Return the values that could be read. Problems are noted."""
        if not isinstance(item.value, dict):
            reject(item, self.expected, self.hint)
        values: dict[str, Any] = {}
        for key, child in item.value.items():
            with problems.catching():
                values[key] = self._shape(key, child).read(child, problems)
        for key, known in self.keys.items():
            if known.required and key not in item.value:
                problems.add(item, f"missing key '{key}'", f"add `{key}` ({known.does})")
        return values

    def _shape(self, key: object, node: Node) -> Validator:
        if isinstance(key, str) and key in self.keys:
            return self.keys[key].shape
        if self.rest is not None:
            if not isinstance(key, str):
                raise not_a_string(node, key)
            return self.rest
        hints = {**_EVERYWHERE, **self.hints}
        meant = str(key) if key in hints else nearest(str(key), (*self.keys, *self.hints))
        raise unknown_key(node, key, self.keys, hints.get(str(meant)))

    def schema(self) -> Schema:
        properties = {
            name: {**key.shape.schema(), "description": key.does} for name, key in self.keys.items()
        }
        required = [name for name, key in self.keys.items() if key.required]
        return {
            "type": "object",
            "properties": properties,
            **({"required": required} if required else {}),
            "additionalProperties": False if self.rest is None else self.rest.schema(),
        }
