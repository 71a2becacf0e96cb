"""A whole report or diff as JSON. A view never changes it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from hookcli.formats.results import Kind, Result, kind_of
from hookcli.formats.view import View
from hookcli.report.encode import (
    diff_to_json,
    run_diff_to_json,
    to_json,
    training_to_json,
    weights_to_json,
)

_WRITERS: Mapping[Kind, Callable[[Any], str]] = {
    "report": to_json,
    "run": training_to_json,
    "diff": diff_to_json,
    "rundiff": run_diff_to_json,
    "weights": weights_to_json,
    "weights_diff": weights_to_json,
}


def render(result: Result, view: View) -> str:
    """Return a document of the result's schema, such as hookcli.report/1."""
    return _WRITERS[kind_of(result)](result)
