"""The JSON border of the report: reading one back, and its JSON Schema. Imports pydantic."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from pydantic import TypeAdapter, ValidationError

from hookcli.report.report import SCHEMA, Report


@cache
def _adapter() -> TypeAdapter[Report]:
    return TypeAdapter(Report)


def prepare() -> None:
    """Make the reader ready, which takes a tenth of a second."""
    _adapter()


@contextmanager
def _uncollected() -> Iterator[None]:
    """No search for garbage: of the rows of a long report none is any, and there are millions."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


def from_json(text: str | bytes, *, strict: bool = False) -> Report:
    """Read a report. With `strict` no value is converted: "1" is not a number.

    Raises
    ------
    ValueError : the text is not a `hookcli.report/1` document; the message names the first place
        where it departs from one.

    """
    try:
        with _uncollected():
            return _adapter().validate_json(text, strict=strict)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(str(part) for part in first["loc"]) or "the document"
        raise ValueError(f"{where}: {first['msg']}") from None


_ABSENT = {"via", "timings", "passed_over"}  # left out of the JSON rather than written as null


def _close(node: dict[str, Any]) -> dict[str, Any]:
    """Forbid keys that are not named, and require those that are always written."""
    names = node.get("properties")
    if names is None:
        return node
    for default in names.values():
        default.pop("default", None)
    required = [name for name in names if name not in _ABSENT]
    return {**node, "required": required, "additionalProperties": False}


def json_schema() -> dict[str, Any]:
    """JSON Schema (draft 2020-12) that every report satisfies. Reading is more lenient than it."""
    return closed(_adapter().json_schema(mode="serialization"), SCHEMA, "hookcli report")


def closed(made: dict[str, Any], name: str, title: str) -> dict[str, Any]:
    """The schema of a document with its head, and no key beyond those that it names."""
    schema = _close(made)
    schema["$defs"] = {key: _close(node) for key, node in schema["$defs"].items()}
    head = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"https://hookcli.dev/schema/{name.replace('/', '-')}.json",
        "title": title,
    }
    return {**head, **{k: v for k, v in schema.items() if k != "title"}}
