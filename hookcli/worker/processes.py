"""The processes below a worker: memory, and ending them. Linux knows more than other systems."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path

_PROC = Path("/proc")
_PAGE = os.sysconf("SC_PAGE_SIZE")
_PR_SET_CHILD_SUBREAPER = 36
LINUX = sys.platform == "linux"


def adopt_orphans() -> None:
    """Make this process the parent of what its children leave behind, so that it can be ended."""
    if LINUX:
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def children(pid: int) -> list[int]:
    """Direct children of a process, on all its threads."""
    pids: list[int] = []
    with contextlib.suppress(OSError):
        for task in (_PROC / str(pid) / "task").iterdir():
            with contextlib.suppress(OSError, ValueError):
                pids += [int(child) for child in (task / "children").read_text().split()]
    return pids


def tree(pid: int) -> list[int]:
    """A process and all below it."""
    pids, todo = [], [pid]
    while todo:
        pids.append(todo.pop())
        todo += children(pids[-1])
    return pids


def resident(pid: int) -> int:
    """Resident bytes of a process and all below it; 0 where the system does not say."""
    total = 0
    for member_pid in tree(pid):
        with contextlib.suppress(OSError, ValueError, IndexError):
            total += int((_PROC / str(member_pid) / "statm").read_text().split()[1]) * _PAGE
    return total


def end_group(pid: int) -> None:
    """Kill a process group, and whatever left it but is still below this process."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)


def end_orphans(known: set[int]) -> None:
    """Kill and reap what this process adopted; `known` are the children it had before."""
    if not LINUX:
        return
    for _ in range(50):
        strangers = [p for p in children(os.getpid()) if p not in known]
        if not strangers:
            return
        for pid in strangers:
            for member_pid in tree(pid):
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.kill(member_pid, signal.SIGKILL)
            with contextlib.suppress(ChildProcessError):
                os.waitpid(pid, os.WNOHANG)
        time.sleep(0.01)


_MEANINGS = {
    signal.SIGSEGV: "a segmentation fault",
    signal.SIGABRT: "an abort in C or C++ code",
    signal.SIGBUS: "a bus error",
    signal.SIGFPE: "an arithmetic fault in C code",
    signal.SIGILL: "an instruction that this CPU does not have",
}


def signal_in_words(number: int) -> str:
    """A signal's name, and what it means where a process died of it."""
    try:
        known = signal.Signals(number)
    except ValueError:  # a real-time signal
        return f"signal {number}"
    return f"{known.name}: {_MEANINGS[known]}" if known in _MEANINGS else known.name


@contextlib.contextmanager
def undisturbed() -> Iterator[None]:
    """Keep the signals that raise from cutting a clean-up short: they come after it."""
    held = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, held)
