"""Whether a descriptor stands within a line, so that a line of hookcli's begins on a new one.

A model or a script may end its output without a newline. What has been written is known only of a
regular file. Nothing tells it of a pipe or a terminal, unless the streams of the script are
wrapped. This imports only what Python has loaded.
"""

from __future__ import annotations

import os
import stat


def is_within_line(fd: int) -> bool:
    """Return whether the last byte of a regular file before its position is not a newline.

    False if it is not known: of a pipe, a terminal, or a file that cannot be read. The position
    stays.
    """
    try:
        status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode) or not hasattr(os, "pread"):
            return False
        end = status.st_size if _appends(fd) else os.lseek(fd, 0, os.SEEK_CUR)
        return 0 < end <= status.st_size and _byte_before(fd, end) not in {b"\n", b""}
    except OSError:
        return False


def _appends(fd: int) -> bool:
    """Return whether each write goes to the end. Linux says so without the module fcntl."""
    info = os.open(f"/proc/self/fdinfo/{fd}", os.O_RDONLY | os.O_CLOEXEC)
    try:
        text = os.read(info, 4096)
    finally:
        os.close(info)
    flags = next((line for line in text.splitlines() if line.startswith(b"flags:")), b"flags: 0")
    return bool(int(flags.split()[1], 8) & os.O_APPEND)


def _byte_before(fd: int, end: int) -> bytes:
    """Return a byte of a file that may be open for writing only."""
    reader = os.open(f"/proc/self/fd/{fd}", os.O_RDONLY | os.O_CLOEXEC)
    try:
        return os.pread(reader, 1, end - 1)
    finally:
        os.close(reader)
