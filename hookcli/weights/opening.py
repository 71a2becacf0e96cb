"""Opens what a path names, if it is weights: a file, an index of shards, or a folder. Torch-free."""

from __future__ import annotations

import os
from pathlib import Path

from hookcli.errors import HookcliError, RequestError
from hookcli.models.sources.content import identify, identify_folder
from hookcli.models.sources.file_errors import damaged_file, file_not_found, reason_of
from hookcli.sentences import cannot_read
from hookcli.weights import safetensors_file
from hookcli.weights.stored import StoredFile, Weights

# What identify() calls the files that have tensors, and no model.
_FILES = {
    "safetensors", "state_dict", "checkpoint", "dict", "pickle", "index", "gguf",
}  # fmt: skip
_FOLDERS = {"distributed_checkpoint", "pretrained"}


def is_weights(source: str) -> bool:
    """Whether a path names weights without a model; False if it cannot be read."""
    path = Path(source)
    try:
        if path.is_dir():
            return identify_folder(path) in _FOLDERS or _index_in(path) is not None
        return path.is_file() and identify(path).kind in _FILES
    except (OSError, ValueError):
        return False


def open_weights(source: str, place: str) -> Weights:
    """Return the tensors that a path names, without their values.

    Raises
    ------
    RequestError : there is no file, or its kind is not one of weights.
    ModelError : it is damaged.
    """
    path = Path(source)
    try:
        return _opened(path, source, place)
    except HookcliError:
        raise
    except OSError as error:
        raise RequestError(
            cannot_read(source, error.strerror or str(error)),
            place=place,
            hint="check the path and the file's permissions",
        ) from None
    except (ValueError, RecursionError) as error:
        raise damaged_file(source, reason_of(error), place) from None


def _opened(path: Path, source: str, place: str) -> Weights:
    if path.is_dir():
        raise NotImplementedError
    if not path.is_file():
        raise file_not_found(source, place)
    return read_file(path, source)


def read_file(path: Path, source: str) -> Weights:
    """Return the tensors of one file. Raises ValueError if it is damaged."""
    header = safetensors_file.Header(path, source)
    file = StoredFile(source, os.stat(path).st_size)  # noqa: PTH116
    return Weights(source, "safetensors", [file], header.tensors, header.metadata, header.notes)


def _index_in(path: Path) -> Path | None:
    return None
