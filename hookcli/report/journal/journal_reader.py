"""Read a journal, also while it grows, and make the report of the training so far of it."""

from __future__ import annotations

import json
import os
import time
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from hookcli.errors import RequestError
from hookcli.report.journal.journal_entries import JOURNAL_SCHEMA, MOST_ROWS
from hookcli.report.training import ScriptInfo, TrainingReport
from hookcli.sentences import cannot_read
from hookcli.system.file_lock import is_locked

Ended = Literal["running", "unknown"]

_KIND = f'"schema": "{JOURNAL_SCHEMA.partition("/")[0]}/'.encode()
_HINT = "name the journal of `hookcli run -o run.json`, which is run.json.journal"
_CHUNK = 1 << 20
_COUNTS = ("total", "skipped", "unwatched", "every")


def is_journal(text: bytes) -> bool:
    """Return whether a document begins as a journal does."""
    return _KIND in text[:200]


@dataclass(slots=True)
class RecordSteps:
    """The steps of one record, by their numbers, and the counts of its last entry."""

    rows: dict[int, dict[str, Any]] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)

    def add(self, entry: dict[str, Any]) -> None:
        """Add the rows of an entry; a row replaces an earlier one of its step."""
        self.counts = {name: int(entry[name]) for name in _COUNTS if name in entry}
        for row in entry["steps"]:
            self.rows[int(row["step"])] = row
        if len(self.rows) > 2 * MOST_ROWS:
            self.rows = {row["step"]: row for row in self.kept()}

    def kept(self) -> list[dict[str, Any]]:
        """Return the rows that the report has: those of sampled steps, one in N, and the last."""
        every = self.counts.get("every", 1)
        last = max(self.rows, default=0)
        return [
            row
            for step, row in sorted(self.rows.items())
            if step % every == 0 or row.get("sampled") or step == last
        ]


