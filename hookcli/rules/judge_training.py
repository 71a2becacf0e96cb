"""Judge a training: each of its records, and the training as a whole. Pure, as `judge` is."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterator, Sequence

from hookcli.report.findings import CheckRow
from hookcli.report.report import Report
from hookcli.report.training import TrainingReport
from hookcli.rules.catalogue import CATALOGUE
from hookcli.rules.judge import all_rows, fingerprint, pass_over, row_of
from hookcli.rules.select import in_record
from hookcli.rules.training.reading import reading
from hookcli.spec.checks import CheckSpec, Suppression


def judge_training(
    report: TrainingReport,
    checks: Sequence[CheckSpec],
    suppressions: Sequence[Suppression] = (),
    known: Collection[str] = (),
    *,
    compared: Sequence[CheckRow] = (),
) -> TrainingReport:
    """Return the report with rows for each record, and for the training as a whole.

    Rules that are made for one run judge a record over all of its sampled steps. If there are
    several records, targets begin with the record's name: "netG: conv1.weight". A suppression
    matches a target with or without it. `compared` are findings of comparisons with other
    trainings, which can be suppressed too.
    """
    several = len(report.records) > 1
    names = [record_name(record) for record in report.records] if several else []
    groups = [_of_record(record, report, checks) for record in report.records]
    whole = [*_of_run(report, checks), *compared]
    (*settled, of_run), unused = pass_over([*groups, whole], suppressions, known, names)
    records = tuple(
        dataclasses.replace(record, checks=tuple(rows))
        for record, rows in zip(report.records, settled, strict=True)
    )
    return dataclasses.replace(report, records=records, checks=(*of_run, *unused))


def all_checks(report: TrainingReport) -> tuple[CheckRow, ...]:
    """Return the rows of the training as a whole, followed by those of its records."""
    return (*report.checks, *(row for record in report.records for row in record.checks))


def record_name(record: Report) -> str:
    """Return the name of a record; "" if the report is not a record of a training."""
    return "" if record.training is None else record.training.record


def _of_record(
    record: Report, report: TrainingReport, checks: Sequence[CheckSpec]
) -> list[CheckRow]:
    rows = all_rows(reading(record, report), checks)
    if len(report.records) == 1:
        return rows
    name = record_name(record)
    return [
        dataclasses.replace(
            row,
            target=in_record(name, row.target),
            fingerprint=fingerprint("record", name, row.fingerprint),
        )
        for row in rows
    ]


def _of_run(report: TrainingReport, checks: Sequence[CheckSpec]) -> Iterator[CheckRow]:
    for check in checks:
        rule = CATALOGUE[check.rule]
        if rule.judge_run is None:
            continue
        for finding in rule.judge_run(report, rule.filled(check.options)):
            if finding.status == "fail" or not check.only_failures:
                yield row_of(rule, check, finding)
