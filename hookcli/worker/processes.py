"""The processes below a worker: memory, and ending them. Linux knows more than other systems."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import sys
import time
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
    found: list[int] = []
    with contextlib.suppress(OSError):
        for task in (_PROC / str(pid) / "task").iterdir():
            with contextlib.suppress(OSError, ValueError):
                found += [int(child) for child in (task / "children").read_text().split()]
    return found


def tree(pid: int) -> list[int]:
    """A process and all below it."""
    found, todo = [], [pid]
    while todo:
        found.append(todo.pop())
        todo += children(found[-1])
    return found


def resident(pid: int) -> int:
    """Resident bytes of a process and all below it; 0 where the system does not say."""
    total = 0
    for one in tree(pid):
        with contextlib.suppress(OSError, ValueError, IndexError):
            total += int((_PROC / str(one) / "statm").read_text().split()[1]) * _PAGE
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
            for one in tree(pid):
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.kill(one, signal.SIGKILL)
            with contextlib.suppress(ChildProcessError):
                os.waitpid(pid, os.WNOHANG)
        time.sleep(0.01)
