"""The members of torch's zip archives: all lie in one folder, of any name."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def unzipped(path: Path) -> Iterator[zipfile.ZipFile]:
    """The archive, for reading.

    Raises
    ------
    zipfile.BadZipFile : it is damaged. Of one that was cut off zipfile would take an archive
        that is a member of it for the whole.
    """
    with zipfile.ZipFile(path) as archive:
        if min((one.header_offset for one in archive.infolist()), default=0) != 0:
            raise zipfile.BadZipFile("its end is missing")
        yield archive


def below_top(name: str) -> str:
    """A member's name without the archive's own folder."""
    return name.partition("/")[2]


def member_named(archive: zipfile.ZipFile, name: str) -> str:
    """The full name of a member.

    Raises
    ------
    ValueError : there is none.
    """
    for one in archive.namelist():
        if below_top(one) == name:
            return one
    raise ValueError(f"there is no {name} in it")
