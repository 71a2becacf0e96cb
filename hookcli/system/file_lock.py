"""A lock on a file, as long as a process lives, also across exec. Forked processes do not have it.

The system releases it when the process ends, however it ends, or closes any descriptor of the file.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False  # known to type checkers: importing typing is not what plain Python does
if TYPE_CHECKING:
    from pathlib import Path


def lock_file(handle: int) -> bool:
    """Lock an open file. Return False if another process has locked it.

    A system without such locks gives none, and True is returned.
    """
    try:
        import fcntl  # not on Windows
    except ImportError:
        return True
    try:
        fcntl.lockf(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        return False
    except OSError:  # a file system without locks
        return True
    return True


def is_locked(path: str | Path) -> bool | None:
    """Return whether another process has locked a file; None if that cannot be known."""
    try:
        import fcntl  # not on Windows

        handle = os.open(path, os.O_RDONLY | getattr(os, "O_CLOEXEC", 0))
    except (ImportError, OSError):
        return None
    try:
        fcntl.lockf(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        return True
    except OSError:
        return None
    finally:
        os.close(handle)
    return False
