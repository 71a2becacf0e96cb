"""A folder for temporary files that only this user can read, and that is removed at the end."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

_USUAL = ("/tmp", "/var/tmp")  # as in tempfile


@contextlib.contextmanager
def private_folder() -> Iterator[str]:
    """Yield the path of a new folder, below $TMPDIR if torch can open files there.

    Raises
    ------
    OSError : no folder for temporary files can be written.
    """
    folder = tempfile.mkdtemp(prefix="hookcli-", dir=_parent())
    try:
        yield folder
    finally:
        try:
            Path(folder).rmdir()  # removing a tree requires a descriptor
        except OSError:
            shutil.rmtree(folder, ignore_errors=True)


def _parent() -> str:
    """Return the folder of tempfile; torch requires a name in UTF-8, so else a usual one."""
    found = tempfile.gettempdir()
    if _is_utf8(found):
        return found
    return next((name for name in _USUAL if os.access(name, os.W_OK | os.X_OK)), found)


def _is_utf8(path: str) -> bool:
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True
