"""The formats of a diff by name. Each is a function of a diff and a view."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from hookcli.comparison.diff import Diff
from hookcli.formats.diff import markdown, table
from hookcli.formats.view import View
from hookcli.report.encode import diff_to_json

Render: TypeAlias = Callable[[Diff, View], str]


def _json(diff: Diff, view: View) -> str:  # a view never changes the JSON
    """hookcli.diff/1."""
    return diff_to_json(diff)


FORMATS: dict[str, Render] = {
    "table": table.render,
    "json": _json,
    "markdown": markdown.render,
}
