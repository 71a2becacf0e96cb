"""What protects the child from the model that it runs, and the machine from the child."""

from __future__ import annotations

import fcntl
import gc
import os
import select
import signal
import sys
import threading

# Taken now: a model may replace the functions of `os`.
from os import _exit, fstat, getpgrp, getpid, killpg, read
from typing import NoReturn

_HIGHEST = 4096  # descriptors above cost the kernel a larger table in every process
_SPARE = 8
_LOWEST_LIMIT = 1000  # frames, as Python starts with
_F_SETSIG = 10  # linux/fcntl.h; Python's fcntl has no name for it before 3.11


def out_of_reach(fd: int) -> int:
    """The descriptor under a high number: models close "all" low ones, as daemons do."""
    import resource

    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    top = _HIGHEST if soft == resource.RLIM_INFINITY else min(soft, _HIGHEST)
    try:
        moved = fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, max(top - _SPARE, 3))
    except OSError:
        os.set_inheritable(fd, False)
        return fd
    os.close(fd)
    return moved


def end_with_parent(job_fd: int) -> None:
    """End the process group when the parent is gone: it holds the other end of the job's pipe."""
    if not _kernel_ends(job_fd):
        threading.Thread(target=_wait_for_end, args=(job_fd,), daemon=True).start()


def _kernel_ends(job_fd: int) -> bool:
    """Have Linux kill the group once the pipe is closed, even while C code holds Python's lock.

    And without a thread, which a model that forks would be warned of.
    """
    if sys.platform != "linux":
        return False
    try:
        fcntl.fcntl(job_fd, fcntl.F_SETOWN, -getpgrp())
        fcntl.fcntl(job_fd, _F_SETSIG, signal.SIGKILL)
        flags = fcntl.fcntl(job_fd, fcntl.F_GETFL)
        fcntl.fcntl(job_fd, fcntl.F_SETFL, flags | os.O_ASYNC)
    except OSError:  # a sandbox that lacks it
        return False
    poll = select.poll()
    poll.register(job_fd, select.POLLHUP)
    return not poll.poll(0)  # else it was closed before the kernel knew what to do


def _wait_for_end(job_fd: int) -> None:
    try:
        while read(job_fd, 1):
            pass
    except OSError:  # the model closed it: nothing can be told from it any more
        return
    killpg(getpgrp(), signal.SIGKILL)


def collect_rarely() -> None:
    """Let garbage be while modules are imported: looking for it takes a quarter of that time."""
    gc.set_threshold(100_000, 50, 1_000)


def collect_as_usual() -> None:
    """Collect again, and leave alone what was imported and built: a model may rely on it."""
    gc.freeze()
    gc.set_threshold(10_000, 10, 10)


def room_to_work() -> None:
    """Undo a recursion limit that would not let hookcli itself go on."""
    if sys.getrecursionlimit() < _LOWEST_LIMIT:
        sys.setrecursionlimit(_LOWEST_LIMIT)


def flush() -> None:
    """Write out what the model printed, through its own streams and through those of before."""
    for name in ("stdout", "stderr", "__stdout__", "__stderr__"):
        try:
            getattr(sys, name).flush()
        except BaseException:  # noqa: BLE001  # closed, gone, or the model's own class
            continue


def flush_c() -> None:
    """Write out what C code printed. It waits for a thread that holds a stream."""
    import ctypes

    ctypes.CDLL(None).fflush(None)


class Outlet:
    """The answer's pipe, as long as it is that pipe and this is the process that was started."""

    def __init__(self, fd: int) -> None:
        self.fd = fd
        self._file = self._identity()
        self._process = getpid()

    def _identity(self) -> tuple[int, int] | None:
        try:
            status = fstat(self.fd)
        except OSError:
            return None
        return status.st_dev, status.st_ino

    @property
    def is_fork(self) -> bool:
        """Whether the model forked, and the fork came back into hookcli's code."""
        return getpid() != self._process

    @property
    def is_open(self) -> bool:
        """Whether the descriptor is still the pipe: the model may have put a file there."""
        return self._identity() == self._file


def leave(status: int) -> NoReturn:
    """End at once, without taking torch apart piece by piece."""
    _exit(status)
