"""All findings of a training as one report, for whatever reads the checks of a report."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

from hookcli.report.findings import CheckRow
from hookcli.report.report import ErrorInfo, ModelInfo, Report, RunInfo, Totals
from hookcli.report.training import ScriptInfo, TrainingReport

COMMAND = "run"


def merged(report: TrainingReport) -> Report:
    """Return a report with the checks of the run and of all its records, and without their rows.

    If there are several records, the target of a record's check begins with the record's name. An
    exception of the script is the report's error.
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
        checks=(*report.checks, *_checks(report)),
        diagnoses=report.diagnoses,
        examined=report.examined,
        warnings=report.warnings,
        error=_error(script),
    )


def _checks(report: TrainingReport) -> Iterator[CheckRow]:
    several = len(report.records) > 1
    for record in report.records:
        for row in record.checks:
            if several and record.training is not None:
                name = record.training.record
                target = f"{name}: {row.target}" if row.target else name
                row = dataclasses.replace(row, target=target)  # the same finding
            yield row


def _error(script: ScriptInfo) -> ErrorInfo | None:
    if script.ended != "exception":
        return None
    kind, colon, message = (script.error or "Exception").partition(": ")
    if not colon:
        kind, message = script.error or "Exception", ""
    return ErrorInfo(script.name, None, None, (), kind, message, script.place)
