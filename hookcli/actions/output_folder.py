"""The folder that `save` writes to. With --data-only it must be below the working folder."""

from __future__ import annotations

import errno
import os
from contextlib import suppress
from pathlib import Path
from typing import Protocol

import torch

from hookcli.actions.tools import Tools
from hookcli.errors import RequestError
from hookcli.models import places
from hookcli.models.files.missing_library import require_libraries
from hookcli.models.files.tensor_writer import save_tensors
from hookcli.sentences import cannot_write
from hookcli.spec.working_folder import WRITE_HINT, obstacle, parts_below, refused_folder

# Windows has none of these flags; `_opened` refuses a system without them.
_SAFELY = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
_FOLDER = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0)
_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _SAFELY


class Folder(Protocol):
    """An existing folder."""

    def write(self, name: str, tensors: dict[str, torch.Tensor], metadata: dict[str, str]) -> None:
        """Write a safetensors file of this name."""


def open_folder(path: str, tools: Tools) -> Folder:
    """Return the folder; create it if it does not exist. A relative path starts at the working one.

    Raises
    ------
    RequestError : it cannot be created, or the model's environment lacks the libraries that write
        tensors. With --data-only also if it is not below the working folder, or if a symbolic link
        leads to it.
    """
    require_libraries("saving tensors", ("safetensors", "numpy"), tools.place)
    return ConfinedFolder(path, tools.place) if tools.data_only else AnyFolder(path, tools.place)


class AnyFolder:
    """A folder anywhere. Existing files are overwritten."""

    def __init__(self, path: str, place: str) -> None:
        self._path, self._place = Path(path), place
        try:
            self._path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise RequestError(
                f"cannot create directory {self._path}: {error.strerror}",
                place=place,
                hint="use another directory, as in `{save: DIRECTORY}`",
            ) from None

    def write(self, name: str, tensors: dict[str, torch.Tensor], metadata: dict[str, str]) -> None:
        """Write a file. An existing file is replaced.

        Raises
        ------
        RequestError : it cannot be written.
        """
        file = self._path / name
        try:
            save_tensors(tensors, file, metadata)
        except OSError as error:
            raise _unwritable(file, error, self._place) from None


class ConfinedFolder:
    """A folder below the working folder. Only new files are written, and no link is followed.

    Each folder of the path is opened relative to the one before it, so that none of them can be
    replaced with a link in the meantime.
    """

    def __init__(self, path: str, place: str) -> None:
        self._name, self._place = path, place
        self._own: dict[str, tuple[int, ...]] = {}  # the files of this run
        parts = parts_below(places.START, os.path.join(places.START, path))  # noqa: PTH118
        if parts is None:
            raise self._refusal("it is not below the working folder")
        try:
            self._folder = _opened(parts)
        except (OSError, ValueError) as error:
            why = obstacle(places.START, parts) or getattr(error, "strerror", None) or str(error)
            raise self._refusal(why) from None

    def _refusal(self, why: str) -> RequestError:
        return RequestError(refused_folder(self._name, why), place=self._place, hint=WRITE_HINT)

    def write(self, name: str, tensors: dict[str, torch.Tensor], metadata: dict[str, str]) -> None:
        """Write a new file.

        Raises
        ------
        RequestError : the name exists, and this run did not write it, or it cannot be written.
        """
        from safetensors.torch import save  # slow to import, and most runs do not need it

        data = save(tensors, metadata=metadata)
        self._remove_own(name)
        try:
            file = os.open(name, _NEW_FILE, 0o666, dir_fd=self._folder)
        except FileExistsError:
            raise RequestError(
                f"--data-only does not allow overwriting {self._name}/{name}",
                place=self._place,
                hint="remove the files of the previous run, or use another folder",
            ) from None
        try:
            with os.fdopen(file, "wb") as stream:
                stream.write(data)
                stream.flush()
                self._own[name] = _identity(os.fstat(file))
        except OSError as error:
            os.unlink(name, dir_fd=self._folder)
            raise _unwritable(Path(self._name) / name, error, self._place) from None

    def _remove_own(self, name: str) -> None:
        """Remove a file that this run wrote under this name with an earlier, unsuitable batch."""
        if name not in self._own:
            return
        try:
            stat_result = os.stat(name, dir_fd=self._folder, follow_symlinks=False)
        except FileNotFoundError:
            return
        if _identity(stat_result) == self._own[name]:
            os.unlink(name, dir_fd=self._folder)


def _unwritable(file: Path, error: OSError, place: str) -> RequestError:
    return RequestError(
        cannot_write(file, error.strerror or error),
        place=place,
        hint="check that the disk is not full, or choose another folder",
    )


def _identity(stat_result: os.stat_result) -> tuple[int, ...]:
    """Return the identity of a file. The inode alone is not enough, because it may be reused."""
    return stat_result.st_dev, stat_result.st_ino, stat_result.st_mode, stat_result.st_ctime_ns


def _opened(parts: tuple[str, ...]) -> int:
    """Return a descriptor of the folder with this path below the working folder.

    Raises
    ------
    OSError : it cannot be opened, or the system cannot open it without following links.
    """
    if os.open not in os.supports_dir_fd:
        raise OSError(errno.ENOSYS, "this system cannot open a folder without following links")
    folder = os.open(places.START, _FOLDER | getattr(os, "O_CLOEXEC", 0))
    for part in parts:
        above = folder
        try:
            with suppress(FileExistsError):
                os.mkdir(part, dir_fd=above)
            folder = os.open(part, _FOLDER | _SAFELY, dir_fd=above)
        finally:
            os.close(above)
    return folder
