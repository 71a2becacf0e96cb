"""The message of the process that judges a report to the process of the script."""

from __future__ import annotations

import os

FOUND = 17  # the verdict if --fail-on counts a finding; otherwise it is an exit status of hookcli
_MARK = b"hookcli:"
_SIZE = len(_MARK) + 1  # bytes


def send_verdict(fd: int, verdict: int) -> None:
    """Write the verdict, as the last that the process does. The script's process may be gone."""
    try:
        os.write(fd, _MARK + bytes([verdict]))
    except OSError:
        return


def read_verdict(fd: int) -> int | None:
    """Return the verdict of the process, which has ended; None if it has sent none.

    The end of the pipe is not waited for: a process that the script forked meanwhile has it too.
    """
    if os.name != "nt":
        os.set_blocking(fd, False)
    try:
        data = os.read(fd, _SIZE)
    except BlockingIOError:
        return None
    return data[-1] if len(data) == _SIZE and data.startswith(_MARK) else None
