"""Opens what a path names, if it is weights: a file, an index, or a folder. Torch-free."""

from __future__ import annotations

from pathlib import Path

from hookcli.errors import HookcliError, RequestError
from hookcli.models.sources.content import identify, identify_folder, refusal
from hookcli.models.sources.file_errors import damaged_file, file_not_found, reason_of
from hookcli.models.sources.weight_index import is_index
from hookcli.sentences import cannot_read
from hookcli.weights.kinds import distributed, gguf_file, shards
from hookcli.weights.kinds.single_file import DAMAGE, FILES, read_file
from hookcli.weights.stored import StoredWeights

_FILES = FILES | {"index", "gguf"}
_DISTRIBUTED = "distributed_checkpoint"


def is_weights(source: str, *, beside_config: bool = False) -> bool:
    """Whether a path names weights without a model; False if it cannot be read.

    A folder that also has a config.json describes a model, which `hf:FOLDER` builds: it counts only
    with `beside_config`.
    """
    path = Path(source)
    try:
        if path.is_dir():
            kind = identify_folder(path)
            if kind == "pretrained" and not beside_config:
                return False
            return kind == _DISTRIBUTED or shards.weights_in(path) is not None
        return path.is_file() and identify(path).kind in _FILES
    except (OSError, ValueError):
        return False


def open_weights(source: str, place: str) -> StoredWeights:
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
    except DAMAGE as error:
        raise damaged_file(source, reason_of(error), place) from None


def _opened(path: Path, source: str, place: str) -> StoredWeights:
    if path.is_dir():
        return _folder(path, source, place)
    if not path.is_file():
        raise file_not_found(source, place)
    kind = identify(path)
    if kind.kind == "index":
        return shards.read_index(path, source, place)
    if kind.kind == "gguf":
        return gguf_file.read(path, source)
    if kind.kind not in _FILES:
        raise refusal(kind, source, place)
    return read_file(path, source, source)


def _folder(path: Path, source: str, place: str) -> StoredWeights:
    if identify_folder(path) == _DISTRIBUTED:
        return distributed.read(path, source)
    named = shards.weights_in(path)
    if named is None:
        raise RequestError(
            f"{source} contains neither an index of weights nor model.safetensors",
            place=place,
            hint="pass a file in it, or a folder that save_pretrained wrote",
        )
    if is_index(named.name):
        return shards.read_index(named, source, place)
    return read_file(named, source, named.name)
