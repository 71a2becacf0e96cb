"""Where events go: a list with a cap, or a file of JSON lines written as they happen."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Protocol

from hookcli.errors import RequestError
from hookcli.report.encode import to_line
from hookcli.report.recording import EventNote, Recording
from hookcli.report.rows.events import event_row

_MOST = 1_000_000  # events kept in memory


class Sink(Protocol):
    """Takes events from any thread."""

    def add(self, note: EventNote) -> None:
        """Take one."""
        ...

    def mark(self) -> None:
        """What has come so far stays, also where a try is begun again."""
        ...

    def rewind(self) -> None:
        """Forget what came since the mark."""
        ...

    def close(self, recording: Recording) -> None:
        """The run is over: leave in the recording what it is to say of events."""
        ...


class Kept:
    """A list, sorted at the end by the order of firing."""

    def __init__(self, most: int = _MOST) -> None:
        self._most = most
        self._events: list[EventNote] = []
        self._dropped = 0
        self._marked = 0

    def mark(self) -> None:
        """What has come so far stays."""
        self._marked = len(self._events)

    def rewind(self) -> None:
        """Forget what came since the mark."""
        del self._events[self._marked :]
        self._dropped = 0

    def add(self, note: EventNote) -> None:
        """Take one, while there is room."""
        if len(self._events) < self._most:
            self._events.append(note)
        else:
            self._dropped += 1

    def so_far(self) -> list[EventNote]:
        """What came, in the order of firing."""
        return sorted(self._events, key=lambda note: note.seq)

    def close(self, recording: Recording) -> None:
        """Hand over the list, and say what did not fit."""
        recording.events = self.so_far()
        if self._dropped:
            recording.warnings.append(
                f"{self._dropped} events after the first {self._most} were dropped: "
                "pass `--stream FILE` to write all events"
            )


class StreamedSink:
    """A file with an event a line. A line stands for a firing that has ended."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._count = 0
        self._marked = (0, 0)
        try:
            self._file = Path(path).open("w", encoding="utf-8")  # noqa: SIM115  # until `close`
        except OSError as error:
            raise RequestError(
                f"cannot write {path}: {error.strerror}",
                place=f"--stream {path}",
                hint="choose a file in an existing directory",
            ) from None

    def mark(self) -> None:
        """What has come so far stays."""
        self._marked = (self._file.tell(), self._count)

    def rewind(self) -> None:
        """Forget what came since the mark."""
        place, self._count = self._marked
        self._file.seek(place)
        self._file.truncate()

    def add(self, note: EventNote) -> None:
        """Write one."""
        line = to_line(event_row(note))
        with self._lock:
            self._file.write(line)
            self._count += 1
            self._file.flush()  # the model may end the process at any time

    def so_far(self) -> tuple[str, int, int]:
        """Where they are, how many came, and how many were dropped."""
        return self._path, self._count, 0

    def close(self, recording: Recording) -> None:
        """Close the file, and say where it is."""
        self._file.close()
        recording.streamed = self.so_far()
