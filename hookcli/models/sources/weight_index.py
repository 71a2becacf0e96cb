"""The index of weights in several files, which names the file of each tensor. Torch-free."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path
from typing import Any

from hookcli.errors import ModelError, RequestError
from hookcli.models.sources.file_errors import COMPLETE, damaged_file, reason_of
from hookcli.plain_files import read_bytes
from hookcli.sentences import cannot_read

_SUFFIX = ".index.json"
_MOST = 1 << 28  # bytes of an index that are read
ADD_PART = "add the missing part of the weights"
# What a folder of weights contains, as save_pretrained of transformers and diffusers write it. The
# first that exists is used: one that both libraries read holds the same tensors.
NAMES = (
    f"model.safetensors{_SUFFIX}",
    "model.safetensors",
    f"diffusion_pytorch_model.safetensors{_SUFFIX}",
    "diffusion_pytorch_model.safetensors",
    f"pytorch_model.bin{_SUFFIX}",
    "pytorch_model.bin",
)


def is_index(path: str) -> bool:
    """Whether a file is an index of weights, by its name."""
    return path.endswith(_SUFFIX)


def files_of(file: Path, path: str, place: str) -> dict[str, set[str]]:
    """Return the names of the files in an index, each with the keys of its tensors.

    `path` is the index as the user named it.

    Raises
    ------
    RequestError : it cannot be read, or names a file that is not in its folder.
    ModelError : it is damaged.
    """
    table = _index(file, path, place).get("weight_map")
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
        if not is_plain(name):
            raise RequestError(
                f"{path} names a file outside its folder: {name!r:.80}",
                place=place,
                hint="keep the parts next to the index, and name them without a folder",
            )
        files[name].add(key)
    return dict(sorted(files.items()))


def is_plain(name: str) -> bool:
    """Whether a name is one of a file in the same folder, on any system."""
    return name not in {"", ".", ".."} and not set(name) & set("/\\:\0")


def _index(file: Path, path: str, place: str) -> dict[str, Any]:
    try:
        text = read_bytes(file.as_posix(), _MOST)
        data = json.loads(text, object_pairs_hook=unique_keys)
    except OSError as error:
        hint = "check the file's permissions"
        raise RequestError(cannot_read(path, error.strerror), place=place, hint=hint) from None
    except (ValueError, RecursionError) as error:
        raise damaged_file(path, reason_of(error), place) from None
    return data if isinstance(data, dict) else {}


def unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return the pairs of a JSON object as a dict.

    Raises
    ------
    ValueError : a key occurs twice.
    """
    found = dict(pairs)
    if len(found) < len(pairs):
        seen: set[str] = set()
        for name, _ in pairs:
            if name in seen:
                raise ValueError(f"duplicate key '{name:.80}'")
            seen.add(name)
    return found


def inconsistent(message: str, place: str) -> ModelError:
    """Return the error for an index and a file that do not fit together."""
    return ModelError(
        message, place=place, hint="check that the index and all its parts are from one download"
    )


def not_assigned(shard: str, key: str) -> str:
    """Return the message for a tensor that a file has, and the index does not name there."""
    return f"{shard} contains '{key}', which the index does not assign to it"
