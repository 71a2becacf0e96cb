"""Reports as strict JSON, in field order, with one row per line so that `diff` can compare them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import fields, is_dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hookcli.comparison.diff import Diff
    from hookcli.report.report import Report


_TOP = (
    "schema", "command", "status", "environment", "timings", "model", "run", "inputs", "layers",
    "uncalled", "parameters", "buffers", "existing_hooks", "events", "measurements", "checks",
    "distributed", "memory", "training", "totals", "diagnoses", "examined", "warnings", "error",
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
    return spell_surrogates(_encode(value))


def _lines(document: Any, order: Sequence[str]) -> Iterator[str]:
    top = _shallow(document)
    keys = [key for key in order if key in top]
    for key in keys:
        end = "" if key == keys[-1] else ","
        value = top[key]
        if isinstance(value, tuple) and value and not isinstance(value[0], str):
            yield f'  "{key}": ['
            last = len(value) - 1
            for i, row in enumerate(value):
                yield f"    {_dumps(row)}{'' if i == last else ','}"
            yield f"  ]{end}"
        else:
            yield f'  "{key}": {_dumps(value)}{end}'


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


# A lone surrogate in JSON with ASCII escapes, whose backslash is not escaped.
_LONE = re.compile(
    r"(?<!\\)((?:\\\\)*)"
    r"(?:(\\ud[89ab][0-9a-f]{2}\\ud[c-f][0-9a-f]{2})|\\(ud[89a-f][0-9a-f]{2}))"
)


def spell_surrogates(json_text: str) -> str:
    """Write each lone surrogate as the six characters of its escape: strict readers refuse one."""
    if "\\ud" not in json_text:
        return json_text
    return _LONE.sub(lambda m: m[1] + (m[2] or "\\\\" + m[3]), json_text)
