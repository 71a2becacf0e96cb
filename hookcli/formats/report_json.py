"""A whole report or diff as JSON. A view never changes it."""

from __future__ import annotations

from hookcli.comparison.diff import Diff
from hookcli.comparison.trainings.training_diff import TrainingDiff
from hookcli.formats.view import View
from hookcli.report.encode import diff_to_json, run_diff_to_json, to_json, training_to_json
from hookcli.report.report import Report
from hookcli.report.training import TrainingReport


def render(report: Report, view: View) -> str:
    """Return the report as a hookcli.report/1 document."""
    return to_json(report)


def render_diff(diff: Diff, view: View) -> str:
    """Return the diff as a hookcli.diff/1 document."""
    return diff_to_json(diff)


def render_training(report: TrainingReport, view: View) -> str:
    """Return the report of a training script as a hookcli.run/1 document."""
    return training_to_json(report)


def render_run_diff(diff: TrainingDiff, view: View) -> str:
    """Return the comparison of two trainings as a hookcli.rundiff/1 document."""
    return run_diff_to_json(diff)
