"""The most memory that a process and all below it held at one time."""

from __future__ import annotations

import contextlib
import threading
from pathlib import Path

PROC = Path("/proc")
TICK = 0.02  # seconds between looks


def tree(pid: int) -> list[int]:
    """A process and all below it."""
    found, todo = [], [pid]
    while todo:
        found.append(todo.pop())
        with contextlib.suppress(OSError):
            for task in (PROC / str(found[-1]) / "task").iterdir():
                with contextlib.suppress(OSError):
                    todo += map(int, (task / "children").read_text().split())
    return found


def proportional(pid: int) -> int:
    """Bytes of a process, pages that it shares with others by its share (PSS)."""
    with contextlib.suppress(OSError):
        for line in (PROC / str(pid) / "smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) * 1024
    return 0


class Peak:
    """Looks at a process tree while the context is open. Without a pid it does nothing."""

    def __init__(self, pid: int | None) -> None:
        self.bytes: int | None = None
        self._pid = pid
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._look)

    def __enter__(self) -> Peak:
        if self._pid is not None and PROC.is_dir():
            self.bytes = 0
            self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._end.set()
        if self._thread.is_alive():
            self._thread.join()

    def _look(self) -> None:
        while not self._end.wait(TICK):
            now = sum(proportional(pid) for pid in tree(self._pid))
            self.bytes = max(self.bytes, now)
