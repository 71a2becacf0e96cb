"""The members of torch's zip archives: all lie in one folder, of any name."""

from __future__ import annotations

import zipfile


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
