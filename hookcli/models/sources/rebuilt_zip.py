"""Build a new zip archive of checked members, which torch reads instead of the file itself.

Checked members are in memory. Large members, which contain numbers only, stay in the file and are
read from it when torch needs them. hookcli writes the archive's structure, so that two readers
cannot see different members, and no member can be replaced between the check and the use.
"""

from __future__ import annotations

import io
import os
import struct
import zlib
from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

_ALL = 0xFFFFFFFF  # means that the number is in the 64-bit field
_UTF8, _VERSION = 0x800, 45  # names are UTF-8; the format version with 64-bit fields


@dataclass(frozen=True, slots=True)
class Part:
    """A range of bytes in a file."""

    offset: int
    size: int
    crc: int


@dataclass(frozen=True, slots=True)
class Member:
    """A member of the archive to build: bytes in memory, or a part of the original file."""

    name: str
    content: bytes | Part


def rebuild(members: Iterable[Member], file: int) -> io.BufferedReader:
    """Return an archive of `members`, without compression, as a file to read.

    `file` is the descriptor that parts are read from; it must stay open while the archive is used.
    """
    segments: list[bytes | Part] = []
    directory: list[bytes] = []
    offset = 0
    for member in members:
        data, name = member.content, member.name.encode()
        size = _size(data)
        crc = data.crc if isinstance(data, Part) else zlib.crc32(data)
        extra = struct.pack("<HHQQ", 1, 16, size, size)
        fixed = struct.pack("<4H3I", _UTF8, 0, 0, 0x21, crc, _ALL, _ALL)
        lengths = struct.pack("<HH", len(name), len(extra))
        head = b"PK\3\4" + struct.pack("<H", _VERSION) + fixed + lengths + name + extra
        extra = struct.pack("<HHQQQ", 1, 24, size, size, offset)
        lengths = struct.pack("<5H2I", len(name), len(extra), 0, 0, 0, 0, _ALL)
        directory.append(
            b"PK\1\2" + struct.pack("<HH", _VERSION, _VERSION) + fixed + lengths + name + extra
        )
        segments += [head, data]
        offset += len(head) + size
    return io.BufferedReader(_Joined([*segments, _ending(directory, offset)], file))


def _ending(directory: list[bytes], at: int) -> bytes:
    """Return the central directory and the records after it."""
    whole, count = b"".join(directory), len(directory)
    record = struct.pack("<QHHIIQQQQ", 44, _VERSION, _VERSION, 0, 0, count, count, len(whole), at)
    locator = struct.pack("<IQI", 0, at + len(whole), 1)
    end = struct.pack("<4H2IH", 0, 0, min(count, 0xFFFF), min(count, 0xFFFF), _ALL, _ALL, 0)
    return whole + b"PK\6\6" + record + b"PK\6\7" + locator + b"PK\5\6" + end


def _size(data: bytes | Part) -> int:
    return data.size if isinstance(data, Part) else len(data)


class _Joined(io.RawIOBase):
    """Ranges of bytes, in memory or in a file, as one file."""

    def __init__(self, segments: list[bytes | Part], file: int) -> None:
        self._segments = [segment for segment in segments if _size(segment)]
        self._starts = [0, *accumulate(map(_size, self._segments))]
        self._file, self._at = file, 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        base = {os.SEEK_SET: 0, os.SEEK_CUR: self._at, os.SEEK_END: self._starts[-1]}[whence]
        if base + offset < 0:
            raise ValueError("the position is before the start")
        self._at = base + offset
        return self._at

    def readinto(self, buffer: Any) -> int:
        """Fill a buffer, at most to the end of one range."""
        if self._at >= self._starts[-1]:
            return 0
        number = bisect_right(self._starts, self._at) - 1
        segment, start = self._segments[number], self._at - self._starts[number]
        view = memoryview(buffer).cast("B")[: self._starts[number + 1] - self._at]
        if isinstance(segment, Part):
            count = _read_at(self._file, view, segment.offset + start)
        else:
            view[:] = segment[start : start + len(view)]
            count = len(view)
        self._at += count
        return count


def _read_at(file: int, view: memoryview, offset: int) -> int:
    """Fill a buffer from this position of a file, without its cursor where the system can."""
    if hasattr(os, "preadv"):
        return os.preadv(file, [view], offset)
    if hasattr(os, "pread"):  # older macOS
        data = os.pread(file, len(view), offset)
    else:  # Windows; the cursor is used nowhere else
        os.lseek(file, offset, os.SEEK_SET)
        data = os.read(file, len(view))
    view[: len(data)] = data
    return len(data)
