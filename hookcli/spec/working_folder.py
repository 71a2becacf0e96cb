"""Folders below the working folder, reached without following a symbolic link.

With --data-only a stranger's configuration says where files are written and which files are read.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

WRITE_HINT = "use a folder below the working folder, as in `{save: taps/}`"
SHOWN = (".yaml", ".yml")  # of the files that a stranger's configuration extends


def parts_below(home: Path, path: str) -> tuple[str, ...] | None:
    """The names that lead from `home` to an absolute path; None if it is not below `home`.

    `home` is found by what it is, not by its name: the path may reach it through a link. None of
    the names is "..".
    """
    whole = Path(os.path.normpath(path))
    for above in (whole, *whole.parents):
        try:
            if above.samefile(home):
                return whole.relative_to(above).parts
        except (OSError, ValueError):  # not there; a NUL in the name
            continue
    return None


def obstacle(home: Path, parts: tuple[str, ...]) -> str | None:
    """Why no folder can be made there without following a link; None if one can."""
    for count in range(1, len(parts) + 1):
        path = home.joinpath(*parts[:count])
        try:
            mode = path.lstat().st_mode
        except FileNotFoundError:
            return None
        except (OSError, ValueError) as error:
            return f"{_name(parts, count)}: {getattr(error, 'strerror', None) or error}"
        if stat.S_ISLNK(mode):
            return f"{_name(parts, count)} is a symbolic link"
        if not stat.S_ISDIR(mode):
            return f"{_name(parts, count)} is not a folder"
    return None


def _name(parts: tuple[str, ...], count: int) -> str:
    return "/".join(parts[:count])


def may_show(file: str, named: str) -> bool:
    """Whether errors may show what a file holds, if a stranger's configuration names it.

    `named` is the configuration that the user named. Files outside the working folder and the
    configuration's, hidden ones (.git/config) and those that are not YAML may hold secrets.
    """
    real, here = Path(os.path.realpath(file)), Path(os.path.realpath(os.curdir))
    home = Path(os.path.abspath(named)).parent  # noqa: PTH100  # resolve() would follow links
    if not home.is_relative_to(here):
        here = Path(os.path.realpath(home))
    if not real.is_relative_to(here):
        return False
    if file == named:
        return True
    below = real.relative_to(here).parts
    return real.suffix in SHOWN and not any(part.startswith(".") for part in below)


def refused_folder(name: str, why: str) -> str:
    """Return the message for a folder that --data-only does not allow writing to."""
    return f"--data-only does not allow writing to {name}: {why}"
