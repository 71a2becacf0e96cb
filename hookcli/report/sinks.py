"""The destinations of events: a list of limited length, or a file of JSON lines."""

from __future__ import annotations

import contextlib
import os
import stat
import threading
import time
from typing import Protocol

from hookcli.errors import RequestError
from hookcli.outputs.special_files import CLOSED_PIPE, KEEP_READING, as_given, open_for_writing
from hookcli.report.encode import to_line
from hookcli.report.recording import EventNote, Recording
from hookcli.report.rows.events import event_row
from hookcli.sentences import cannot_write
from hookcli.system.own_descriptor import OwnDescriptor
from hookcli.text import counted

_MOST = 1_000_000  # events kept in memory
_FREE_SPACE = "check that the disk is not full, or choose another file"


class Sink(Protocol):
    """Accepts events from any thread."""

    def add(self, note: EventNote) -> None:
        """Accept an event."""
        ...

    def mark(self) -> None:
        """Keep all events so far, even if the attempt is repeated."""
        ...

    def rewind(self) -> None:
        """Discard the events since the mark."""
        ...

    def close(self, recording: Recording) -> None:
        """End the run, and store the events or their file in the recording."""
        ...


class Kept:
    """A list in memory, sorted at the end by the order of firing."""

    def __init__(
        self, most: int = _MOST, advice: str = "pass `--stream FILE` to write all events"
    ) -> None:
        self._most, self._advice = most, advice
        self._events: list[EventNote] = []
        self._dropped = 0
        self._marked = 0

    def mark(self) -> None:
        """Keep all events so far."""
        self._marked = len(self._events)

    def rewind(self) -> None:
        """Discard the events since the mark."""
        del self._events[self._marked :]
        self._dropped = 0

    def add(self, note: EventNote) -> None:
        """Keep an event if there is room, else count it as dropped."""
        if len(self._events) < self._most:
            self._events.append(note)
        else:
            self._dropped += 1

    def so_far(self) -> list[EventNote]:
        """Return the events in the order of firing."""
        return sorted(self._events, key=lambda note: note.seq)

    def close(self, recording: Recording) -> None:
        """Store the list in the recording, with a warning if events were dropped."""
        recording.events = self.so_far()
        if self._dropped:
            recording.warnings.append(
                f"{self._dropped} events after the first {self._most} were dropped: {self._advice}"
            )


class StreamedSink:
    """A file with one event per line, written after the hook returned.

    If the file cannot be written any more, such as on a full disk, it keeps its whole lines, and
    later events are dropped: the hook and what it observes go on. `failure` is then the reason.
    """

    def __init__(self, path: str) -> None:
        self._path = as_given(path)
        self._lock = threading.Lock()
        self._count = self._dropped = self._length = 0
        self._marked = (0, 0)
        self.failure: str | None = None
        try:
            # Unbuffered: the model may end the process at any time.
            self._file = OwnDescriptor(open_for_writing(path))
            self._is_regular = stat.S_ISREG(os.fstat(self._file.number()).st_mode)
        except OSError as error:
            raise RequestError(
                cannot_write(self._path, error.strerror),
                place=f"--stream {self._path}",
                hint="choose a file in an existing directory",
            ) from None

    def mark(self) -> None:
        """Keep all events so far."""
        self._marked = (self._length, self._count)

    def rewind(self) -> None:
        """Discard the events since the mark. What a pipe or a device got, it keeps."""
        self._length, self._count = self._marked
        self._dropped = 0
        if self._is_regular:
            self._cut()

    def add(self, note: EventNote) -> None:
        """Write an event."""
        line = to_line(event_row(note)).encode()
        with self._lock:
            if self.failure is not None:
                self._dropped += 1
                return
            try:
                self._write(line)
            except OSError as error:
                is_closed = isinstance(error, BrokenPipeError)
                self.failure = CLOSED_PIPE if is_closed else error.strerror or str(error)
                self._dropped += 1
                if self._is_regular:
                    self._cut()
            else:
                self._length += len(line)
                self._count += 1

    def _write(self, line: bytes) -> None:
        left = memoryview(line)
        while left:
            try:
                left = left[os.write(self._file.number(), left) :]
            except BlockingIOError:  # a full pipe that does not block
                time.sleep(0.001)

    def _cut(self) -> None:
        """Remove what is after the last whole line."""
        with contextlib.suppress(OSError):
            os.ftruncate(self._file.number(), self._length)
            os.lseek(self._file.number(), self._length, os.SEEK_SET)

    def so_far(self) -> tuple[str, int, int]:
        """Return the file, the number of events, and the number of dropped ones."""
        return self._path, self._count, self._dropped

    def close(self, recording: Recording) -> None:
        """Close the file, and store its path in the recording. Note if events are missing."""
        self._file.close()
        recording.streamed = self.so_far()
        if self.failure is not None:
            recording.warnings.append(self.shortage())

    def shortage(self) -> str:
        """Return the note about a file that does not have all events."""
        return f"{self._path} has only the first {counted(self._count, 'event')}: {self.failure}"

    def refusal(self) -> RequestError | None:
        """Return the error for a command that cannot write its whole stream; None if it could."""
        if self.failure is None:
            return None
        return RequestError(
            cannot_write(self._path, self.failure),
            place=f"--stream {self._path}",
            hint=KEEP_READING if self.failure == CLOSED_PIPE else _FREE_SPACE,
        )