@dataclass(slots=True)
class JournalReader:
    """Reads the entries of a journal as they come. A part of an entry at its end is not read.

    `at` is the time of the last entry, in seconds since 1970, and `up` how long the training has
    run by then. `asked` has the notes about steps that somebody asked for.
    """

    path: str
    header: dict[str, Any] = field(default_factory=dict)
    records: dict[int, RecordSteps] = field(default_factory=dict)
    at: float = 0.0
    up: float = 0.0
    asked: list[dict[str, Any]] = field(default_factory=list)
    _report: dict[str, Any] | None = None
    _numbers: list[int] = field(default_factory=list)
    _final: dict[str, Any] | None = None
    _identity: tuple[int, int] | None = None
    _position: int = 0
    _rest: bytes = b""
    versions: int = 0  # how many entries were read: whether something is new

    def update(self) -> bool:
        """Read what was added; return whether there was anything.

        Raises
        ------
        RequestError : the file cannot be read, or is not a journal that this version reads.
        """
        before = self.versions
        try:
            with open(self.path, "rb") as file:  # noqa: PTH123  # with a position
                status = os.fstat(file.fileno())
                if self._identity != (status.st_dev, status.st_ino) or (
                    status.st_size < self._position
                ):
                    self._begin_again((status.st_dev, status.st_ino))
                file.seek(self._position)
                while chunk := file.read(_CHUNK):
                    self._position += len(chunk)
                    self._add(chunk)
        except OSError as error:
            raise RequestError(
                cannot_read(self.path, error.strerror), place=self.path, hint=_HINT
            ) from None
        return self.versions > before

    def read(self, text: bytes) -> None:
        """Read a whole journal; raises RequestError as `update` does."""
        self._add(text)

    def _begin_again(self, identity: tuple[int, int]) -> None:
        """Read from the start: the journal was written again, shorter."""
        self.header, self.records, self.asked = {}, {}, []
        self._report = self._final = None
        self._identity, self._position, self._rest = identity, 0, b""

    def _add(self, chunk: bytes) -> None:
        *lines, self._rest = (self._rest + chunk).split(b"\n")
        for line in lines:
            self._entry(line)

    def _entry(self, line: bytes) -> None:
        try:
            entry = json.loads(line)
            if not self.header:
                self._begin(entry)
            else:
                self._note(entry)
        except (ValueError, KeyError, TypeError, AttributeError):
            if self.header:
                return  # one entry is damaged: the others are not
            raise _not_journal(self.path) from None
        self.versions += 1

    def _begin(self, entry: dict[str, Any]) -> None:
        schema = str(entry["schema"])
        if schema.partition("/")[0] != JOURNAL_SCHEMA.partition("/")[0]:
            raise _not_journal(self.path)
        if schema != JOURNAL_SCHEMA:
            raise RequestError(
                f"{self.path} is the journal of a newer version of hookcli",
                place=f"{self.path}: {schema}",
                hint=f"read it with hookcli {entry.get('hookcli', '')} or newer".replace("  ", " "),
            )
        self.header = entry
        self.at = float(entry["at"])

    def _note(self, entry: dict[str, Any]) -> None:
        at, up = float(entry["at"]), float(entry["up"])
        if "final" in entry:
            self._final = dict(entry["final"])
        elif "report" in entry:
            self._note_report(entry)
        elif "steps" in entry:
            self.records.setdefault(int(entry["record"]), RecordSteps()).add(entry)
        elif "asked" in entry:
            self.asked.append(dict(entry))
        self.at, self.up = at, up

    def _note_report(self, entry: dict[str, Any]) -> None:
        """Keep a report instead of the one before it, or add its records to that one."""
        numbers, report = [int(n) for n in entry["numbers"]], dict(entry["report"])
        if entry.get("adds") and self._report is not None:
            records = dict(zip(self._numbers, self._report["records"], strict=True))
            records.update(zip(numbers, report["records"], strict=True))
            warnings = dict.fromkeys([*self._report["warnings"], *report["warnings"]])
            numbers = list(records)
            report = {**report, "records": list(records.values()), "warnings": list(warnings)}
        self._numbers, self._report = numbers, report

    @property
    def is_final(self) -> bool:
        """Whether the script has ended, and the whole report is here."""
        return self._final is not None

    def is_empty(self) -> bool:
        """Return whether nothing of a training was recorded so far."""
        return self._final is None and self._report is None

    def is_running(self) -> bool:
        """Return whether the process that writes the journal lives, as its lock on the file tells.

        The lock of a process on another machine is seen if their file system shares locks.
        """
        return not self.is_final and is_locked(self.path) is True

    def report(self, ended: Ended = "unknown") -> TrainingReport:
        """Return the training so far; not judged, unless it is final.

        Raises
        ------
        RequestError : nothing of a training was observed so far, or the journal is damaged.
        """
        from hookcli.report.reading.validity import check_valid_training
        from hookcli.report.schema import training_from_json

        if self.is_empty():
            raise RequestError(
                f"{self.path} has no entry of a training",
                place=self.path,
                hint="wait until the script has imported torch, or run it again",
            )
        try:
            text = json.dumps(self._final or self._document(ended))
            report = training_from_json(text)
            check_valid_training(report, text)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise damaged_journal(self.path, error) from None
        if self.is_final:
            return report
        return replace(report, warnings=(self.last_words(report, ended), *report.warnings))

    def last_words(self, report: TrainingReport, ended: Ended) -> str:
        """Return how far the training was at the last entry, and when that was."""
        so_far = self._last_entry(report)
        if ended == "running":
            return f"the training still runs: {so_far}"
        return f"no end was recorded: {so_far}"

    def _last_entry(self, report: TrainingReport) -> str:
        steps = [r.training.total for r in report.records if r.training is not None]
        last = f"step {max(steps) - 1:,}" if any(steps) else "no step"
        when = time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(self.at))
        return f"last entry {when} UTC, {last}"

    def ended_report(self, script: ScriptInfo) -> TrainingReport:
        """Return the report of a script whose process has ended; raises RequestError as `report`.

        If the script could not make its report, `script` tells how it ended.
        """
        report = self.report()
        if self.is_final:
            return report
        why = f"the process of the script ended before its report: {self._last_entry(report)}"
        return replace(report, script=script, warnings=(why, *report.warnings[1:]))

    def _document(self, ended: Ended) -> dict[str, Any]:
        """Return the last report with the rows of all steps, as it is in JSON."""
        report = self._report or {}
        records = [
            _with_steps(record, self.records.get(number))
            for record, number in zip(report["records"], self._numbers, strict=True)
        ]
        script = {**report["script"], "ended": ended, "status": None}
        return {**report, "status": "partial", "script": script, "records": records}


def _with_steps(record: dict[str, Any], steps: RecordSteps | None) -> dict[str, Any]:
    training = record["training"]
    if steps is None or training is None:
        return record
    rows = steps.kept()
    least = max((row["step"] + 1 for row in rows), default=0)
    counts: dict[str, Any] = {
        name: max(value, training.get(name) or 0) for name, value in steps.counts.items()
    }
    counts["total"] = max(counts.get("total", 0), training["total"], least)
    if not counts.get("unwatched"):
        counts.pop("unwatched", None)
    run = {**record["run"], "steps": counts["total"]} if "run" in record else None
    whole = {**record, "training": {**training, **counts, "steps": rows}}
    return whole if run is None else {**whole, "run": run}


def damaged_journal(path: str, error: Exception) -> RequestError:
    """Return the error that what a journal has is not what hookcli writes."""
    return RequestError(f"{path} is not a hookcli journal: {error}", place=path, hint=_HINT)


def _not_journal(path: str) -> RequestError:
    return RequestError(f"{path} is not a hookcli journal", place=path, hint=_HINT)


def read_journal(path: str, text: bytes, *, living: bool) -> TrainingReport:
    """Return the report of a journal that was read; `living` if its process may still run.

    Raises
    ------
    RequestError : it is not a journal, or has no entry of a training.
    """
    reader = JournalReader(path)
    reader.read(text)
    if not reader.header:
        raise _not_journal(path)
    return reader.report("running" if living and reader.is_running() else "unknown")
