"""A descriptor that is used only as long as it is the same file.

hookcli shares a process with the user's code, which may close all descriptors, as daemons do. The
number may then be that of another file, which hookcli must not write, cut or close.
"""

from __future__ import annotations

import contextlib
import errno
import os
from io import FileIO


class OwnDescriptor:
    """The descriptor of a file that was opened, and is closed here."""

    def __init__(self, file: FileIO) -> None:
        with file:
            self._number = os.dup(file.fileno())
        self._file = self._identity()
        self._is_open = True

    def number(self) -> int:
        """Return the number.

        Raises
        ------
        OSError : it is closed, or that of another file.
        """
        if not self._is_open or self._identity() != self._file:
            raise OSError(errno.EBADF, "its descriptor was closed")
        return self._number

    def close(self) -> None:
        """Close the descriptor, unless it is that of another file."""
        with contextlib.suppress(OSError):
            os.close(self.number())
        self._is_open = False

    def _identity(self) -> tuple[int, int]:
        status = os.fstat(self._number)
        return status.st_dev, status.st_ino
