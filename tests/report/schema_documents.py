"""Valid documents with every field of a JSON Schema, and the ranges of their numbers."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from types import UnionType
from typing import Any, Union, get_args, get_origin

from pydantic import TypeAdapter

from hookcli.report.measured import gradient_path as paths, values as values_
from hookcli.report.reading import validity as known
from hookcli.report.schema import json_schema, training_schema

Path = tuple[Any, ...]
Node = dict[str, Any]

_STATISTICS = ("stats", "grad", "output_grad", "input_grad", "before", "after")
_OPEN: dict[str, Any] = dict.fromkeys(_STATISTICS, known.Statistics) | {
    "steps": known.StepStatistics,
    "inputs": known.OperatorInput,
}
_ANY = {"numel": 4, "plain": 0.5, "text": "x", "list": [1]}
_TIMINGS = {
    "unit": "us",
    "start": 1.5,
    "phases": [[0, "forward", 1, 9.5]],
    "calls": [[0, 0, 1.5, 9.0], [1, 0, 2.0, 3.0]],
    "nodes": [[1, "AddBackward0", 0, 4.0, 5.0]],
    "events": [[0, 2.5, 0]],
    "buckets": [[0, 0, 6.0, 7.0]],
    "steps": [[0, 1.0, 2.0]],
    "ranks": [{"rank": 1, "start": 2.0, "phases": [[0, "forward", 1, 9.5]], "calls": []}],
}


def generic(path: Path) -> Path:
    """A path without the positions in lists and the keys of open mappings."""
    return tuple("*" if isinstance(key, int) or key == "0" else key for key in path)


class Filler:
    """Makes the instance of a schema with all its properties, and an item of each kind.

    Of the alternatives of a property it takes the one with this number, or the last.
    """

    def __init__(self, schema: Node, alternative: int = 0) -> None:
        self._definitions: Node = dict(schema.get("$defs", {}))
        self._alternative = alternative
        self.numbers: set[int] = set()  # ids of the numeric nodes that are filled
        self.ranges: dict[Path, Node] = {}
        self.fixed: set[Path] = set()  # paths of words that are listed

    def fill(self, node: Node, path: Path = (), above: tuple[str, ...] = ()) -> Any:
        if name := _named(node):
            return self.fill(self._definitions[name], path, (*above, name))
        if "const" in node or "enum" in node:
            self.fixed.add(generic(path))
            return node["const"] if "const" in node else node["enum"][0]
        if found := branches(node):
            index = min(self._alternative, len(found) - 1)
            return self.fill(found[index if "$ref" in found[index] else 0], path, above)
        kind = node.get("type")
        if kind == "object":
            return self._object(node, path, above)
        if kind == "array":
            rows = node.get("prefixItems") or self._items(node["items"], above)
            return [self.fill(row, (*path, i), above) for i, row in enumerate(rows)]
        if kind in {"integer", "number"}:
            self.numbers.add(id(node))
            self.ranges[generic(path)] = node
            return max(0, node.get("minimum", 0)) if kind == "integer" else 0.5
        return {"string": "a", "boolean": True, "null": None}.get(str(kind), 0.5)

    def filled_by_type(self, kind: Any, path: Path) -> Any:
        """The instance of a type that the schema leaves open."""
        schema = TypeAdapter(kind).json_schema(mode="serialization")
        self._definitions |= schema.pop("$defs", {})
        return self.fill(schema, path)

    def _items(self, node: Node, above: tuple[str, ...]) -> list[Node]:
        """A node for each kind of item; none if the same kind is around it."""
        name = _named(node)
        kinds = branches(self._definitions[name] if name else node)
        kinds = [one for one in kinds if "$ref" in one] or [node]
        return [one for one in kinds if _named(one) not in above]

    def _object(self, node: Node, path: Path, above: tuple[str, ...]) -> Any:
        if "properties" in node:
            named = node["properties"].items()
            return {name: self.fill(child, (*path, name), above) for name, child in named}
        opened = next((key for key in path[:-3:-1] if key in _OPEN), None)
        inner = node.get("additionalProperties")
        if not isinstance(inner, dict):
            if opened is not None:
                return self.filled_by_type(_OPEN[opened], path)
            return copy.deepcopy(_TIMINGS if path[-1] == "timings" else _ANY)
        if _named(inner) in above:
            return {}
        return {"0": self.fill(inner, (*path, "0"), above)}


def _named(node: Node) -> str:
    """The definition that a node refers to, or ""."""
    return str(node.get("$ref", "")).rpartition("/")[2]


def branches(node: Node) -> list[Node]:
    """The alternatives of a node, without null."""
    return [one for one in node.get("anyOf", ()) if one.get("type") != "null"]


def numeric_nodes(node: Any) -> Iterator[Node]:
    """Each node of a schema that is a number."""
    if isinstance(node, dict):
        if str(node.get("type")) in {"integer", "number"}:  # a property may be named type
            yield node
        for child in node.values():
            yield from numeric_nodes(child)
    elif isinstance(node, list):
        for child in node:
            yield from numeric_nodes(child)


def report(filler: Filler, node: Node, path: Path = ()) -> Node:
    """A report that is valid beyond its schema: the order of calls, edges, steps, measurements."""
    made: Node = filler.fill(node, path)
    outer = made["layers"][0]
    outer.update(order=0, parent=None, depth=0, name="")
    made["layers"] = [outer, {**copy.deepcopy(outer), "order": 1, "parent": 0, "name": "a"}]
    made["edges"][0].update(source=0, target=1)
    made["training"].update(total=1, every=1)
    row = made["checks"][0]
    made["checks"] = [
        {**copy.deepcopy(row), "status": status} for status in ("pass", "fail", "skip", "error")
    ]
    made["measurements"] = [
        {**made["measurements"][0], "probe": probe, "target": target, "value": value}
        for probe, target, value in _measured(filler, (*path, "measurements", 0, "value"))
    ]
    return made


def _alternatives(kind: Any) -> tuple[Any, ...]:
    """The types of a union; a type with a range is one."""
    return get_args(kind) if get_origin(kind) in {Union, UnionType} else (kind,)


def _measured(filler: Filler, path: Path) -> Iterator[tuple[str, str, Any]]:
    """A measurement of each probe, and of each kind that its value has."""
    for probe in [name for name in known._TYPES if name not in {"non_finite", "unreached"}]:
        of_target, alone = (known.type_of(probe, target, {}) for target in ("a", ""))
        for target, kind in (
            {"a": of_target, "": alone}.items() if of_target != alone else (("a", of_target),)
        ):
            for branch in _alternatives(kind):
                if branch is not type(None):
                    yield probe, target, filler.filled_by_type(branch, path)
    for kind in (values_.NonFinite, values_.NonFiniteCall, values_.NonFiniteGradient):
        value = filler.filled_by_type(kind, path)
        at = {"NonFinite": "parameter", "NonFiniteCall": "output", "NonFiniteGradient": "gradient"}
        yield "non_finite", "a", {**value, "at": at[kind.__name__]}
    for why, kind in (*paths._LOST.items(), ("cut", paths.LostAtOperator)):
        yield "unreached", "a", {**filler.filled_by_type(kind, path), "why": why}


def documents() -> Iterator[tuple[str, Node, Filler, Node]]:
    """A name, a document, what made it, and its schema: for each command and alternative."""
    schema = json_schema()
    for command in ("inspect", "grads", "trace", "check"):
        filler = Filler(schema)
        yield command, {**report(filler, schema), "command": command}, filler, schema
    filler = Filler(schema, alternative=1)
    yield "streamed", {**report(filler, schema), "command": "trace"}, filler, schema
    schema = training_schema()
    filler = Filler(schema)
    made = filler.fill(schema)
    record = report(filler, schema["$defs"]["Report"], ("records", 0))
    made["records"] = [{**record, "command": "run"}]
    yield "run", made, filler, schema


def values(value: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Each value of a document that contains no other, with its path."""
    items: Any = value.items() if isinstance(value, dict) else ()
    items = enumerate(value) if isinstance(value, list) else items
    if not isinstance(value, dict | list):
        yield path, value
    for key, inner in items:
        yield from values(inner, (*path, key))
