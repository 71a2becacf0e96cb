"""Try something in a fork, so that it does not affect this process."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import time
import warnings
from collections.abc import Callable

from hookcli.system.null_device import open_null

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
        end(pid)


def end(pid: int) -> None:
    """Kill a fork and wait for it.

    It may be gone: if SIGCHLD is ignored, or if another thread waits for any child.
    """
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
    with contextlib.suppress(ChildProcessError):
        os.waitpid(pid, 0)


def receive(fd: int, deadline: float) -> bytes | None:
    """Read until the other side closes; return the result if it is whole and alone.

    Code that runs in the fork may write to the pipe too.
    """
    parts: list[bytes] = []
    while (left := deadline - time.monotonic()) > 0:
        ready, _, _ = select.select([fd], [], [], left)
        if not ready:
            return None
        part = os.read(fd, 1 << 16)
        if not part:
            whole = b"".join(parts)
            result = whole[_HEAD:]
            return result if whole == _message(result) else None
        parts.append(part)
    return None


_HEAD = 9  # bytes before the result: a mark, and its length


def _message(result: bytes) -> bytes:
    return b"+" + len(result).to_bytes(_HEAD - 1, "big") + result


def send(fd: int, work: Callable[[], bytes]) -> None:
    """Run `work`, and write its result for `receive`. A fork that `work` makes writes nothing."""
    own = os.getpid()
    view = memoryview(_message(work()))
    while view and os.getpid() == own:
        view = view[os.write(fd, view) :]


def _work_and_exit(work: Callable[[], bytes], write: int) -> None:
    """Run `work` in the fork, write the result and exit."""
    try:
        nothing = open_null()
        os.dup2(nothing, 1)
        os.dup2(nothing, 2)
        send(write, work)
    finally:
        os._exit(0)
