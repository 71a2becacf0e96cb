"""Load a TorchScript file. The file is only read."""

from __future__ import annotations

import io
import re
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from hookcli.errors import HookcliError, ModelError, RequestError
from hookcli.models import places
from hookcli.models.failures import message_of
from hookcli.models.loaded import Loaded
from hookcli.models.scripted import check_callable
from hookcli.models.sources.file_errors import (
    COMPLETE,
    damaged_file,
    newer_format,
    unknown_operator,
)
from hookcli.models.sources.parse import Archive
from hookcli.models.sources.zip_members import below_top, unzipped
from hookcli.sentences import cannot_read
from hookcli.spec.request import ModelSpec
from hookcli.text import first_line

_UNKNOWN = re.compile(r"Unknown builtin op: ([\w:]+)|object has no attribute or method '([\w:]+)'")
_VERSION = re.compile(r"file with version (\d+), but the maximum supported version\D+(\d+)")


def load_script(archive: Archive, spec: ModelSpec, phase: Callable[[str], None]) -> Loaded:
    """Load the module in a TorchScript file.

    Raises
    ------
    RequestError : it cannot be read.
    ModelError : it is damaged, or needs what this torch lacks.
    """
    phase("import")
    path = places.START / archive.path
    data = _read(path, spec.source)
    phase("build")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch warns that TorchScript is deprecated
        try:
            _refuse_damaged(data, archive.path, spec.source)
            root = torch.jit.load(io.BytesIO(data), map_location="cpu")  # type: ignore[no-untyped-call]
            _check_storages(root, data, spec.source)
        except HookcliError:
            raise
        except Exception as error:  # noqa: BLE001  # no code has run: the file is damaged
            raise _refusal(error, spec.source) from None
    check_callable(root, spec.source)
    return Loaded(root, None, format="torchscript")


def _refuse_damaged(data: bytes, path: str, source: str) -> None:
    with unzipped(io.BytesIO(data)) as members:
        try:
            check_pickles(members)
        except ValueError as error:
            raise damaged_file(Path(path).name, str(error), source) from None


def _check_storages(root: Any, data: bytes, source: str) -> None:
    """Check that the file contains all bytes of its tensors: torch would read beyond its end."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        sizes = {below_top(info.filename): info.file_size for info in archive.infolist()}
    stored = sum(size for name, size in sizes.items() if name.startswith(("data/", "constants/")))
    needed = {}
    for tensor in root.state_dict().values():
        if tensor.layout == torch.strided and tensor.device.type == "cpu":
            storage = tensor.untyped_storage()
            if storage.nbytes():
                needed[storage.data_ptr()] = storage.nbytes()
    if "data.pkl" in sizes and sum(needed.values()) > stored:
        raise ModelError(
            f"the TorchScript file is damaged: its tensors need {sum(needed.values()):,} bytes, "
            f"but it contains {stored:,}",
            place=source,
            hint=COMPLETE,
        )


def _read(path: Path, source: str) -> bytes:
    """Read the whole file at once, because it may change meanwhile."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise RequestError(
            cannot_read(path, error.strerror), place=source, hint="check the file"
        ) from None


def _refusal(error: Exception, source: str) -> ModelError:
    message = message_of(error)
    unknown = _UNKNOWN.search(message)
    if unknown:
        name = unknown[1] or unknown[2]
        return unknown_operator(name, source, message)
    newer = _VERSION.search(message)
    if newer:
        return newer_format(newer[1], newer[2], source, message)
    return ModelError(
        f"cannot load the TorchScript file: {first_line(message)}",
        place=source,
        hint="save the file again with `torch.jit.save`",
        details=message,
    )


# The pickles of the file are checked before torch reads them.
#
# torch allocates what a pickle declares before it looks at what the file contains: 32 bytes for
# each number up to the largest of the memo, and all bytes of a string. A file of a few kilobytes
# would take all memory.

_PICKLES = (".pkl", ".debug_pkl")
_RUN = re.compile(  # opcodes whose arguments have a fixed length, or are two lines
    rb"(?:[\])(\x88\x89Nt\x85-\x87}eal0ds\x81bRQu1]|[\x80qKh].|M..|[Jj].{4}|G.{8}"
    rb"|c[^\n]*\n[^\n]*\n){1,1000}",
    re.DOTALL,
)
_PUT = ord("r")  # LONG_BINPUT: a number of the memo in four bytes
_LENGTHS = {  # the size of the length before the bytes of an argument
    ord("U"): 1,  # SHORT_BINSTRING
    ord("C"): 1,  # SHORT_BINBYTES
    0x8A: 1,  # LONG1
    0x8C: 1,  # SHORT_BINUNICODE
    ord("T"): 4,  # BINSTRING
    ord("B"): 4,  # BINBYTES
    ord("X"): 4,  # BINUNICODE
    0x8B: 4,  # LONG4
    0x8D: 8,  # BINUNICODE8
    0x8E: 8,  # BINBYTES8
}


def check_pickles(archive: zipfile.ZipFile) -> None:
    """Check that no pickle of the archive declares more than it contains.

    Raises
    ------
    ValueError : one does; the message names it.
    """
    for member in archive.infolist():
        if member.filename.endswith(_PICKLES):
            excess = excess_of(archive.read(member))
            if excess is not None:
                raise ValueError(f"{member.filename} declares {excess}")


def excess_of(pickle: bytes) -> str | None:
    """Return what a pickle declares beyond its own size, or None.

    Opcodes that torch's own reader does not know end the search: torch refuses them itself.
    """
    at = 0
    while at < len(pickle):
        if run := _RUN.match(pickle, at):
            at = run.end()
            continue
        opcode, at = pickle[at], at + 1
        if opcode == _PUT:
            number = int.from_bytes(pickle[at : at + 4], "little")
            if number > len(pickle):
                return f"{number:,} entries in {len(pickle):,} bytes"
            at += 4
        elif opcode in _LENGTHS:
            size = _LENGTHS[opcode]
            length = int.from_bytes(pickle[at : at + size], "little")
            at += size + length
            if at > len(pickle):
                return f"a string of {length:,} bytes in {len(pickle):,} bytes"
        else:
            return None
    return None
