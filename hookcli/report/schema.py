"""Reading a report from JSON, and its JSON Schema. Imports pydantic."""

from __future__ import annotations

import gc
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from functools import cache
from types import ModuleType
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError

from hookcli.report import events, report, steps, training
from hookcli.report.reading.long_reports import LONG, read_in_pieces
from hookcli.report.report import SCHEMA, Report
from hookcli.report.training import TRAINING_SCHEMA, TrainingReport
from hookcli.report.values import path_of
from hookcli.report.weights import weights_diff, weights_report
from hookcli.report.weights.weights_diff import WEIGHTS_DIFF_SCHEMA, WeightsDiff
from hookcli.report.weights.weights_report import WEIGHTS_SCHEMA, WeightsReport

T = TypeVar("T")


@cache
def _adapter() -> TypeAdapter[Report]:
    return TypeAdapter(Report)


@cache
def _training_adapter() -> TypeAdapter[TrainingReport]:
    return TypeAdapter(TrainingReport)


@cache
def _weights_adapter() -> TypeAdapter[WeightsReport]:
    return TypeAdapter(WeightsReport)


def prepare() -> None:
    """Create the reader, which takes a tenth of a second."""
    _adapter()


@contextmanager
def _uncollected() -> Iterator[None]:
    """Disable garbage collection: a long report has millions of rows, and none is garbage."""
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
    ValueError : the text is not a `hookcli.report/1` document; the message begins with the path of
        the first error.

    """
    data = text.encode() if isinstance(text, str) and len(text) > LONG else text
    if isinstance(data, bytes) and len(data) > LONG:
        with _uncollected():
            report = read_in_pieces(_adapter(), data, strict=strict)
        if report is not None:
            return report
    return _read(_adapter(), data, strict=strict)


def training_from_json(text: str | bytes, *, strict: bool = True) -> TrainingReport:
    """Read the report of a training script.

    Raises
    ------
    ValueError : the text is not a `hookcli.run/1` document; the message begins with the path of the
        first error.

    """
    return _read(_training_adapter(), text, strict=strict)


def weights_from_json(text: str | bytes) -> WeightsReport:
    """Read the report of weights.

    Raises
    ------
    ValueError : the text is not a `hookcli.weights/1` document; the message begins with the path of
        the first error.

    """
    return _read(_weights_adapter(), text, strict=True)


def _read(adapter: TypeAdapter[T], text: str | bytes, *, strict: bool) -> T:
    try:
        with _uncollected():
            return adapter.validate_json(text, strict=strict)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(path_of(first["loc"])) or "the document"
        raise ValueError(f"{where}: {first['msg']}") from None


def _omitted(modules: Iterable[ModuleType]) -> dict[str, set[str]]:
    """Return the fields that are omitted from the JSON instead of written as null, by class."""
    return {
        name: {field.name for field in fields(row) if field.metadata.get("absent")}
        for module in modules
        for name, row in vars(module).items()
        if isinstance(row, type) and is_dataclass(row)
    }


def _close(node: dict[str, Any], omitted: Mapping[str, set[str]]) -> dict[str, Any]:
    """Forbid unknown keys, and require those that are always written."""
    names = node.get("properties")
    if names is None:
        return node
    for default in names.values():
        default.pop("default", None)
    left_out = omitted.get(node.get("title", ""), set())
    required = [name for name in names if name not in left_out]
    return {**node, "required": required, "additionalProperties": False}


def json_schema() -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of every report. Reading is more lenient."""
    return closed(_adapter().json_schema(mode="serialization"), SCHEMA, "hookcli report")


def training_schema() -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of the report of every training script."""
    made = _training_adapter().json_schema(mode="serialization")
    return closed(made, TRAINING_SCHEMA, "hookcli run")


def weights_schema() -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of the report of weights."""
    made = _weights_adapter().json_schema(mode="serialization")
    return closed(made, WEIGHTS_SCHEMA, "hookcli weights", (weights_report,))


def weights_diff_schema() -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of the comparison of weights."""
    made = TypeAdapter(WeightsDiff).json_schema(mode="serialization")
    return closed(made, WEIGHTS_DIFF_SCHEMA, "hookcli weights diff", (weights_diff,))


def closed(
    made: dict[str, Any], name: str, title: str, more: Sequence[ModuleType] = ()
) -> dict[str, Any]:
    """Return the schema of a document with its header, which forbids unknown keys.

    `more` are the modules whose dataclasses are in the document, beside those of reports.
    """
    omitted = _omitted((report, events, steps, training, *more))
    schema = _close(made, omitted)
    schema["$defs"] = {key: _close(node, omitted) for key, node in schema["$defs"].items()}
    head = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"https://hookcli.dev/schema/{name.replace('/', '-')}.json",
        "title": title,
    }
    return {**head, **{k: v for k, v in schema.items() if k != "title"}}
