"""Runs work in a copy of this process that can change nothing outside of itself.

The copy gets /dev/null for its standard streams and for every file, pipe and socket that it could
write to; the default handlers of all signals; a limit of its memory and of its time. Python refuses
what would change files, start a process or connect to another one, and the system refuses to make
files longer: a forward that does such things raises PermissionError, and the work fails. The copy
runs one thread: the others do not exist in it, and OpenMP would wait for them.
"""

from __future__ import annotations

import contextlib
import gc
import os
import signal
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NoReturn

from hookcli.memory import available
from hookcli.models.fake.fork import CAN_FORK, end, receive, send
from hookcli.system.null_device import open_null
from hookcli.training.script.own_imports import own_imports

# Events of Python's auditing that change something outside of the process, by how they begin.
_CHANGES = (
    "os.chflags", "os.chmod", "os.chown", "os.exec", "os.fork", "os.kill", "os.link", "os.mkdir",
    "os.posix_spawn", "os.remove", "os.rename", "os.rmdir", "os.setxattr", "os.spawn", "os.symlink",
    "os.system", "os.truncate", "os.utime", "pty.spawn", "shutil.", "signal.pthread_kill",
    "socket.bind", "socket.connect", "socket.sendmsg", "socket.sendto", "sqlite3.connect",
    "subprocess.Popen", "webbrowser.open",
)  # fmt: skip
_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_PART_OF_MEMORY = 0.7  # of what is available when the copy is made


def obstacle() -> str | None:
    """Return why this process cannot be copied; None if it can.

    On macOS, libraries of the system refuse to run in a copy. A handler of SIGCHLD would be told
    that the copy ends; that of torch's DataLoader ignores processes that are not its workers.
    """
    if not CAN_FORK or sys.platform == "darwin":
        return "this system cannot copy a process"
    handler = signal.getsignal(signal.SIGCHLD)
    ours = getattr(handler, "__module__", "").startswith("torch.")
    if handler is None or (callable(handler) and not ours):
        return "the script handles SIGCHLD"
    return None


def run_isolated(work: Callable[[], bytes], *, patience: float) -> bytes | None:
    """Run `work` in a copy of this process and return its result; None if it fails or is too slow.

    `patience` is in seconds.
    """
    read, write = os.pipe()
    pid = None
    try:
        with _signals_blocked() as mask, _without_warning():
            pid = os.fork()
            if pid == 0:
                _work_and_exit(work, write, mask, patience)
        os.close(write)
        write = -1
        return receive(read, time.monotonic() + patience)
    except OSError:  # too many processes, or not enough memory
        return None
    finally:
        os.close(read)
        if write != -1:
            os.close(write)
        if pid:
            end(pid)


@contextlib.contextmanager
def _signals_blocked() -> Iterator[set[Any]]:
    """Block all signals, so that the copy receives none before it has default handlers."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    try:
        yield before
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextlib.contextmanager
def _without_warning() -> Iterator[None]:
    """Ignore Python's warning about a fork while threads run.

    `warnings.catch_warnings` would let warnings of the script that were shown appear again.
    """
    entry: Any = ("ignore", None, DeprecationWarning, None, 0)
    warnings.filters.insert(0, entry)  # type: ignore[attr-defined]
    try:
        yield
    finally:
        warnings.filters.remove(entry)  # type: ignore[attr-defined]


def _work_and_exit(
    work: Callable[[], bytes], write: int, mask: set[Any], patience: float
) -> NoReturn:
    """Run `work` in the copy, write the result and exit."""
    try:
        gc.disable()  # a finalizer of the script's own objects may delete files
        _default_signals(mask, patience)
        _close_outside(write)
        _limit_resources()
        sys.addaudithook(_refuse_changes)
        import torch

        torch.set_num_threads(1)
        send(write, work)
    finally:
        os._exit(0)


def _refuse_changes(event: str, args: tuple[Any, ...]) -> None:
    """Raise an error for what would change something outside of the copy.

    importlib passes over it where it cannot write what it has compiled.
    """
    if event == "open":
        path, mode, flags = args
        writes = any(letter in (mode or "") for letter in "wax+") or bool((flags or 0) & _WRITES)
        if not writes or path == os.devnull or type(path) is int:
            return
    elif not event.startswith(_CHANGES):
        return
    raise PermissionError(f"a copy of the process must change nothing: {event}")


def _default_signals(mask: set[Any], patience: float) -> None:
    for number in signal.valid_signals():
        if callable(signal.getsignal(number)):
            signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(int(patience) + 1)  # the copy ends also if this process is killed
    signal.pthread_sigmask(signal.SIG_SETMASK, mask - {signal.SIGALRM})


def _close_outside(write: int) -> None:
    """Replace the standard streams, and every descriptor that can be written to, by /dev/null."""
    with own_imports():
        import fcntl

    nothing = open_null()
    folder = Path("/proc/self/fd")
    folder = folder if folder.is_dir() else Path("/dev/fd")
    for number in sorted({0, 1, 2, *(int(entry.name) for entry in folder.iterdir())}):
        if number in {write, nothing}:
            continue
        try:
            mode = fcntl.fcntl(number, fcntl.F_GETFL) & os.O_ACCMODE
        except OSError:  # that of the folder itself
            continue
        if number <= 2 or mode != os.O_RDONLY:
            os.dup2(nothing, number)


def _limit_resources() -> None:
    """Let the copy fail, rather than the process, if there is not enough memory for both."""
    with contextlib.suppress(OSError, ValueError, ImportError):
        Path("/proc/self/oom_score_adj").write_text("1000")
    with contextlib.suppress(OSError, ValueError, ImportError):
        with own_imports():
            import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # a crash writes no file
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # the write fails instead
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        free = available()
        if free is not None:
            most = pages * os.sysconf("SC_PAGE_SIZE") + int(free * _PART_OF_MEMORY)
            _, hard = resource.getrlimit(resource.RLIMIT_AS)
            if hard == resource.RLIM_INFINITY or most < hard:
                resource.setrlimit(resource.RLIMIT_AS, (most, hard))
