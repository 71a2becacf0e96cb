"""Writes files of tensors, by torch.save and as safetensors: complete or not at all."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from hookcli.whole_files import replacing

_PROBE = 1 << 20  # bytes
_SYSTEM_ERROR = re.compile(r"\(os error (\d+)\)")  # in messages of safetensors


def save_whole(value: Any, file: Path) -> None:
    """Save a value by torch.save. If that fails, an existing file is unchanged.

    Raises
    ------
    OSError : the file cannot be written, such as on a full disk.
    Exception : the value cannot be pickled.
    """
    with replacing(file) as temporary:
        try:
            torch.save(value, temporary)
        except RuntimeError:  # torch's C++ code says neither which file nor why
            _try_to_write(temporary)
            raise


def _try_to_write(file: Path) -> None:
    """Append to a file what no full disk has room for.

    Raises
    ------
    OSError : that is not possible, which is then why torch failed.
    """
    with file.open("ab", buffering=0) as stream:
        left = _PROBE
        while left:
            left -= stream.write(bytes(left)) or 0


def save_tensors(
    tensors: dict[str, torch.Tensor], file: Path, metadata: Mapping[str, str] | None = None
) -> None:
    """Save tensors as safetensors. If that fails, an existing file is unchanged.

    Raises
    ------
    OSError : the file cannot be written, such as on a full disk.
    KeyError, ValueError, RuntimeError, SafetensorError : safetensors has no such tensors.
    """
    from safetensors import SafetensorError  # slow to import, and most runs do not need it
    from safetensors.torch import save_file

    with replacing(file) as temporary:
        try:
            save_file(tensors, temporary, metadata=None if metadata is None else dict(metadata))
        except SafetensorError as error:
            found = _SYSTEM_ERROR.search(str(error))
            if found is None:
                raise
            number = int(found[1])
            raise OSError(number, os.strerror(number)) from None
