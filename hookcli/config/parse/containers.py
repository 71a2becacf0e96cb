"""Shapes that hold others: lists, mappings, and one of several by type."""

# ruff: noqa: D102  # Shape says what `wants`, `read` and `schema` are, for all of them

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from hookcli.config.parse.nodes import Node, NodeError, Problems, ReportedError, suggestion
from hookcli.config.parse.scalars import Schema, Validator, misfit


@dataclass(frozen=True, slots=True)
class ListOf:
    """A list; with `one`, also a single one without the brackets. Gives a tuple."""

    of: Validator
    one: bool = False
    least: int = 0

    @property
    def wants(self) -> str:
        return f"{self.of.wants}, or a list of these" if self.one else "a list"

    def read(self, item: Node, problems: Problems) -> tuple[Any, ...]:
        if not isinstance(item.value, list):
            if self.one:
                return (self.of.read(item, problems),)
            misfit(item, self.wants, "write a list: [a, b]")
        if len(item.value) < self.least:
            raise NodeError(item, f"{item.label} is an empty list", "fill it, or leave it out")
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
    """A shape for each type of value that may stand there, by YAML's types."""

    shapes: Mapping[type, Validator]
    wants: str
    hint: str

    def read(self, item: Node, problems: Problems) -> Any:
        shape = self.shapes.get(type(item.value))
        if shape is None:
            misfit(item, self.wants, self.hint)
        return shape.read(item, problems)

    def schema(self) -> Schema:
        return {"anyOf": [shape.schema() for shape in self.shapes.values()]}


_EVERYWHERE = {"<<": "there are no merge keys in YAML 1.2: extends: base.yaml includes a file"}


@dataclass(frozen=True, slots=True)
class Key:
    """A key of a mapping: what may stand there, and what it is for."""

    shape: Validator
    does: str
    required: bool = False


@dataclass(frozen=True, slots=True)
class Fields:
    """A mapping with keys of known names; with `rest`, others have that shape."""

    keys: Mapping[str, Key]
    wants: str = "a mapping"
    hint: str = "write a mapping: {key: value}"
    hints: Mapping[str, str] = field(default_factory=dict)  # for keys that are not taken
    rest: Validator | None = None

    def read(self, item: Node, problems: Problems) -> dict[str, Any]:
        before = len(problems)
        values = self.partly(item, problems)
        if len(problems) > before:
            raise ReportedError
        return values

    def partly(self, item: Node, problems: Problems) -> dict[str, Any]:
        """What could be read; the faults are noted."""
        if not isinstance(item.value, dict):
            misfit(item, self.wants, self.hint)
        values: dict[str, Any] = {}
        for key, child in item.value.items():
            with problems.catching():
                values[key] = self._shape(key, child).read(child, problems)
        for key, known in self.keys.items():
            if known.required and key not in item.value:
                hint = f"add {key}: {known.does}"
                problems.add(item, f"{item.label} has no '{key}'", hint)
        return values

    def _shape(self, key: object, node: Node) -> Validator:
        if isinstance(key, str) and key in self.keys:
            return self.keys[key].shape
        if self.rest is not None and isinstance(key, str):
            return self.rest
        hints = {**_EVERYWHERE, **self.hints}
        hint = hints.get(str(key)) or suggestion(str(key), self.keys, "keys are")
        raise NodeError(node, f"there is no key '{key}' here", hint)

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
