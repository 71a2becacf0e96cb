"""Formats that write a folder: files are added to it completely or not at all."""

from __future__ import annotations

import contextlib
import itertools
import os
import tempfile
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path

from hookcli.errors import RequestError
from hookcli.formats.format import Format
from hookcli.sentences import cannot_write
from hookcli.system.signals import ending_delayed

_HINT = "choose a folder that you can write to"


def _unwritable(folder: Path, why: str) -> RequestError:
    return RequestError(cannot_write(folder, why), place=str(folder), hint=_HINT)


def check_folder_format(row: Format, folder: Path | None) -> None:
    """Check, before the run, that a format that writes a folder can do so.

    Raises
    ------
    RequestError : there is no folder, it is not writable, or the format's package is missing.
    """
    if folder is None:
        raise RequestError(
            f"format {row.name} writes a folder, not stdout",
            place=f"-f {row.name}",
            hint=f"write `-f {row.name}=DIR`",
        )
    if row.package and not _is_installed(row.package):
        raise RequestError(
            f"format {row.name} requires the package {row.package}",
            place=f"-f {row.name}={folder}",
            hint=f"run `pip install 'hookcli[{row.name}]'`",
        )
    try:
        nearest = next(path for path in (folder, *folder.absolute().parents) if path.exists())
        if not nearest.is_dir():
            raise _unwritable(folder, f"{nearest} is not a folder")
        missing = itertools.takewhile(lambda path: path != nearest, (folder, *folder.parents))
        if broken := next(filter(Path.is_symlink, missing), None):
            raise _unwritable(folder, f"{broken} is a link to a folder that does not exist")
    except OSError as error:  # a name that is too long
        raise _unwritable(folder, error.strerror or str(error)) from None
    if not os.access(nearest, os.W_OK | os.X_OK):
        raise _unwritable(folder, "permission denied")


def _is_installed(package: str) -> bool:
    """Whether a package can be imported; a folder of its name without code is no package."""
    spec = find_spec(package)
    return spec is not None and spec.origin is not None


def add_files(folder: Path, contents: Mapping[str, bytes]) -> None:
    """Create the folder if it is missing, and add the files to it.

    Each is written under a temporary name, which readers of the folder ignore, and renamed at the
    end. If that fails, no new file and no new folder is left.

    Raises
    ------
    RequestError : the folder cannot be created or written.
    """
    made: list[Path] = []
    names: dict[str, Path] = {}
    new: list[Path] = []
    try:
        _create(folder, made)
        new += [folder / name for name in contents if not (folder / name).exists()]
        for name, data in contents.items():
            names[name] = _write_temporary(folder, data)
        for name, temporary in names.items():
            temporary.replace(folder / name)
    except BaseException as error:
        for path in (*names.values(), *new):
            with contextlib.suppress(OSError):
                path.unlink()
        for path in reversed(made):
            with contextlib.suppress(OSError):
                path.rmdir()
        if isinstance(error, OSError):
            raise _unwritable(folder, error.strerror or str(error)) from None
        raise


def _create(folder: Path, made: list[Path]) -> None:
    """Create a folder and those above it, and note which were created."""
    missing = [path for path in (folder, *folder.parents) if not path.exists()]
    for path in reversed(missing):
        path.mkdir(exist_ok=True)
        made.append(path)


def _write_temporary(folder: Path, data: bytes) -> Path:
    """Write a temporary file with the usual permissions; nothing is left if that fails."""
    path = None
    try:
        with ending_delayed():
            handle, name = tempfile.mkstemp(prefix=".hookcli.", dir=folder)
            path = Path(name)
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
        mask = os.umask(0o077)
        os.umask(mask)
        path.chmod(0o666 & ~mask)
    except BaseException:
        if path is not None:
            with contextlib.suppress(OSError):
                path.unlink()
        raise
    return path
