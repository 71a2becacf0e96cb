"""The file of a journal: created and locked before the script runs, and appended to by it."""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path

from hookcli.system.file_lock import lock_file

PREVIOUS = ".previous"  # after the name of the journal of an earlier run that did not end
_HIGH = 200  # descriptors of the script are lower, as without hookcli
_FLAGS = os.O_RDWR | os.O_APPEND | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0)


class JournalInUseError(Exception):
    """Another run that lives writes this journal."""


class JournalFile:
    """A journal that is open for appending, in the process that has locked it.

    The script shares the process: it may close all descriptors, and their numbers may then be those
    of other files. Nothing is written to these.
    """

    def __init__(self, path: str, handle: int) -> None:
        self.path, self.handle = path, handle
        self._identity = self._now()
        self.size = 0 if self._identity is None else os.fstat(handle).st_size

    @classmethod
    def create(cls, path: str) -> JournalFile:
        """Create a journal; one that an earlier run has left is kept under another name.

        Raises
        ------
        JournalInUseError : another process writes it.
        OSError : it cannot be created.
        """
        keep_previous(path)
        file = cls(path, _high(os.open(path, _FLAGS | os.O_CREAT, 0o666)))
        if not lock_file(file.handle) or file.size or not file.is_at_path():
            file.close()  # another run has begun meanwhile
            raise JournalInUseError
        return file

    def is_at_path(self) -> bool:
        """Return whether the path still names this file."""
        try:
            status = os.stat(self.path)  # noqa: PTH116  # as a string
        except OSError:
            return False
        return (status.st_dev, status.st_ino) == self._identity

    def _now(self) -> tuple[int, int] | None:
        try:
            status = os.fstat(self.handle)
        except OSError:
            return None
        return status.st_dev, status.st_ino

    def _check(self) -> None:
        """Open the file again if the script has closed its descriptor; raises OSError."""
        if self._identity is not None and self._now() == self._identity:
            return
        flags = _FLAGS & ~getattr(os, "O_NOFOLLOW", 0) if self._is_unnamed() else _FLAGS
        self.handle = _high(os.open(self.path, flags))
        if not self._is_unnamed():
            lock_file(self.handle)
        self._identity, self.size = self._now(), os.fstat(self.handle).st_size

    def _is_unnamed(self) -> bool:
        """Return whether the path is that of a descriptor in another process."""
        return self.path.startswith("/proc/")

    def append(self, data: bytes) -> None:
        """Write entries. They are complete, or the file is as it was before.

        Raises
        ------
        OSError : they cannot be written, such as on a full disk.
        """
        self._check()
        before, left = os.fstat(self.handle).st_size, memoryview(data)
        try:
            while left:
                left = left[os.write(self.handle, left) :]
        except BaseException:  # also what a handler of a signal raises
            with contextlib.suppress(OSError):
                os.ftruncate(self.handle, before)
            raise
        self.size = before + len(data)

    def replace(self, data: bytes) -> None:
        """Write the file again, whole or not at all; one without a name in place.

        Raises
        ------
        OSError : it cannot be written; the file is as it was.
        """
        self._check()
        if self._is_unnamed():  # no file can take its place
            os.ftruncate(self.handle, 0)
            self.append(data)
            return
        folder, name = os.path.split(self.path)
        handle, temporary = tempfile.mkstemp(prefix=f".{name[:40]}.", dir=folder)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
            Path(temporary).chmod(os.fstat(self.handle).st_mode & 0o777)
            new = _high(os.open(temporary, _FLAGS))
            lock_file(new)
            os.replace(temporary, self.path)  # noqa: PTH105  # the script may replace pathlib's
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(temporary)  # noqa: PTH108
            raise
        os.close(self.handle)
        self.handle, self.size = new, len(data)
        self._identity = self._now()

    def close(self) -> None:
        """Close the descriptor, unless it is that of another file."""
        if self._identity is not None and self._now() == self._identity:
            os.close(self.handle)
        self._identity = None


def keep_previous(path: str) -> None:
    """Rename a journal that an earlier run has left, which was killed.

    Raises
    ------
    JournalInUseError : its process lives.
    OSError : it cannot be opened or renamed.
    """
    try:
        handle = os.open(path, _FLAGS)
    except FileNotFoundError:
        return
    try:
        if not lock_file(handle):
            raise JournalInUseError
        os.replace(path, path + PREVIOUS)  # noqa: PTH105  # as a string
    finally:
        os.close(handle)


def _high(handle: int) -> int:
    """Return a high number for a descriptor, so that those of the script are as without hookcli."""
    try:
        import fcntl  # not on Windows

        high = fcntl.fcntl(handle, fcntl.F_DUPFD_CLOEXEC, _HIGH)
    except (ImportError, AttributeError, OSError, ValueError):
        return handle
    os.close(handle)  # nothing is locked so far
    return high
