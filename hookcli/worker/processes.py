"""The processes below a worker: measure their memory and end them. Some of it needs Linux."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import time
from pathlib import Path

from hookcli.system.signals import name_of
from hookcli.worker.systems import LINUX

_PROC = Path("/proc")
_PR_SET_CHILD_SUBREAPER = 36


def adopt_orphans() -> None:
    """Make this process the parent of orphans of its children, so that it can end them."""
    if LINUX:
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def children(pid: int) -> list[int]:
    """Return the direct children of a process, of all its threads."""
    pids: list[int] = []
    with contextlib.suppress(OSError):
        for task in (_PROC / str(pid) / "task").iterdir():
            with contextlib.suppress(OSError, ValueError):
                pids += [int(child) for child in (task / "children").read_text().split()]
    return pids


def tree(pid: int) -> list[int]:
    """Return a process and all its descendants."""
    pids, todo = [], [pid]
    while todo:
        pids.append(todo.pop())
        todo += children(pids[-1])
    return pids


def resident(pid: int) -> int:
    """Return the resident bytes of a process and its descendants; 0 if they are not known."""
    total, page = 0, os.sysconf("SC_PAGE_SIZE")
    for member_pid in tree(pid):
        with contextlib.suppress(OSError, ValueError, IndexError):
            total += int((_PROC / str(member_pid) / "statm").read_text().split()[1]) * page
    return total


def end_group(pid: int) -> None:
    """Kill a process group."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)


def end_orphans(known: set[int]) -> None:
    """Kill and reap the orphans that this process adopted; `known` are its earlier children."""
    if not LINUX:
        return
    for _ in range(50):
        orphans = [p for p in children(os.getpid()) if p not in known]
        if not orphans:
            return
        for pid in orphans:
            for member_pid in tree(pid):
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.kill(member_pid, signal.SIGKILL)
            with contextlib.suppress(ChildProcessError):
                os.waitpid(pid, os.WNOHANG)
        time.sleep(0.01)


_MEANINGS = {
    "SIGSEGV": "a segmentation fault",
    "SIGABRT": "an abort in C or C++ code",
    "SIGBUS": "a bus error",
    "SIGFPE": "an arithmetic fault in C code",
    "SIGILL": "an instruction that this CPU does not have",
}


def signal_in_words(number: int) -> str:
    """Return a signal's name, and its meaning if it killed a process."""
    name = name_of(number)
    return f"{name}: {_MEANINGS[name]}" if name in _MEANINGS else name
