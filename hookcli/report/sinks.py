"""The destinations of events: a list of limited length, or a file of JSON lines."""

from __future__ import annotations

import os
import stat
import threading
from pathlib import Path
from typing import Protocol

from hookcli.errors import RequestError
from hookcli.report.encode import to_line
from hookcli.report.recording import EventNote, Recording
from hookcli.report.rows.events import event_row
from hookcli.sentences import cannot_write

_MOST = 1_000_000  # events kept in memory


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

    def __init__(self, most: int = _MOST) -> None:
        self._most = most
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
                f"{self._dropped} events after the first {self._most} were dropped: "
                "pass `--stream FILE` to write all events"
            )


class StreamedSink:
    """A file with one event per line, written after the hook returned."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._count = 0
        self._marked = (0, 0)
        try:
            self._file = Path(path).open("w", encoding="utf-8")  # noqa: SIM115  # until `close`
        except OSError as error:
            raise RequestError(
                cannot_write(path, error.strerror),
                place=f"--stream {path}",
                hint="choose a file in an existing directory",
            ) from None

        self._is_file = stat.S_ISREG(os.fstat(self._file.fileno()).st_mode)

    def mark(self) -> None:
        """Keep all events so far."""
        if self._is_file:
            self._marked = (self._file.tell(), self._count)

    def rewind(self) -> None:
        """Discard the events since the mark. What a device or a pipe got stays there."""
        if not self._is_file:
            return
        place, self._count = self._marked
        self._file.seek(place)
        self._file.truncate()

    def add(self, note: EventNote) -> None:
        """Write an event."""
        line = to_line(event_row(note))
        with self._lock:
            self._file.write(line)
            self._count += 1
            self._file.flush()  # the model may end the process at any time

    def so_far(self) -> tuple[str, int, int]:
        """Return the file, the number of events, and the number of dropped ones."""
        return self._path, self._count, 0

    def close(self, recording: Recording) -> None:
        """Close the file, and store its path in the recording."""
        self._file.close()
        recording.streamed = self.so_far()
