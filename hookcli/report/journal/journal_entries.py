"""The entries of a journal: lines of JSON, of which each is complete or the last one.

The first is the header. A `report` is the training so far, without the rows of its steps, and
replaces the one before it; one with `adds` has some of the records only, which are added to those
before it. `steps` are rows that were added since. The last entry of a script that ended has the
whole report, and is `final`. Each entry has the time `at` which it was written, in
seconds since 1970, and for how many seconds the training was `up`, whatever the clock does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from hookcli.report.encode import to_line, training_to_json
from hookcli.report.steps import StepRow

if TYPE_CHECKING:
    from hookcli.report.training import TrainingReport

JOURNAL_SCHEMA = "hookcli.journal/1"
SUFFIX = ".journal"
MOST_ROWS = 20_000  # of a record: as many as its report has


def journal_of(output: str) -> str:
    """Return the path of the journal of a run with this output."""
    return f"{output}{SUFFIX}"


def asks_of(journal: str) -> str:
    """Return the path of the folder in which a running training is asked for steps."""
    return f"{journal}.asks"


def header_line(values: Mapping[str, Any]) -> bytes:
    """Return the first entry."""
    return to_line({"schema": JOURNAL_SCHEMA, **values}).encode()


def report_line(
    report: TrainingReport, numbers: Sequence[int], *, at: float, up: float, adds: bool = False
) -> bytes:
    """Return the entry of a training so far; `numbers` are those of its records in this journal.

    With `adds`, the report has some of the records, and the others are as in the entry before.
    """
    records = tuple(
        record
        if record.training is None
        else replace(record, training=replace(record.training, steps=()))
        for record in report.records
    )
    entry: dict[str, Any] = {"at": at, "up": up, "numbers": list(numbers)}
    if adds:
        entry["adds"] = True
    return to_line({**entry, "report": replace(report, records=records)}).encode()


def steps_line(
    number: int, counts: Mapping[str, int], rows: Sequence[StepRow], *, at: float, up: float
) -> bytes:
    """Return the entry of the steps that a record made; `counts` are fields of its training."""
    entry = {"at": at, "up": up, "record": number, **counts}
    return to_line({**entry, "steps": rows}).encode()


def final_line(report: TrainingReport, *, at: float, up: float) -> bytes:
    """Return the last entry, of a script that has ended."""
    text = training_to_json(report).replace("\n", " ")  # strings have none
    return f'{{"at": {at!r}, "up": {up!r}, "final": {text}}}\n'.encode()


def note_line(values: Mapping[str, Any], *, at: float, up: float) -> bytes:
    """Return an entry about the training: that it was asked for steps, or has answered."""
    return to_line({"at": at, "up": up, **values}).encode()
