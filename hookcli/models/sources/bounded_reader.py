"""Read from a file whose declared lengths cannot be trusted."""

from __future__ import annotations

from typing import IO

_LONGEST = 1 << 20  # bytes of an argument that are read: names and numbers are shorter


class _Skipped(bytes):
    """A long argument that was not read: it is empty, and its `len` is the declared length."""

    length = 0

    def __len__(self) -> int:
        return self.length


class BoundedReader:
    """A file for `genops`, which otherwise allocates as many bytes as a pickle declares."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self.tell = file.tell

    def read(self, length: int) -> bytes:
        """Read `length` bytes, or those that are left."""
        if length <= _LONGEST:
            return self._file.read(length)
        start = self._file.tell()
        try:
            self._file.seek(start + length - 1)
        except (OverflowError, ValueError, OSError):  # longer than any file
            return b""
        if not self._file.read(1):
            return b""
        skipped = _Skipped()
        skipped.length = length
        return skipped

    def readline(self) -> bytes:
        """Read the rest of the line; of a very long line only the beginning."""
        return self._file.readline(_LONGEST)
