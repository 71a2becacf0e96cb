"""What the script's process hands over to the one that waits for it: its end, and its report.

It is a file without a name, which the script's process opens by the descriptor of the other one,
so that the script cannot close it. This imports only what Python has loaded.
"""

from __future__ import annotations

import marshal
import os

TYPE_CHECKING = False  # known to type checkers: importing typing is not what plain Python does
if TYPE_CHECKING:
    from typing import Any

ENDED = b"E"  # how the script has ended: its report is now made
REPORT = b"R"  # the report, and those of others
SETTLED = b"S"  # nothing is left to do
_SIZE = 8  # bytes of the length of a part
_VERSION = 2  # of marshal: any Python reads it

# The script may replace them.
_open, _write, _close, _dumps = os.open, os.write, os.close, marshal.dumps
_fstat, _truncate = os.fstat, os.ftruncate
_FLAGS = os.O_WRONLY | os.O_APPEND | getattr(os, "O_CLOEXEC", 0)


def hand_over(path: str, kind: bytes, value: Any) -> None:
    """Add a part, whole or not at all: a value of strings, bytes, numbers, lists and dicts.

    Raises
    ------
    OSError : it cannot be written.
    """
    data = _dumps(value, _VERSION)
    left = memoryview(kind + len(data).to_bytes(_SIZE, "little") + data)
    handle = _open(path, _FLAGS)
    try:
        before = _fstat(handle).st_size
        try:
            while left:
                left = left[_write(handle, left) :]
        except BaseException:  # a full disk, or what a handler of a signal raises
            _truncate(handle, before)
            raise
    finally:
        _close(handle)


def handed_over(data: bytes) -> dict[bytes, Any]:
    """Return the parts by their kinds. One that is not complete is not there."""
    parts = {}
    while len(data) > _SIZE:
        end = 1 + _SIZE + int.from_bytes(data[1 : 1 + _SIZE], "little")
        if len(data) < end:
            break
        parts[data[:1]] = marshal.loads(data[1 + _SIZE : end])
        data = data[end:]
    return parts
