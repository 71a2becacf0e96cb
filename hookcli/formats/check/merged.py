"""All findings of a training as one report, for whatever reads the checks of a report."""

from __future__ import annotations

from hookcli.formats.names import TRAINING
from hookcli.report.report import ErrorInfo, ModelInfo, Report, RunInfo, Totals
from hookcli.report.training import ScriptInfo, TrainingReport

COMMAND = TRAINING


def merged(report: TrainingReport) -> Report:
    """Return a report with the checks of the run and of all its records, and without their rows.

    An exception of the script is the report's error.
    """
    script, environment = report.script, report.environment
    first = report.records[0] if report.records else None
    return Report(
        schema="hookcli.report/1",
        command=COMMAND,
        status=report.status,
        environment=environment,
        model=ModelInfo(
            script.name,
            "python",
            place=first.model.place if first is not None and script.is_module else None,
        ),
        run=RunInfo("real", None, "train", "cpu" if first is None else first.run.device, 0),
        inputs=None,
        totals=Totals(0, 0, None),
        checks=(*report.checks, *(row for record in report.records for row in record.checks)),
        diagnoses=report.diagnoses,
        examined=report.examined,
        unexamined=report.unexamined,
        warnings=report.warnings,
        error=_error(script),
    )


def _error(script: ScriptInfo) -> ErrorInfo | None:
    if script.ended != "exception":
        return None
    kind, colon, message = (script.error or "Exception").partition(": ")
    if not colon:
        kind, message = script.error or "Exception", ""
    return ErrorInfo(script.name, None, None, (), kind, message, script.place)
