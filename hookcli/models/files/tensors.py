"""Read files of tensors without running code from them: safetensors, torch.save, NumPy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch

from hookcli.errors import HookcliError, RequestError
from hookcli.models import places
from hookcli.models.files.missing_library import missing_library
from hookcli.models.sources.file_errors import damaged_file, file_not_found
from hookcli.text import first_line


def read_tensors(path: str, place: str, *, device: str = "cpu") -> Any:
    """Return the content of the file, whose kind is detected from the content.

    Raises
    ------
    RequestError : the file does not exist, or opening it could run code, or the environment of the
        model lacks the library that reads it.
    ModelError : it is corrupt.
    """
    file = places.START / path
    if not file.is_file():
        raise file_not_found(path, place, "give a .safetensors, .pt or .npy file", at=file)
    try:
        return _read(file, device)
    except ModuleNotFoundError as error:
        raise missing_library(f"reading {path}", error.name or str(error), place) from None
    except Exception as error:  # noqa: BLE001  # a corrupt file may raise anything
        raise _refusal(path, place, str(error).strip() or type(error).__name__) from None


def _read(file: Path, device: str) -> Any:
    with file.open("rb") as stream:
        head = stream.read(9)
    if not head:
        raise EOFError("the file is empty")
    if head.startswith(b"\x93NUMPY"):
        import numpy as np

        return torch.from_numpy(np.load(file, allow_pickle=False)).to(device)
    if head[8:9] == b"{":
        from safetensors.torch import load_file

        return {name: tensor.to(device) for name, tensor in load_file(file).items()}
    return torch.load(file, map_location=device, weights_only=True)


def _refusal(path: str, place: str, text: str) -> HookcliError:
    if "unsupported global" in text.lower() or "allow_pickle" in text:
        return RequestError(
            f"{path} contains more than tensors and plain values, and opening it could run code",
            place=place,
            hint="save tensors in tuples, lists and dicts: `torch.save(model.state_dict(), PATH)`",
        )
    return damaged_file(path, first_line(text), place)
