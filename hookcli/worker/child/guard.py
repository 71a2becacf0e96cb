"""Protects the worker from the model that it runs, and the machine from the worker."""

from __future__ import annotations

import os
import select
import signal
import sys
import threading

# Imported by name, because a model may replace the functions of `gc` and `os`.
from gc import collect, disable, freeze, set_threshold
from os import _exit, fstat, getpid, read
from typing import Any, NoReturn

from hookcli.worker.systems import LINUX

_getpgrp: Any = getattr(os, "getpgrp", None)  # not on Windows
_killpg: Any = getattr(os, "killpg", None)
_HIGHEST = 4096  # higher descriptors need a larger kernel table in every process
_SPARE = 8
_LOWEST_LIMIT = 1000  # frames: Python's default
_F_SETSIG = 10  # linux/fcntl.h; Python's fcntl has no name for it before 3.11


def move_high(fd: int) -> int:
    """Move a descriptor to a high number, which it returns: daemons close all low descriptors."""
    import fcntl
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


def end_with_parent(alive_fd: int) -> None:
    """End the process group when the parent has ended.

    The parent has the other end of this pipe, which is closed then. It writes nothing to it.
    """
    if not _kernel_kills_group(alive_fd):
        threading.Thread(target=_wait_for_end, args=(alive_fd,), daemon=True).start()


def _kernel_kills_group(alive_fd: int) -> bool:
    """Ask Linux to kill the group when the pipe is closed; return whether it will.

    Linux signals what is written to the pipe too, and does so after the reader was woken. The job's
    pipe is therefore not suitable: the child may have read the whole job before that signal.

    This works even while C code holds the GIL, and needs no thread: Python warns a model that
    forks while a thread runs.
    """
    if not LINUX:
        return False
    import fcntl  # not on Windows

    try:
        fcntl.fcntl(alive_fd, fcntl.F_SETOWN, -_getpgrp())
        fcntl.fcntl(alive_fd, _F_SETSIG, signal.SIGKILL)
        flags = fcntl.fcntl(alive_fd, fcntl.F_GETFL)
        fcntl.fcntl(alive_fd, fcntl.F_SETFL, flags | os.O_ASYNC)
    except OSError:  # a sandbox that does not support it
        return False
    poll = select.poll()
    poll.register(alive_fd, select.POLLHUP)
    return not poll.poll(0)  # otherwise the pipe was closed before O_ASYNC was set


def _wait_for_end(alive_fd: int) -> None:
    try:
        while read(alive_fd, 1):
            pass
    except OSError:  # the model closed the descriptor, so the end of the parent cannot be seen
        return
    _killpg(_getpgrp(), signal.SIGKILL)


def collect_garbage_rarely() -> None:
    """Collect garbage rarely while a model is built: it takes a quarter of the time of imports."""
    set_threshold(100_000, 50, 1_000)


def collect_garbage_normally() -> None:
    """Collect garbage often again, as a model may rely on, but not what exists already."""
    freeze()
    set_threshold(10_000, 10, 20)


def set_aside_records() -> None:
    """Exempt what hookcli knows of the model from later collections, which visit all objects.

    Garbage is collected first, since it would stay forever.
    """
    collect()
    freeze()


def collect_no_garbage() -> None:
    """Collect none: the model has run, and a collection takes longer the larger its report is."""
    disable()


def raise_recursion_limit() -> None:
    """Replace a recursion limit that is too low for hookcli itself."""
    if sys.getrecursionlimit() < _LOWEST_LIMIT:
        sys.setrecursionlimit(_LOWEST_LIMIT)


def flush() -> None:
    """Flush what the model printed, to its own streams and to the original ones."""
    for name in ("stdout", "stderr", "__stdout__", "__stderr__"):
        try:
            getattr(sys, name).flush()
        except BaseException:  # noqa: BLE001  # closed, missing, or an object of the model's own class
            continue


def flush_c() -> None:
    """Flush what C code printed. This waits for a thread that has locked a stream."""
    import ctypes

    ctypes.CDLL(None).fflush(None)


class AnswerPipe:
    """The pipe for the answer: whether it is still usable, and by this process."""

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
        """Whether this process is a fork that the model made, which returned to hookcli's code."""
        return getpid() != self._process

    @property
    def is_open(self) -> bool:
        """Whether the descriptor is still the pipe: the model may have reused its number."""
        return self._identity() == self._file


def exit_now(status: int) -> NoReturn:
    """End at once, without the slow teardown of torch."""
    _exit(status)
