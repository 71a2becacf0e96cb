"""Reports as strict JSON, in field order, with one row per line so that `diff` can compare them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from hookcli.outputs.escapes import json_text
from hookcli.report.report import Report
from hookcli.report.steps import TrainingInfo

if TYPE_CHECKING:
    from hookcli.comparison.diff import Diff
    from hookcli.comparison.training.training_diff import TrainingDiff
    from hookcli.report.training import TrainingReport
    from hookcli.report.weights.weights_diff import WeightsDiff
    from hookcli.report.weights.weights_report import WeightsReport


_TOP = (
    "schema", "command", "status", "environment", "timings", "model", "run", "inputs", "layers",
    "edges", "uncalled", "parameters", "buffers", "existing_hooks", "events", "measurements",
    "checks", "distributed", "memory", "training", "totals", "diagnoses", "examined",
    "unexamined", "warnings", "error",
)  # fmt: skip


@cache
def _names(kind: Any) -> tuple[tuple[str, bool], ...]:
    return tuple((f.name, bool(f.metadata.get("absent"))) for f in fields(kind))


def _shallow(row: Any) -> dict[str, Any]:
    """Return one level of a dataclass as a dict; json calls this for the values inside."""
    if not is_dataclass(row) or isinstance(row, type):
        raise TypeError(f"a report cannot contain {type(row).__name__}")
    values = ((name, getattr(row, name), optional) for name, optional in _names(type(row)))
    return {name: value for name, value, optional in values if not (optional and value is None)}


# Created at import: a model may replace the functions of `json`.
_encode = json.JSONEncoder(default=_shallow, allow_nan=False, separators=(", ", ": ")).encode


def _dumps(value: Any) -> str:
    return json_text(_encode(value))


# Documents inside a document, whose keys have lines of their own, with the order of these.
_NESTED: dict[type, Sequence[str]] = {
    Report: _TOP,
    TrainingInfo: [field.name for field in fields(TrainingInfo)],
}


def _lines(
    document: Any,
    order: Sequence[str],
    margin: str = "",
    nested: Mapping[type, Sequence[str]] = _NESTED,
) -> Iterator[str]:
    """Yield the lines of a document between its braces: a line for each key, or for each row."""
    top = _shallow(document)
    keys = [key for key in order if key in top]
    for key in keys:
        end = "" if key == keys[-1] else ","
        value = top[key]
        start = f'{margin}  "{key}": '
        if isinstance(value, tuple) and value and not isinstance(value[0], str | int):
            yield f"{start}["
            last = len(value) - 1
            for i, row in enumerate(value):
                yield from _item(row, "" if i == last else ",", f"{margin}    ", nested)
            yield f"{margin}  ]{end}"
        elif type(value) in nested:
            yield f"{start}{{"
            yield from _lines(value, nested[type(value)], f"{margin}  ", nested)
            yield f"{margin}  }}{end}"
        else:
            yield f"{start}{_dumps(value)}{end}"


def _item(row: Any, end: str, margin: str, nested: Mapping[type, Sequence[str]]) -> Iterator[str]:
    """Yield the line of a row, or the lines of a document in a list."""
    order = nested.get(type(row))
    if order is None:
        yield f"{margin}{_dumps(row)}{end}"
        return
    yield f"{margin}{{"
    yield from _lines(row, order, margin, nested)
    yield f"{margin}}}{end}"


def to_line(row: Any) -> str:
    """Return one row as a line of JSON."""
    return _dumps(row) + "\n"


def to_json(report: Report) -> str:
    """Return a report as strict JSON that ends in a newline."""
    return "\n".join(["{", *_lines(report, _TOP), "}", ""])


def diff_to_json(diff: Diff) -> str:
    """Return a diff as strict JSON that ends in a newline."""
    order = [field.name for field in fields(diff)]
    return "\n".join(["{", *_lines(diff, order), "}", ""])


def training_to_json(report: TrainingReport) -> str:
    """Return the report of a training script as strict JSON that ends in a newline.

    A record is written as `to_json` writes it, indented; each step has a line.
    """
    return "\n".join(["{", *_lines(report, [field.name for field in fields(report)]), "}", ""])


def weights_to_json(report: WeightsReport | WeightsDiff) -> str:
    """Return the report or the comparison of weights as strict JSON that ends in a newline.

    Each tensor has a line.
    """
    return "\n".join(["{", *_lines(report, [field.name for field in fields(report)]), "}", ""])


def run_diff_to_json(diff: TrainingDiff) -> str:
    """Return the comparison of two trainings as strict JSON that ends in a newline.

    Each step and each parameter of a record has a line.
    """
    order = [field.name for field in fields(diff)]
    nested = {type(row): [field.name for field in fields(row)] for row in diff.records}
    return "\n".join(["{", *_lines(diff, order, nested=nested), "}", ""])
