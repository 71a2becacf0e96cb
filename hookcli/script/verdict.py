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
    """Wait for the verdict; None if the process has ended without one."""
    data = b""
    while len(data) < _SIZE and (part := os.read(fd, _SIZE - len(data))):
        data += part
    return data[-1] if len(data) == _SIZE and data.startswith(_MARK) else None
