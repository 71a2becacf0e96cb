"""The findings of a training in the formats of CI systems: those of all records in one list."""

from __future__ import annotations

from hookcli.formats.ci import github, junit, sarif
from hookcli.formats.run.selection import shown_checks
from hookcli.formats.view import View
from hookcli.report.training import TrainingReport


def render_junit(report: TrainingReport, view: View) -> str:
    """Return JUnit XML; the suite `run` has one test, which fails if the script raised."""
    return junit.render(*shown_checks(report, view))


def render_sarif(report: TrainingReport, view: View) -> str:
    """Return a SARIF log; a finding without a place is at the first line of the script."""
    return sarif.render(*shown_checks(report, view))


def render_github(report: TrainingReport, view: View) -> str:
    """Return commands for the stdout of a step of GitHub Actions."""
    return github.render(*shown_checks(report, view))
