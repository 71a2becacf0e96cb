"""Trying something in a fork: what it does to the process is felt nowhere else."""

from __future__ import annotations

import os
import select
import signal
import time
import warnings
from collections.abc import Callable


def in_fork(work: Callable[[], bytes], *, patience: float) -> bytes | None:
    """What `work` returns, done in a copy of this process; None where it fails or takes longer.

    `patience` is in seconds. What it prints goes nowhere.
    """
    read, write = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of a fork beside threads
        pid = os.fork()
    if pid == 0:
        _tell(work, write)
    os.close(write)
    try:
        return _receive(read, time.monotonic() + patience)
    finally:
        os.close(read)
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


def _receive(fd: int, deadline: float) -> bytes | None:
    """All bytes until the other side closes, if they begin with the mark of success."""
    parts: list[bytes] = []
    while (left := deadline - time.monotonic()) > 0:
        ready, _, _ = select.select([fd], [], [], left)
        if not ready:
            return None
        part = os.read(fd, 1 << 16)
        if not part:
            whole = b"".join(parts)
            return whole[1:] if whole[:1] == b"+" else None
        parts.append(part)
    return None


def _tell(work: Callable[[], bytes], write: int) -> None:
    """In the fork: work, say what came of it, and be gone."""
    try:
        nothing = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nothing, 1)
        os.dup2(nothing, 2)
        view = memoryview(b"+" + work())
        while view:
            view = view[os.write(write, view) :]
    finally:
        os._exit(0)
