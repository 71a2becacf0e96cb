"""The process of a command that tells its status as the last line of stderr.

The status of a process is lost if the program that uses the Python API ignores SIGCHLD, or waits
for any child in a thread.
"""

from __future__ import annotations

import contextlib
import sys

_MARK = "hookcli: exit status "


def tell_status(status: int) -> None:
    """Write the status as the last line of stderr."""
    with contextlib.suppress(OSError, ValueError, AttributeError):  # stderr may be closed
        sys.stderr.write(f"\n{_MARK}{status}\n")
        sys.stderr.flush()


def told_status(stderr: str) -> tuple[int | None, str]:
    """Return the status, and what the command itself wrote to stderr.

    The status is None if the process ended early.
    """
    text, found, status = stderr.rstrip("\n").rpartition(f"\n{_MARK}")
    if not found or not status.isdecimal():
        return None, stderr
    return int(status), text
