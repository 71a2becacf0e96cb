"""Folders below the working folder, reached without following a symbolic link.

With --data-only, a configuration of unknown origin decides which files are written and read.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

WRITE_HINT = "use a folder below the working folder, as in `{save: taps/}`"
SHOWN = (".yaml", ".yml")  # the extended files whose content errors may show


def parts_below(home: Path, path: str) -> tuple[str, ...] | None:
    """Return the names that lead from `home` to an absolute path; None if it is not below `home`.

    `home` is compared by identity, not by name, because the path may reach it through a link. None
    of the names is "..".
    """
    whole = Path(os.path.normpath(path))
    for above in (whole, *whole.parents):
        try:
            if above.samefile(home):
                return whole.relative_to(above).parts
        except (OSError, ValueError):  # it does not exist, or has a NUL in its name
            continue
    return None


def obstacle(home: Path, parts: tuple[str, ...]) -> str | None:
    """Return why a folder cannot be created without following a link; None if it can."""
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
    """Return whether errors may show the content of a file that an unknown configuration names.

    `named` is the configuration that the user named. Files outside the working folder and the
    configuration's folder, hidden files (.git/config) and files that are not YAML may contain
    secrets.
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
