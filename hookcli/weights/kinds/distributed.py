"""A folder of torch.distributed.checkpoint: tensors in chunks. Torch-free, and no code runs.

Its `.metadata` is a pickle, which is read like those of torch.save; it names each chunk, and the
part of a file that has it. That part is a file of torch.save with one tensor.
"""

from __future__ import annotations

import functools
import io
import math
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, TypeAlias

from hookcli.models.sources.torch_files import STATE_KEYS
from hookcli.models.sources.zip_members import (
    below_top,
    check_expansion,
    check_plain,
    member_named,
    part_of,
    unzipped,
)
from hookcli.text import counted
from hookcli.weights.dtypes import DTYPES
from hookcli.weights.kinds.pickled_values import (
    GlobalName,
    OpaqueObject,
    PickledTensor,
    read_values,
)
from hookcli.weights.stored import (
    Chunked,
    Part,
    Storage,
    StoredFile,
    StoredTensor,
    StoredWeights,
    Strided,
    below_key,
    checked_shape,
)
from hookcli.weights.values import repeats

METADATA = ".metadata"
_CLASSES = "torch.distributed.checkpoint."


@dataclass(frozen=True, slots=True)
class _Piece:
    """The part of a file that has a chunk."""

    path: Path
    start: int
    size: int


_Place: TypeAlias = "tuple[str, tuple[int, ...] | None]"  # of a chunk: its tensor, first element


def read(folder: Path, source: str) -> StoredWeights:
    """Return the tensors of a checkpoint.

    Raises
    ------
    ValueError : its metadata is damaged, or does not fit the files.
    OSError : a file cannot be read.
    """
    path = folder / METADATA
    with path.open("rb") as file:
        state = _state(read_values(file, os.fstat(file.fileno()).st_size), "metadata.Metadata")
    described = state.get("state_dict_metadata")
    if not isinstance(described, dict):
        raise ValueError(f"{METADATA} has no description of a state dict")
    pieces = _pieces(folder, state.get("storage_data"))
    weights = StoredWeights(source, "distributed", _files(folder, pieces))
    prefix = next((key for key in STATE_KEYS if _has_prefix(described, key)), None)
    others = 0
    for key, value in described.items():
        if not isinstance(key, str):
            raise ValueError(f"{METADATA} has a name that is not a string")
        if not isinstance(value, OpaqueObject) or not value.name.endswith("TensorStorageMetadata"):
            others += 1
            continue
        part: Part = "optimizer" if "optim" in key.partition(".")[0].lower() else "weights"
        name = key.removeprefix(f"{prefix}.") if prefix else key
        weights.tensors.append(_tensor(name, key, part, _state(value), pieces))
    if others:
        weights.notes.append(f"{counted(others, 'value')} not shown, as each is not a tensor")
    if prefix:
        weights.notes.append(below_key(prefix))
    return weights


def _has_prefix(names: Mapping[Any, Any], key: str) -> bool:
    return any(isinstance(name, str) and name.startswith(f"{key}.") for name in names)


def _state(value: Any, name: str = "") -> dict[str, Any]:
    """Return the attributes of an object that was described instead of built."""
    if not isinstance(value, OpaqueObject) or not isinstance(value.state, dict):
        raise ValueError(f"{METADATA} has another form than torch.distributed.checkpoint writes")
    if name and value.name != _CLASSES + name:
        raise ValueError(f"{METADATA} contains an object of {value.name:.80}")
    return value.state


def _pieces(folder: Path, data: Any) -> dict[_Place, _Piece]:
    """Return where each chunk is. Each file must be in the folder, and long enough."""
    if not isinstance(data, dict):
        raise ValueError(f"{METADATA} does not name its files")
    sizes: dict[str, int] = {}
    found: dict[_Place, _Piece] = {}
    for index, info in data.items():
        at, where = _state(index), _state(info)
        name, start, size = (where.get(key) for key in ("relative_path", "offset", "length"))
        if not isinstance(name, str) or set(name) & set("/\\:\0") or name in {"", ".", ".."}:
            raise ValueError(f"{METADATA} names a file outside its folder: {name!r:.80}")
        if type(start) is not int or type(size) is not int or start < 0 or size < 0:
            raise ValueError(f"{METADATA} has a chunk without a place in {name:.80}")
        if name not in sizes:
            if not (folder / name).is_file():
                raise ValueError(f"{METADATA} names a missing file: {name:.80}")
            sizes[name] = (folder / name).stat().st_size
        if start + size > sizes[name]:
            raise ValueError(
                f"{name:.80} has {sizes[name]:,} bytes, and a chunk ends at {start + size:,}"
            )
        offset = at.get("offset")
        first = None if offset is None else checked_shape(offset)
        found[(str(at.get("fqn")), first)] = _Piece(folder / name, start, size)
    return found


