"""Try something in a fork, so that it does not affect this process."""

from __future__ import annotations

import os
import select
import signal
import time
import warnings
from collections.abc import Callable

CAN_FORK = hasattr(os, "fork")


def in_fork(work: Callable[[], bytes], *, patience: float) -> bytes | None:
    """Run `work` in a copy of this process and return its result; None if it fails or is too slow.

    Windows cannot copy a process: the result is None there.

    `patience` is in seconds. The output of `work` is discarded.
    """
    if not CAN_FORK:
        return None
    read, write = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # about a fork while threads run
        pid = os.fork()
    if pid == 0:
        _work_and_exit(work, write)
    os.close(write)
    try:
        return receive(read, time.monotonic() + patience)
    finally:
        os.close(read)
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


def receive(fd: int, deadline: float) -> bytes | None:
    """Read until the other side closes; return the bytes if they begin with the mark of success."""
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


def _work_and_exit(work: Callable[[], bytes], write: int) -> None:
    """Run `work` in the fork, write the result and exit."""
    try:
        nothing = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nothing, 1)
        os.dup2(nothing, 2)
        view = memoryview(b"+" + work())
        while view:
            view = view[os.write(write, view) :]
    finally:
        os._exit(0)
