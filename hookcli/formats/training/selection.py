"""What a view shows of a training: its records, or the rows of all that match a name."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from fnmatch import fnmatchcase

from hookcli.formats.check.merged import merged
from hookcli.formats.training.facts import training_of
from hookcli.formats.view import View
from hookcli.report.findings import CheckRow
from hookcli.report.report import Report
from hookcli.report.training import TrainingReport


def shown_records(report: TrainingReport, view: View) -> tuple[tuple[Report, ...], View]:
    """Return the records of a view, and the view of their rows.

    If `only` matches names of records, these are shown in whole; else it selects rows of all.
    """
    if view.only is None:
        return report.records, view
    named = tuple(record for record in report.records if _is_named(record, view.only))
    if not named:
        return report.records, view
    return named, dataclasses.replace(view, only=None)


def _is_named(record: Report, glob: str) -> bool:
    info = training_of(record)
    return any(fnmatchcase(name, glob) for name in (info.record, info.root, info.root_type))


def shown_checks(report: Report | TrainingReport, view: View) -> tuple[Report, View]:
    """Return the checks of a training as one report, and a view that shows all of it.

    The report of a run, whose checks a view selects later, stays as it is.
    """
    if isinstance(report, Report):
        return report, view
    records, inner = shown_records(report, view)
    if inner.only is not None:
        records = tuple(
            dataclasses.replace(record, checks=tuple(_matching(record, inner.only)))
            for record in records
        )
        inner = dataclasses.replace(inner, only=None)
    return merged(dataclasses.replace(report, records=records)), inner


def _matching(record: Report, glob: str) -> Iterator[CheckRow]:
    """Yield the checks whose target matches, with or without the name of the record before it."""
    name = f"{training_of(record).record}: "
    for row in record.checks:
        targets = (row.target, row.target.removeprefix(name))
        if row.status == "error" or any(fnmatchcase(target, glob) for target in targets):
            yield row