def _files(folder: Path, pieces: Mapping[_Place, _Piece]) -> list[StoredFile]:
    paths = sorted({piece.path for piece in pieces.values()})
    return [StoredFile(path.name, path.stat().st_size) for path in paths]


def _tensor(
    name: str, key: str, part: Part, state: Mapping[str, Any], pieces: Mapping[_Place, _Piece]
) -> StoredTensor:
    shape = checked_shape(state.get("size"))
    dtype = _dtype(state.get("properties"))
    known = DTYPES.get(dtype)
    chunks, files, covered = [], [], 0
    for first, sizes in _chunks(state.get("chunks")):
        piece = pieces.get((key, first)) or pieces.get((key, None))
        if piece is None:
            raise ValueError(f"{METADATA} does not tell where a chunk of '{key:.80}' is")
        ends = (begin + size for begin, size in zip(first, sizes, strict=True))
        if len(first) != len(shape) or any(e > n for e, n in zip(ends, shape, strict=True)):
            raise ValueError(f"a chunk of '{key:.80}' is outside of its shape")
        files.append(piece.path.name)
        chunks.append((first, functools.partial(_find, piece, key, dtype, sizes)))
        covered += math.prod(sizes)
    if covered != math.prod(shape):
        raise ValueError(f"the chunks of '{key:.80}' do not cover its shape")
    size = 0 if known is None else known.size_of(math.prod(shape))
    unread = (
        f"hookcli cannot read elements of the dtype {dtype}"
        if known is None or known.decode is None
        else ""
    )
    values = None if unread else Chunked(dtype, shape, tuple(chunks))
    return StoredTensor(
        name, dtype, shape, size, files[0] if files else "", values, part, "", unread
    )


def _chunks(value: Any) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Yield the first index and the sizes of each chunk."""
    if not isinstance(value, list):
        raise ValueError(f"{METADATA} has a tensor without chunks")
    for chunk in value:
        state = _state(chunk)
        first, sizes = checked_shape(state.get("offsets")), checked_shape(state.get("sizes"))
        if len(first) != len(sizes):
            raise ValueError(f"{METADATA} has a chunk whose offsets do not fit its sizes")
        yield first, sizes


def _dtype(properties: Any) -> str:
    state = properties.state if isinstance(properties, OpaqueObject) else None
    if isinstance(state, dict):
        state = (state.get("dtype"),)
    if isinstance(state, tuple) and state and isinstance(state[0], GlobalName):
        return state[0].name.removeprefix("torch.")[:40]
    raise ValueError(f"{METADATA} has a tensor without a dtype")


def _find(piece: _Piece, key: str, dtype: str, sizes: tuple[int, ...]) -> Strided:
    """Return where the elements of a chunk are: in the file of torch.save that is its part."""
    with piece.path.open("rb") as file:
        window = io.BufferedReader(_Window(file, piece.start, piece.size))
        with unzipped(window) as archive:
            check_plain(archive)
            check_expansion(archive)
            info = archive.getinfo(member_named(archive, "data.pkl"))
            with archive.open(info) as pickled:
                tensor = read_values(pickled, info.file_size)
            if not isinstance(tensor, PickledTensor) or tensor.storage is None:
                raise ValueError(f"a chunk of '{key:.80}' is not a tensor")
            data = {below_top(name): name for name in archive.namelist()}
            member = data.get(f"data/{tensor.storage.key}")
            part = None if member is None else part_of(archive, archive.getinfo(member))
    if part is None or tensor.shape != sizes or tensor.dtype != dtype:
        raise ValueError(f"a chunk of '{key:.80}' is not what {METADATA} says")
    storage = Storage(piece.path, piece.start + part.offset, part.size)
    values = Strided(storage, dtype, sizes, tensor.stride, tensor.offset)
    if values.span[1] > part.size:
        raise ValueError(f"a chunk of '{key:.80}' is incomplete")
    if repeats(values):  # torch never writes it, and it could claim any size
        raise ValueError(f"elements of a chunk of '{key:.80}' are stored once and occur often")
    return values


class _Window(io.RawIOBase):
    """A part of a file, as a file."""

    def __init__(self, file: IO[bytes], start: int, size: int) -> None:
        super().__init__()
        self._file, self._start, self._size, self._at = file, start, size, 0

    def readable(self) -> bool:
        """Return True."""
        return True

    def seekable(self) -> bool:
        """Return True."""
        return True

    def seek(self, offset: int, whence: int = 0) -> int:
        """Move to a position in the part."""
        self._at = max(0, offset + (0, self._at, self._size)[whence])
        return self._at

    def tell(self) -> int:
        """Return the position in the part."""
        return self._at

    def readinto(self, buffer: Any) -> int:
        """Read into a buffer, to the end of the part."""
        self._file.seek(self._start + self._at)
        data = self._file.read(max(0, min(len(buffer), self._size - self._at)))
        buffer[: len(data)] = data
        self._at += len(data)
        return len(data)
