"""Writes what was observed to the journal, at the ends of steps, in a small part of the time."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from typing import Any

from hookcli.handler_errors import is_of_handler
from hookcli.report.journal.journal_entries import (
    final_line,
    note_line,
    report_line,
    steps_line,
)
from hookcli.report.journal.journal_file import JournalFile
from hookcli.report.steps import StepRow
from hookcli.report.training import TrainingReport
from hookcli.spec.request import Spec
from hookcli.spec.training import JournalPlace
from hookcli.training.journal.asked_steps import AskedSteps
from hookcli.training.record.records import Record
from hookcli.training.script.say import say

_EVERY = 1.0  # seconds between entries, at the end of a step
_RARE = 30.0  # seconds between reports of the training so far, if no step is observed in detail
_FREE = 0.1  # seconds that reports of the training so far may always take
_SHARE = 0.01  # of the time, beyond these
_AFTER_FAILURE = 10.0  # seconds until it is tried again to write
_SPARE = 4 << 20  # bytes by which the journal grows before it is written again, shorter
_MOST_NOTES = 64  # about questions, that are written again
_KEPT = 60.0  # seconds for which they are
_GROWTH = 3  # times its size when it was last written so

_clock, _wall = time.perf_counter, time.time  # the script may replace them


class TrainingJournal:
    """The journal of one training.

    The rows of steps are appended each second and at each step in detail. The report so far, which
    has the figures of layers, is appended as often as that takes a hundredth of the time, and the
    part of a record when it gets its first step in detail. What is older is dropped when the file
    is four times as large as it has to be, so that its size is bounded as that of the report is.
    `report` makes the report, of all records or of those that it is given.
    """

    def __init__(
        self,
        place: JournalPlace,
        spec: Spec,
        records: Callable[[], Sequence[Record]],
        report: Callable[[Collection[Record] | None], TrainingReport],
        answer: Callable[[str, Spec], TrainingReport],
    ) -> None:
        self._file = JournalFile(place.path, place.handle)
        self._header = place.header
        self._records, self._report, self._answer = records, report, answer
        self._began = _clock()
        self._due = self._began + _EVERY
        self._numbers: dict[int, int] = {}  # of records, by their ids
        self._known: set[int] = set()  # numbers of records that the last report has
        self._written: dict[int, int] = {}  # the first step that may have changed, by number
        self._reported = self._began
        self._cost = self._spent = 0.0  # seconds of the last report, and of all
        self._most = _SPARE  # bytes of the file, beyond which it is written again
        self._latest: list[bytes] = []  # the last whole report, and what was added to it
        # Counts and the last row that were written, by number.
        self._ends: dict[int, tuple[int, int, tuple[StepRow, ...]]] = {}
        self._has_failed = False
        self._asked = AskedSteps(place, spec, records, self._note)
        self._notes: deque[tuple[float, bytes]] = deque(maxlen=_MOST_NOTES)  # with their times
        self.is_open = True

    def begin(self) -> None:
        """Write the first report, which has no record."""
        self._safely(lambda: self._append(self._report_entry()))

    def look_for_asks(self) -> None:
        """Look whether somebody asks for steps, before it is decided whether the next is sampled.

        Each step calls it.
        """
        if self.is_open:
            self._safely(self._asked.look)

    def step_ended(self, ended: float, *, sampled: bool) -> None:
        """Write what is new, if it is time; `ended` is by time.perf_counter. Each step calls it."""
        if (sampled or ended >= self._due) and self.is_open:
            self._safely(lambda: self._flush(sampled=sampled))
            self._safely(self._asked.step_ended)

    def _safely(self, write: Callable[[], object]) -> None:
        """Call a function. An error of it ends the journal, and not the observation.

        What a handler of a signal raises meanwhile is the script's own, and is raised.
        """
        try:
            write()
        except Exception as error:
            if is_of_handler(error):
                raise
            self.stop()
            say(f"hookcli: the journal ends, training goes on: {type(error).__name__}: {error}")

    def _flush(self, *, sampled: bool) -> None:
        """Write the rows that are new, and the report if it is time for it."""
        now = _clock()
        records = [record for record in self._records() if record.steps]
        before = dict(self._written)
        is_written = False
        try:
            is_written = self._write_new(records, now, sampled=sampled)
        finally:
            if not is_written:  # what is missing is written later
                self._written = before
                self._known.clear()
                self._ends.clear()
        self._due = _clock() + (_EVERY if is_written else _AFTER_FAILURE)

    def _write_new(self, records: Sequence[Record], now: float, *, sampled: bool) -> bool:
        """Write what is new of these records; return whether that was possible."""
        entries = [self._rows_of(record, self._number(record)) for record in records]
        since = now - self._reported
        new = [record for record in records if self._number(record) not in self._known]
        is_affordable = self._spent + self._cost < _FREE + _SHARE * (now - self._began)
        if is_affordable and (new or sampled or since > _RARE):
            entries.append(self._report_entry())
        elif new:
            entries.append(self._report_entry(new))
        return self._append(b"".join(entries))

    def _number(self, record: Record) -> int:
        return self._numbers.setdefault(id(record), len(self._numbers))

    def _rows_of(self, record: Record, number: int, *, whole: bool = False) -> bytes:
        """Return the entry of the steps of a record since the last one."""
        steps = record.steps
        rows = steps.rows_from(0 if whole else self._written.get(number, 0))
        if rows:
            self._written[number] = rows[-1].step  # its update may be measured later
        state = steps.total, steps.skipped, rows[-1:]
        if not whole and self._ends.get(number) == state:
            return b""
        self._ends[number] = state
        counts = {
            "total": steps.total,
            "skipped": steps.skipped,
            "unwatched": steps.unwatched,
            "every": steps.every,
        }
        return steps_line(number, counts, rows, at=_wall(), up=self._up())

    def _up(self) -> float:
        return round(_clock() - self._began, 6)

    def _report_entry(self, only: Collection[Record] | None = None) -> bytes:
        """Return the entry of the report so far, or of the records `only`, and note its time."""
        begin = _clock()
        report = self._report(only)
        by_name = {record.name: self._number(record) for record in self._records()}
        numbers = [by_name[info.record] for r in report.records if (info := r.training) is not None]
        adds = only is not None
        entry = report_line(report, numbers, at=_wall(), up=self._up(), adds=adds)
        self._latest = [*(self._latest if adds else ()), entry]
        self._known.update(numbers)
        ended = _clock()
        if not adds:
            self._reported, self._cost = ended, ended - begin
        self._spent += ended - begin
        return entry

    def _note(self, values: Mapping[str, Any], *, answered: bool, spec: Spec | None = None) -> None:
        """Write an entry about a question; the answer is in the report and the rows before it.

        With a `spec`, of hooks of its own, the entry has the report of these hooks.
        """
        entries = []
        if answered:
            records = [record for record in self._records() if record.steps]
            entries = [self._rows_of(record, self._number(record)) for record in records]
            entries.append(self._report_entry())
            if spec is not None:
                values = {**values, "answer": self._answer(values["asked"], spec)}
        note = note_line(values, at=_wall(), up=self._up())
        self._notes.append((_clock(), note))
        self._append(b"".join((*entries, note)))

    def _append(self, data: bytes) -> bool:
        """Write entries; return whether that was possible. It is told once that it was not."""
        try:
            self._file.append(data)
        except OSError as error:
            if not self._has_failed:
                self._has_failed = True
                say(f"hookcli: the journal cannot be written, training goes on: {error.strerror}")
            return False
        self._has_failed = False
        if self._file.size > self._most:
            self._shorten()
        return True

    def _shorten(self) -> None:
        """Write the file again with the last report, the rows that were kept, and new answers."""
        notes = [note for at, note in self._notes if _clock() - at < _KEPT]
        records = [record for record in self._records() if record.steps]
        rows = [self._rows_of(record, self._number(record), whole=True) for record in records]
        with suppress(OSError):
            self._file.replace(b"".join((self._header, *self._latest, *rows, *notes)))
        self._most = _SPARE + _GROWTH * self._file.size

    def finish(self, report: TrainingReport) -> None:
        """Write the whole report, of a script that has ended."""
        self.is_open = False
        self._safely(lambda: self._append(final_line(report, at=_wall(), up=self._up())))

    def stop(self) -> None:
        """Write nothing more, such as in a forked process."""
        self.is_open = False
