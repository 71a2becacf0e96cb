"""The page of each kind of result."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from hookcli.formats.results import Kind, Result, kind_of
from hookcli.formats.view import View

_FILES: dict[Kind, str] = {
    "report": "report_page",
    "run": "training_page",
    "diff": "diff_page",
    "rundiff": "run_diff_page",
    "weights": "weights_page",
    "weights_diff": "weights_diff_page",
}


def render(result: Result, view: View) -> str:
    """Return the page of a result; the view selects nothing, as the page has filters."""
    module = import_module(f"hookcli.formats.html.{_FILES[kind_of(result)]}")
    page: Callable[[Any, View], str] = module.render
    return page(result, view)
