"""The picture of each kind of report: the command decides what it shows."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from hookcli.formats.view import View, check_view
from hookcli.report.report import Report
from hookcli.report.training import TrainingReport


def render(report: Report | TrainingReport, view: View) -> str:
    """Return gradients as bars or heat maps, or the diagram of the modules that ran.

    Raises
    ------
    RequestError : the view has a column or sort key that the report does not support.
    """
    check_view(report, view)
    module = import_module(f"hookcli.formats.svg.{_file(report)}")
    picture: Callable[[Any, View], str] = module.render
    return picture(report, view)


def _file(report: Report | TrainingReport) -> str:
    if not isinstance(report, Report):
        return "training"
    return "gradients" if report.command == "grads" else "module_diagram"
