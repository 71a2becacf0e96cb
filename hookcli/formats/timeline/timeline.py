"""The timeline of each kind of report."""

from __future__ import annotations

from hookcli.formats.view import View
from hookcli.report.report import Report
from hookcli.report.training import TrainingReport


def render(report: Report | TrainingReport, view: View) -> str:
    """Return the timeline of a run, or of a training.

    Raises
    ------
    RequestError : the report has no timings, or invalid ones.
    """
    if isinstance(report, Report):
        from hookcli.formats.timeline import perfetto

        return perfetto.render(report, view)
    from hookcli.formats.timeline import training

    return training.render(report, view)
