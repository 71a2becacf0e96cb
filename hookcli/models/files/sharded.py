"""Weights in several files: an index names the file of each tensor. Files are read one by one."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hookcli.errors import ModelError, RequestError
from hookcli.models import places
from hookcli.models.files.tensors import read_tensors
from hookcli.models.sources.file_errors import (
    COMPLETE,
    damaged_file,
    file_not_found,
    reason_of,
)
from hookcli.plain_files import read_bytes
from hookcli.sentences import cannot_read, missing_name

_SUFFIX = ".index.json"
_MOST = 1 << 28  # bytes of an index that are read
# What a folder of weights contains, as save_pretrained of transformers and diffusers write it. The
# first that exists is used: one that both libraries read holds the same tensors.
_NAMES = (
    f"model.safetensors{_SUFFIX}",
    "model.safetensors",
    f"diffusion_pytorch_model.safetensors{_SUFFIX}",
    "diffusion_pytorch_model.safetensors",
    f"pytorch_model.bin{_SUFFIX}",
    "pytorch_model.bin",
)


def weights_in(path: str, place: str) -> str:
    """Return the file of weights in a folder; any other path unchanged.

    Raises
    ------
    RequestError : the folder does not contain weights under a usual name.
    """
    folder = places.START / path
    if not folder.is_dir():
        return path
    for name in _NAMES:
        if (folder / name).is_file():
            return (Path(path) / name).as_posix()
    files = sorted(item.name for item in folder.glob("*.safetensors"))
    hint = f"pass a file: `--weights {(Path(path) / files[0]).as_posix()}`" if files else ""
    raise RequestError(
        f"{path} contains neither model.safetensors nor an index of weights",
        place=place,
        hint=hint or "pass a .safetensors or .pt file, or a folder that save_pretrained wrote",
    )


def is_index(path: str) -> bool:
    """Whether a file is an index of weights, by its name."""
    return path.endswith(_SUFFIX)


def read_shards(path: str, place: str, *, device: str) -> Iterator[Any]:
    """Yield the content of each file that an index names, one file at a time.

    Tensors by name, unless the file contains something else.

    Raises
    ------
    RequestError : a file does not exist, or is not in the folder of the index.
    ModelError : a file is damaged, or does not contain what the index says.
    """
    folder = Path(path).parent
    for name, keys in _files_of(path, place).items():
        shard = (folder / name).as_posix()
        if not Path(shard).exists():
            raise file_not_found(shard, place, "add the missing part of the weights")
        tensors = read_tensors(shard, place, device=device)
        if not isinstance(tensors, dict):  # refused by the caller, as in a single file
            yield tensors
            continue
        missing = next((key for key in keys if key not in tensors), None)
        if missing is not None:
            raise _inconsistent(missing_name(missing, shard), place)
        extra = next((key for key in tensors if key not in keys), None)
        if extra is not None:
            raise _inconsistent(
                f"{shard} contains '{extra}', which the index does not assign to it", place
            )
        yield tensors


def _files_of(path: str, place: str) -> dict[str, set[str]]:
    """Return the names of the files in an index, each with the keys of its tensors."""
    table = _index(path, place).get("weight_map")
    if not isinstance(table, dict) or not table:
        problem = "its weight_map is empty" if table == {} else "it has no weight_map"
        raise RequestError(
            f"{path} is not an index of weights: {problem}", place=place, hint=COMPLETE
        )
    files: defaultdict[str, set[str]] = defaultdict(set)
    for key, name in table.items():
        if not isinstance(name, str):
            raise RequestError(
                f"{path} must name a file for each tensor, got {name!r:.80} for '{key}'",
                place=place,
                hint=COMPLETE,
            )
        if not _is_plain(name):
            raise RequestError(
                f"{path} names a file outside its folder: {name!r:.80}",
                place=place,
                hint="keep the parts next to the index, and name them without a folder",
            )
        files[name].add(key)
    return dict(sorted(files.items()))


def _is_plain(name: str) -> bool:
    """Whether a name is one of a file in the same folder, on any system."""
    return name not in {"", ".", ".."} and not set(name) & set("/\\:\0")


def _index(path: str, place: str) -> dict[str, Any]:
    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            names = [name for name, _ in pairs]
            twice = next(name for name in names if names.count(name) > 1)
            raise ValueError(f"duplicate key '{twice:.80}'")
        return found

    try:
        text = read_bytes((places.START / path).as_posix(), _MOST)
        data = json.loads(text, object_pairs_hook=unique)
    except OSError as error:
        hint = "check the file's permissions"
        raise RequestError(cannot_read(path, error.strerror), place=place, hint=hint) from None
    except (ValueError, RecursionError) as error:
        raise damaged_file(path, reason_of(error), place) from None
    return data if isinstance(data, dict) else {}


def _inconsistent(message: str, place: str) -> ModelError:
    return ModelError(
        message, place=place, hint="check that the index and all its parts are from one download"
    )
