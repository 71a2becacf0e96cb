"""One run that is followed: what its journal has so far, and how it goes."""

from __future__ import annotations

import platform
import time
from collections import deque
from enum import Enum

from hookcli.cli.training.saved_journal import Journaled, suppressions_of
from hookcli.diagnosis.early import judged_so_far
from hookcli.errors import RequestError
from hookcli.report.files import read_any_report
from hookcli.report.journal.journal_reader import JournalReader
from hookcli.report.report import Report
from hookcli.report.training import TrainingReport

_WINDOW = 30.0  # seconds over which the speed is measured
_QUIET = 60.0  # seconds for which a script that has ended may be judged


class RunState(Enum):
    """How a run goes."""

    STARTING = "starting"
    RUNNING = "running"
    ENDED = "ended"
    KILLED = "killed"


class FollowedRun:
    """A run by the name of its output or of its journal. `update` reads what is new."""

    def __init__(self, name: str) -> None:
        self.files = Journaled.of(name)
        self.files.check()
        self.state = RunState.STARTING
        self.report: TrainingReport | None = None
        self._reader = JournalReader(self.files.journal)
        self._speeds: deque[tuple[float, int]] = deque()  # how long it was up, and its steps then

    @property
    def script(self) -> str:
        """The name of the script, as far as it is known."""
        if self.report is not None:
            return self.report.script.name
        return str(self._reader.header.get("script", self.files.output))

    def update(self) -> bool:
        """Read what is new; return whether there was anything, or the state has changed.

        Raises
        ------
        RequestError : a file cannot be read, or is not that of a training.
        """
        before = self.state
        if not self.files.has_journal():
            self._read_report()
            return self.state != before
        is_alive = self._reader.is_running()  # before the last entries are read
        try:
            is_new = self._reader.update()
        except RequestError:
            if self.files.has_journal():  # it has not ended just now
                raise
            return self.update()
        self.state = RunState.RUNNING if is_alive or self._may_be_alive() else RunState.KILLED
        if is_new or self.state != before:
            self._make_report()
        return is_new or self.state != before

    def goes_on(self) -> bool:
        """Return whether the process of the run lives, without reading what is new."""
        return self._reader.is_running()

    def _may_be_alive(self) -> bool:
        """Return whether a script that has ended is being judged, or runs on another machine.

        Nothing is known of the processes of that machine: the age of the last entry tells.
        """
        if self._reader.is_final:
            return (self.age() or 0.0) < _QUIET
        return self._reader.header.get("host") != platform.node()

    def _read_report(self) -> None:
        report = read_any_report(self.files.output)
        if isinstance(report, Report):
            raise RequestError(
                f"{self.files.output} is not the report of a training script",
                place=self.files.output,
                hint="name the output of `hookcli run`",
            )
        self.report, self.state = report, RunState.ENDED

    def _make_report(self) -> None:
        try:
            is_running = self.state is RunState.RUNNING
            report = self._reader.report("running" if is_running else "unknown")
        except RequestError:
            if not self._reader.is_empty():
                raise
            self.report = None
            if self.state is RunState.RUNNING:
                self.state = RunState.STARTING
            return
        self.report = judged_so_far(report, suppressions_of(self._reader.header))
        self._speeds.append((self._reader.up, self.steps()))
        while len(self._speeds) > 2 and self._speeds[-1][0] - self._speeds[0][0] > _WINDOW:
            self._speeds.popleft()

    def steps(self) -> int:
        """Return the number of steps so far, of the record with most."""
        records = () if self.report is None else self.report.records
        return max((r.training.total for r in records if r.training is not None), default=0)

    def speed(self) -> float | None:
        """Return the steps a second over the last entries, else of the whole training."""
        if not self._speeds or self.state is RunState.ENDED:
            return None
        (begin, first), (end, last) = self._speeds[0], self._speeds[-1]
        if last > first and end > begin:
            return (last - first) / (end - begin)
        return last / end if last and end > 0 else None

    def age(self) -> float | None:
        """Return the seconds since the last entry; None if the clock has been set back since."""
        age = time.time() - self._reader.at
        return age if age >= 0 else None
