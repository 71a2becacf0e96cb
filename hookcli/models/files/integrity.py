"""Check a file of a model while it is opened, and report damage of the file as such."""

from __future__ import annotations

import os
import re
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hookcli.errors import HookcliError, ModelError
from hookcli.models.failures import text_of
from hookcli.models.sources.file_errors import damaged_file, newer_format, reason_of
from hookcli.models.sources.zip_members import check_expansion, unzipped
from hookcli.sentences import cannot_read
from hookcli.torch_private import PyTorchFileReader

_OF_FILES = re.compile(
    r"PytorchStreamReader|PyTorch file with version|central directory|file read failed"
    r"|unexpected EOF|Ran out of input|pickle data was truncated|invalid load key"
    r"|unexpected pos|file in archive is not in a subdirectory|Serialized version|archive version"
)
_NEWER = re.compile(r"file with version (\d+), but the maximum supported version\D+(\d+)")
_DAMAGE = (zipfile.BadZipFile, zlib.error, EOFError)


@contextmanager
def checked_archive(path: Path, source: str) -> Iterator[None]:
    """Check that a file is complete, and that it does not change while it is read.

    Raises
    ------
    ModelError : it is damaged, of a version that this torch does not know, or it changed.
    """
    before = _state(path, source)
    _check_sums(path, source)
    try:
        yield
    except HookcliError:
        _unchanged(path, source, before)
        raise
    except Exception as error:
        _unchanged(path, source, before)
        if is_of_file(error):
            raise damaged(path, source, error) from None
        raise
    _unchanged(path, source, before)


def is_of_file(error: BaseException) -> bool:
    """Whether an exception is about a damaged file, and not about the code in it."""
    kind = type(error)
    other = issubclass(kind, RuntimeError | ValueError) or kind.__name__.endswith("UnpicklingError")
    return issubclass(kind, _DAMAGE) or (other and _OF_FILES.search(text_of(error)) is not None)


def damaged(path: Path, source: str, error: BaseException) -> ModelError:
    """Return the error for a file that cannot be read, with torch's reason."""
    text = reason_of(error)
    newer = _NEWER.search(text)
    if newer:
        return newer_format(newer[1], newer[2], source)
    return damaged_file(path.name, _short(text), source)


def _short(text: str) -> str:
    return text.split(" Exception raised from")[0].split("Your PyTorch")[0].rstrip(". ")


def _check_sums(path: Path, source: str) -> None:
    """Check the checksums of a zip's members, which torch does not do, and its format version."""
    if not zipfile.is_zipfile(path):
        return
    try:
        with unzipped(path) as archive:
            check_expansion(archive)
            bad = archive.testzip()
    except Exception as error:  # noqa: BLE001  # decompressors raise many types for damage
        raise damaged(path, source, error) from None
    if bad is not None:
        raise damaged(path, source, ValueError(f"{bad} does not match its checksum"))
    try:
        PyTorchFileReader(str(path))
    except Exception as error:  # noqa: BLE001  # its message may contain undecodable bytes
        if _NEWER.search(str(error)):  # the loader reports anything else
            raise damaged(path, source, error) from None


def _state(path: Path, source: str) -> tuple[int, int, int, int]:
    try:
        stat_result = os.stat(path)  # noqa: PTH116  # the path may no longer exist
    except OSError as error:
        raise ModelError(
            cannot_read(path.name, error.strerror),
            place=source,
            hint="check whether something removed the file, then run again",
        ) from None
    return stat_result.st_dev, stat_result.st_ino, stat_result.st_size, stat_result.st_mtime_ns


def _unchanged(path: Path, source: str, before: tuple[int, int, int, int]) -> None:
    if _state(path, source) != before:
        raise ModelError(
            f"{path.name} changed while it was read",
            place=source,
            hint="wait until the file is complete, then run again",
        ) from None
