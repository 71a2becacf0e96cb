"""What a view shows of a training: its records, or the rows of all that match a name."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from fnmatch import fnmatchcase

from hookcli.console import escape
from hookcli.errors import RequestError
from hookcli.formats.check.merged import COMMAND, merged
from hookcli.formats.names import columns_of, common, sorts_of
from hookcli.formats.order import sort_key
from hookcli.formats.run.facts import training_of
from hookcli.formats.view import View
from hookcli.report.findings import CheckRow
from hookcli.report.report import Report
from hookcli.report.training import TrainingReport
from hookcli.text import listed_hint


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


def shown_checks(report: TrainingReport, view: View) -> tuple[Report, View]:
    """Return the checks of a view as one report, and a view that shows all of it."""
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


def check_view(report: TrainingReport, view: View) -> None:
    """Check that a training has the columns and the sort key of the view.

    Raises
    ------
    RequestError : a column or the sort key is unknown.
    """
    commands = (COMMAND, *dict.fromkeys(record.command for record in report.records))
    known = {name: None for command in commands for name in columns_of(command)}
    for name in view.asked or ():
        if name not in known:
            raise RequestError(
                f"unknown column '{escape(name)}' of {COMMAND}",
                place=f"--columns {','.join(view.columns)}",
                hint=listed_hint(name, known, common(known)),
            )
    sorts = dict.fromkeys(name for command in commands for name in sorts_of(command))
    if view.sort is not None and sort_key(view.sort) not in sorts:
        raise RequestError(
            f"a report of {COMMAND} cannot be sorted by '{escape(sort_key(view.sort))}'",
            place=f"--sort {view.sort}",
            hint=listed_hint(sort_key(view.sort), sorts, common(sorts)),
        )
