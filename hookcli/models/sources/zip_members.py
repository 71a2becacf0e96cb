"""The members of torch's zip archives: all are in one folder of any name."""

from __future__ import annotations

import struct
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from hookcli.models.sources.rebuilt_zip import Part

_HEAD = 30  # bytes of a member's own header, before its name
_MOST_EXPANDED, _MOST_RATIO = 64 << 20, 100  # bytes; ratio: of source code, which torch compresses


@contextmanager
def unzipped(path: Path | IO[bytes]) -> Iterator[zipfile.ZipFile]:
    """Open the archive for reading.

    Raises
    ------
    zipfile.BadZipFile : it is damaged. If an archive is truncated, zipfile alone would open an
        archive that is a member of it instead.
    """
    with zipfile.ZipFile(path) as archive:
        members = sorted(archive.infolist(), key=lambda info: info.header_offset)
        if members and members[0].header_offset != 0:
            raise zipfile.BadZipFile("its end is missing")
        starts = [*(member.header_offset for member in members[1:]), archive.start_dir]
        for member, end in zip(members, starts, strict=False):
            if member.header_offset + _HEAD + member.compress_size > end:
                raise zipfile.BadZipFile("its members overlap")
        yield archive


def check_plain(archive: zipfile.ZipFile) -> None:
    """Check that no member needs a password.

    Raises
    ------
    zipfile.BadZipFile : one does.
    """
    if any(member.flag_bits & _ENCRYPTED for member in archive.infolist()):
        raise zipfile.BadZipFile("a member is encrypted")


_ENCRYPTED = 1  # a flag of a member


def check_expansion(archive: zipfile.ZipFile) -> None:
    """Check that an archive of torch has plausible sizes: torch compresses only source code.

    Raises
    ------
    zipfile.BadZipFile : its members would expand to far more than the file contains.
    """
    packed = [member for member in archive.infolist() if member.compress_type != zipfile.ZIP_STORED]
    large, small = (
        sum(getattr(member, size) for member in packed) for size in ("file_size", "compress_size")
    )
    if large > _MOST_EXPANDED and large > _MOST_RATIO * small:
        raise zipfile.BadZipFile(
            f"its compressed members expand {large // max(small, 1):,} times, to {large:,} bytes, "
            "and torch does not write such archives"
        )


def why_ambiguous(archive: zipfile.ZipFile, *, one_folder: bool) -> Iterator[str]:
    """Yield reasons why two readers may see different members: torch ignores case, for example."""
    seen: set[str] = set()
    for info in archive.infolist():
        name = info.filename
        if name.casefold() in seen:
            yield f"it contains {name} twice"
        seen.add(name.casefold())
        parts = name.removesuffix("/").split("/")
        if name != info.orig_filename or not name.isprintable() or "\\" in name:
            yield f"invalid member name: {info.orig_filename[:60]!r}"
        elif any(part in {"", ".", ".."} for part in parts):
            yield f"invalid member path: {name[:60]!r}"
    tops = {name.partition("/")[0] for name in archive.namelist()}
    if one_folder and len(tops) > 1:
        yield "it contains more than one top-level folder"


def part_of(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> Part | None:
    """Return the position of a member's bytes in the file; None if they are compressed.

    Raises
    ------
    zipfile.BadZipFile : the member's own header differs from the directory.
    """
    if info.compress_type != zipfile.ZIP_STORED:
        return None
    archive.open(info).close()  # it compares the names in header and directory
    file = archive.fp
    if file is None or info.file_size != info.compress_size:
        raise zipfile.BadZipFile(f"the size of {info.filename} differs from the size in its header")
    file.seek(info.header_offset + 26)
    start = info.header_offset + _HEAD + sum(struct.unpack("<HH", file.read(4)))
    return Part(start, info.file_size, info.CRC)


def below_top(name: str) -> str:
    """Return a member's name without the archive's own folder."""
    return name.partition("/")[2]


def member_named(archive: zipfile.ZipFile, name: str) -> str:
    """Return the full name of a member.

    Raises
    ------
    ValueError : there is no such member.
    """
    for full_name in archive.namelist():
        if below_top(full_name) == name:
            return full_name
    raise ValueError(f"{name} not found in the archive")
