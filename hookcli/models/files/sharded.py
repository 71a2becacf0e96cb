"""Weights in several files: an index names the file of each tensor. Files are read one by one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hookcli.errors import RequestError
from hookcli.models import places
from hookcli.models.files.tensors import read_tensors
from hookcli.models.sources.file_errors import file_not_found
from hookcli.models.sources.weight_index import (
    ADD_PART,
    NAMES,
    files_of,
    inconsistent,
    is_index,
    not_assigned,
)
from hookcli.sentences import missing_name

__all__ = ["is_index", "read_shards", "weights_in"]


def weights_in(path: str, place: str) -> str:
    """Return the file of weights in a folder; any other path unchanged.

    Raises
    ------
    RequestError : the folder does not contain weights under a usual name.
    """
    folder = places.START / path
    if not folder.is_dir():
        return path
    for name in NAMES:
        if (folder / name).is_file():
            return (Path(path) / name).as_posix()
    files = sorted(item.name for item in folder.glob("*.safetensors"))
    hint = f"pass a file: `--weights {(Path(path) / files[0]).as_posix()}`" if files else ""
    raise RequestError(
        f"{path} contains neither model.safetensors nor an index of weights",
        place=place,
        hint=hint or "pass a .safetensors or .pt file, or a folder that save_pretrained wrote",
    )


def read_shards(path: str, place: str, *, device: str) -> Iterator[Any]:
    """Yield the content of each file that an index names, one file at a time.

    Tensors by name, unless the file contains something else.

    Raises
    ------
    RequestError : a file does not exist, or is not in the folder of the index.
    ModelError : a file is damaged, or does not contain what the index says.
    """
    folder = Path(path).parent
    for name, keys in files_of(places.START / path, path, place).items():
        shard = (folder / name).as_posix()
        if not Path(shard).exists():
            raise file_not_found(shard, place, ADD_PART)
        tensors = read_tensors(shard, place, device=device)
        if not isinstance(tensors, dict):  # refused by the caller, as in a single file
            yield tensors
            continue
        missing = next((key for key in keys if key not in tensors), None)
        if missing is not None:
            raise inconsistent(missing_name(missing, shard), place)
        extra = next((key for key in tensors if key not in keys), None)
        if extra is not None:
            raise inconsistent(not_assigned(shard, extra), place)
        yield tensors
