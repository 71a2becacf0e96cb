"""`hookcli render` with several files: the ranks of one training, also of several machines."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path

from hookcli.diagnosis.training import with_training_verdict
from hookcli.errors import RequestError
from hookcli.report.files import read_any_report
from hookcli.report.ranks.join_trainings import join_trainings
from hookcli.report.ranks.same_run import check_same_run
from hookcli.report.report import Report
from hookcli.report.training import TrainingReport
from hookcli.rules.catalogue import with_training_set
from hookcli.rules.judge_training import judge_training


def read_joined(files: Sequence[str]) -> TrainingReport:
    """Return the report of all ranks whose files are given, in any order, judged again.

    Raises
    ------
    RequestError : a file cannot be read, or they are not those of one run.
    """
    reports = check_same_run([(file, _read(file)) for file in files])
    first = min(reports, key=lambda report: report.tracking.rank)
    return with_training_verdict(_judged(join_trainings(reports), first))


def _judged(report: TrainingReport, first: TrainingReport) -> TrainingReport:
    """Judge the joined report; rules that only a configuration named keep their rows."""
    again = judge_training(report, with_training_set(()))
    records = []
    for record, before in zip(again.records, first.records, strict=True):
        known = {row.rule for row in record.checks}
        kept = tuple(row for row in before.checks if row.rule not in known)
        records.append(dataclasses.replace(record, checks=(*record.checks, *kept)))
    known = {row.rule for row in again.checks}
    kept = tuple(row for row in first.checks if row.rule not in known)
    return dataclasses.replace(again, records=tuple(records), checks=(*again.checks, *kept))


def _read(file: str) -> Report | TrainingReport:
    try:
        return read_any_report(file)
    except RequestError as error:
        if Path(file).is_file():  # it is cut off, such as by a copy that was interrupted
            error.hint = "copy the file again, or omit it: the other ranks are joined without it"
        raise
