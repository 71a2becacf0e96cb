"""Weights in several files, which an index names. Torch-free."""

from __future__ import annotations

from pathlib import Path

from hookcli.models.sources.content import identify, refusal
from hookcli.models.sources.file_errors import damaged_file, file_not_found, reason_of
from hookcli.models.sources.weight_index import (
    ADD_PART,
    NAMES,
    files_of,
    inconsistent,
    not_assigned,
)
from hookcli.sentences import missing_name
from hookcli.weights.kinds.single_file import DAMAGE, FILES, read_file
from hookcli.weights.stored import StoredWeights


def weights_in(folder: Path) -> Path | None:
    """Return the index or the file of weights in a folder, by its usual name."""
    for name in NAMES:
        if (folder / name).is_file():
            return folder / name
    return None


def read_index(index: Path, source: str, place: str) -> StoredWeights:
    """Return the tensors of all files that an index names, in the order of the files.

    Raises
    ------
    RequestError : a file does not exist, or is not in the folder of the index.
    ModelError : a file is damaged, or does not contain what the index says.
    """
    whole = StoredWeights(source, "")
    for name, keys in files_of(index, index.as_posix(), place).items():
        part = _part(index.parent / name, source, name, place)
        names = {tensor.name for tensor in part.tensors}
        shard = (index.parent / name).as_posix()
        missing = next(iter(sorted(keys - names)), None)
        if missing is not None:
            raise inconsistent(missing_name(missing, shard), place)
        extra = next(iter(sorted(names - keys)), None)
        if extra is not None:
            raise inconsistent(not_assigned(shard, extra), place)
        _join(whole, part)
    return whole


def _part(path: Path, source: str, name: str, place: str) -> StoredWeights:
    if not path.is_file():
        raise file_not_found(path.as_posix(), place, ADD_PART)
    try:
        kind = identify(path)
        if kind.kind not in FILES:
            raise refusal(kind, path.as_posix(), place)
        return read_file(path, source, name)
    except DAMAGE as error:
        raise damaged_file(path.as_posix(), reason_of(error), place) from None


def _join(whole: StoredWeights, part: StoredWeights) -> None:
    whole.format = whole.format or part.format
    whole.files += part.files
    whole.tensors += part.tensors
    whole.metadata.update(part.metadata)
    whole.notes += part.notes
