"""The record of a run that has ended, still runs, or was killed: its report, or its journal."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hookcli.diagnosis.early import judged_so_far
from hookcli.errors import RequestError
from hookcli.report.files import read_saved
from hookcli.report.journal.journal_entries import SUFFIX, journal_of
from hookcli.report.journal.journal_reader import JournalReader
from hookcli.report.report import Report
from hookcli.report.training import TrainingReport
from hookcli.report.weights.weights_report import WeightsReport
from hookcli.sentences import missing_file
from hookcli.spec.checks import Suppression

_HINT = "name the file that `hookcli run -o FILE` writes"


def read_judged(file: str) -> Report | TrainingReport | WeightsReport:
    """Return a saved report. That of a journal is judged now, as no run has judged it.

    Raises
    ------
    RequestError : the file cannot be read, or is not a report or a journal.
    """
    report, files = read_saved(file), Journaled.of(file)
    if not isinstance(report, TrainingReport):
        return report
    if files.has_journal():
        reader = JournalReader(files.journal)
        reader.update()
        return judged_so_far(report, suppressions_of(reader.header))
    return judged_so_far(report) if report.script.status is None else report  # a journal on stdin


def suppressions_of(header: Mapping[str, Any]) -> tuple[Suppression, ...]:
    """Return the suppressions of the configuration of the run, as far as they are well-formed."""
    rows = header.get("suppressions")
    return tuple(
        Suppression(*row)
        for row in (rows if isinstance(rows, list) else [])
        if isinstance(row, list) and len(row) == 4 and all(isinstance(part, str) for part in row)
    )


@dataclass(frozen=True, slots=True)
class Journaled:
    """The output of a run and its journal, either of which may be named."""

    output: str
    journal: str

    @classmethod
    def of(cls, name: str) -> Journaled:
        """Return both paths for one of them."""
        if name.endswith(SUFFIX):
            return cls(name.removesuffix(SUFFIX), name)
        return cls(name, journal_of(os.path.realpath(name)))  # as a run names it

    def has_journal(self) -> bool:
        """Return whether the run has a journal, and so no report yet."""
        return os.path.isfile(self.journal)  # noqa: PTH113  # never raises

    def check(self) -> None:
        """Check that the run exists.

        Raises
        ------
        RequestError : neither the output nor the journal exists.
        """
        if not self.has_journal() and not os.path.exists(self.output):  # noqa: PTH110
            raise RequestError(missing_file(self.output), place=self.output, hint=_HINT)
