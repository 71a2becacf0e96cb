"""The folder that `save` writes to: any, or with --data-only one below the working folder."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import Protocol

import torch

from hookcli.actions.tools import Tools
from hookcli.errors import RequestError
from hookcli.models import places
from hookcli.spec.working_folder import WRITE_HINT, obstacle, parts_below, refused_folder

_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class Folder(Protocol):
    """A folder that is there."""

    def write(self, name: str, tensors: dict[str, torch.Tensor], metadata: dict[str, str]) -> None:
        """Write a safetensors file of this name."""


def open_folder(path: str, tools: Tools) -> Folder:
    """The folder, made if it is not there. A relative path is below the working folder.

    Raises
    ------
    RequestError : it cannot be made; with --data-only also if it is not below the working folder,
        or a symbolic link leads to it.
    """
    return ConfinedFolder(path, tools.place) if tools.data_only else AnyFolder(path, tools.place)


class AnyFolder:
    """A folder anywhere; a file that is there is written over."""

    def __init__(self, path: str, place: str) -> None:
        self._path = Path(path)
        try:
            self._path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise RequestError(
                f"the directory {self._path} cannot be made: {error.strerror}",
                place=place,
                hint="name another one: {save: DIRECTORY}",
            ) from None

    def write(self, name: str, tensors: dict[str, torch.Tensor], metadata: dict[str, str]) -> None:
        """Write a file, over what is there."""
        from safetensors.torch import save_file  # only here: every run would wait for it

        save_file(tensors, self._path / name, metadata=metadata)


class ConfinedFolder:
    """A folder below the working folder; only new files are written, and no link is followed.

    Each folder on the way is opened below the one before it, so that none of them can be replaced
    by a link meanwhile.
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
        RequestError : there is something of this name that this run did not write.
        """
        from safetensors.torch import save  # only here: every run would wait for it

        data = save(tensors, metadata=metadata)
        self._remove_own(name)
        try:
            file = os.open(name, _NEW_FILE, 0o666, dir_fd=self._folder)
        except FileExistsError:
            raise RequestError(
                f"--data-only does not write over {name}, which is in {self._name} already",
                place=self._place,
                hint="remove the files of the last run, or name another folder",
            ) from None
        with os.fdopen(file, "wb") as stream:
            stream.write(data)
            stream.flush()
            self._own[name] = _identity(os.fstat(file))

    def _remove_own(self, name: str) -> None:
        """Remove what an earlier batch of this run, which did not fit, wrote by this name."""
        if name not in self._own:
            return
        try:
            stat_result = os.stat(name, dir_fd=self._folder, follow_symlinks=False)
        except FileNotFoundError:
            return
        if _identity(stat_result) == self._own[name]:
            os.unlink(name, dir_fd=self._folder)


def _identity(stat_result: os.stat_result) -> tuple[int, ...]:
    """What tells a file from another one, to which the number of its inode may have passed."""
    return stat_result.st_dev, stat_result.st_ino, stat_result.st_mode, stat_result.st_ctime_ns


def _opened(parts: tuple[str, ...]) -> int:
    """A descriptor of the folder that these names lead to from the working folder."""
    folder = os.open(places.START, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    for part in parts:
        above = folder
        try:
            with suppress(FileExistsError):
                os.mkdir(part, dir_fd=above)
            folder = os.open(part, _DIRECTORY, dir_fd=above)
        finally:
            os.close(above)
    return folder
