"""Files of torch.save: zip archives, and the format before torch 1.6. Torch-free, and no code runs.

The tensors of every dict and list in the file are found, each with the path to it as its name.
"""

from __future__ import annotations

import math
import os
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import IO, Any

from hookcli.models.sources.torch_files import STATE_KEYS
from hookcli.models.sources.zip_members import (
    below_top,
    check_expansion,
    check_plain,
    member_named,
    part_of,
    unzipped,
)
from hookcli.weights.dtypes import DTYPES
from hookcli.weights.kinds.pickled_values import (
    GlobalName,
    OpaqueObject,
    PickledStorage,
    PickledTensor,
    read_values,
)
from hookcli.weights.stored import (
    Part,
    Storage,
    StoredTensor,
    Strided,
    below_key,
    contiguous_stride,
)
from hookcli.weights.values import repeats

_MOST_REPEATED = 1 << 26  # bytes of a tensor whose elements are stored once and occur often
_MOST_VALUES = 3_000_000  # values that are looked at: containers may contain each other often
_DEEPEST = 64
_MOST_TEXT = 200  # characters of a plain value


class TorchFile:
    """The tensors of one file of torch.save, and its other values as strings."""

    def __init__(self, path: Path, shown: str, *, is_zip: bool) -> None:
        """Read what the file contains. `shown` is its name in rows.

        Raises
        ------
        ValueError, zipfile.BadZipFile : the file is damaged.
        OSError : it cannot be read.
        """
        self.tensors: list[StoredTensor] = []
        self.metadata: dict[str, str] = {}
        self.notes: list[str] = []
        self._path, self._shown = path, shown
        self._storages: Mapping[str, Storage] = {}
        self._little = True
        self._unbuilt = 0
        root = self._read_zip() if is_zip else self._read_legacy()
        self._add_all(root)

    def _read_zip(self) -> Any:
        with unzipped(self._path) as archive:
            check_plain(archive)
            check_expansion(archive)
            info = archive.getinfo(member_named(archive, "data.pkl"))
            with archive.open(info) as file:
                value = read_values(file, info.file_size)
            self._little = _byteorder(archive) != "big"
            self._storages = _members(archive, self._path)
        return value

    def _read_legacy(self) -> Any:
        with self._path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            for _ in range(2):  # the magic number, the version
                read_values(file, size)
            machine = read_values(file, size)
            self._little = (
                not isinstance(machine, dict) or machine.get("little_endian") is not False
            )
            found: dict[str, PickledStorage] = {}
            value = read_values(file, size)
            keys = read_values(file, size)
            for storage in _storages_in(value):
                known = found.setdefault(storage.key, storage)
                if (known.dtype, known.numel) != (storage.dtype, storage.numel):
                    raise ValueError(f"the storage {storage.key:.40} has two sizes")
            self._storages = self._after(file, keys, found, size)
        return value

    def _after(
        self, file: IO[bytes], keys: Any, found: Mapping[str, PickledStorage], size: int
    ) -> dict[str, Storage]:
        """Return the storages, which follow the pickles in the order of their keys."""
        if not isinstance(keys, list):
            raise ValueError("it has no list of storages")
        made: dict[str, Storage] = {}
        for key in keys:
            if key not in found:
                raise ValueError(f"it has a storage that no tensor uses: {key!s:.40}")
            count = int.from_bytes(file.read(8), "little" if self._little else "big")
            storage = found[key]
            if count != storage.numel:
                raise ValueError(f"a storage has {count:,} elements, expected {storage.numel:,}")
            length = DTYPES[storage.dtype].size_of(count)
            start = file.tell()
            if start + length > size:
                raise ValueError(
                    f"it ends within its storages: it has {size:,} bytes, and one ends at "
                    f"{start + length:,}"
                )
            made[key] = Storage(self._path, start, length)
            file.seek(start + length)
        return made

    def _add_all(self, root: Any) -> None:
        prefix = _state_key(root)
        for path, value, part in _walk(root):
            if isinstance(value, PickledTensor):
                names = path[1:] if len(path) > 1 and path[0] == prefix else path
                self.tensors.append(self._tensor(".".join(names) or "tensor", value, part))
            else:
                self._add_value(path, value)
        if prefix is not None:
            self.notes.append(below_key(prefix))
        if self._unbuilt:
            self.notes.append(f"{self._unbuilt:,} objects that are not tensors were skipped")
        self._check_names()

    def _add_value(self, path: tuple[str, ...], value: Any) -> None:
        name = ".".join(path) or "value"
        if isinstance(value, OpaqueObject | GlobalName):
            self._unbuilt += isinstance(value, OpaqueObject)
            self.metadata[name] = value.name[:_MOST_TEXT]
        else:
            self.metadata[name] = _text(value)

    def _check_names(self) -> None:
        """Give a tensor with a name that occurs twice a name of its own."""
        seen: dict[str, int] = {}
        for at, tensor in enumerate(self.tensors):
            count = seen[tensor.name] = seen.get(tensor.name, 0) + 1
            if count > 1:
                self.tensors[at] = _renamed(tensor, f"{tensor.name} ({count})")

    def _tensor(self, name: str, found: PickledTensor, part: Part) -> StoredTensor:
        shape, dtype = found.shape, DTYPES.get(found.dtype)
        count = math.prod(shape)
        if found.inner:
            size = sum(self._size(inner) for inner in found.inner)
        else:
            size = 0 if dtype is None or found.layout == "meta" else dtype.size_of(count)
        unread = found.unread or self._why_unread(found)
        values = None if unread else self._values(name, found)
        if values is not None and repeats(values) and size > _MOST_REPEATED:
            values, unread = None, "its elements are stored once and occur many times"
        return StoredTensor(
            name, found.dtype, shape, size, self._shown, values, part, found.layout, unread
        )

    def _size(self, inner: PickledTensor) -> int:
        dtype = DTYPES.get(inner.dtype)
        return 0 if dtype is None else dtype.size_of(math.prod(inner.shape))

    def _why_unread(self, found: PickledTensor) -> str:
        dtype = DTYPES.get(found.dtype)
        if dtype is None or dtype.decode is None:
            return f"hookcli cannot read elements of the dtype {found.dtype}"
        if not self._little and dtype.bits > 8:
            return "hookcli does not read files of a big-endian machine"
        return ""

    def _values(self, name: str, found: PickledTensor) -> Strided:
        if found.storage is None:
            raise ValueError(f"'{name:.80}' has no storage")
        storage = self._storages.get(found.storage.key)
        if storage is None and 0 not in found.shape:
            raise ValueError(f"'{name:.80}' has a storage that is missing from the file")
        if storage is None:
            storage = Storage(self._path, 0, 0)
        stride = contiguous_stride(found.shape) if 0 in found.shape else found.stride
        values = Strided(
            storage, found.dtype, found.shape, stride, found.offset, found.scale, found.zero
        )
        _, end = values.span
        if end > storage.size and 0 not in found.shape:
            raise ValueError(
                f"'{name:.80}' ends at byte {end:,} of a storage, which has {storage.size:,}"
            )
        return values


def _byteorder(archive: zipfile.ZipFile) -> str:
    for name in archive.namelist():
        if below_top(name) == "byteorder":
            with archive.open(name) as file:
                return file.read(16).decode("ascii", "replace").strip()
    return "little"


def _members(archive: zipfile.ZipFile, path: Path) -> dict[str, Storage]:
    """Return the storages of an archive by key: the members of its folder `data`."""
    found: dict[str, Storage] = {}
    for info in archive.infolist():
        folder, _, key = below_top(info.filename).partition("/")
        if folder != "data" or not key:
            continue
        part = part_of(archive, info)
        if part is None:
            raise ValueError("its tensors are compressed, and torch does not write such files")
        if key in found:
            raise ValueError(f"it contains the storage {key:.40} twice")
        found[key] = Storage(path, part.offset, part.size)
    return found


def _state_key(root: Any) -> str | None:
    """Return the key of the state dict in a checkpoint."""
    if not isinstance(root, dict):
        return None
    for key in STATE_KEYS:
        inner = root.get(key)
        if isinstance(inner, dict) and any(
            isinstance(value, PickledTensor) for value in inner.values()
        ):
            return key
    return None


def _is_optimizer(key: str, value: Any) -> bool:
    return "optim" in key.lower() or (
        isinstance(value, dict) and "state" in value and "param_groups" in value
    )


_Entry = tuple[tuple[str, ...], Any, Part]


def _walk(root: Any) -> Iterator[_Entry]:
    """Yield the tensors and plain values in containers, with their paths.

    Raises
    ------
    ValueError : there are more than a checkpoint has, as if containers contain each other.
    """
    waiting: list[_Entry] = [((), root, "weights")]
    count = 0
    while waiting:
        path, value, part = waiting.pop()
        count += 1
        if count > _MOST_VALUES:
            raise ValueError(f"it contains more than {_MOST_VALUES:,} values")
        inner = _inside(value)
        if inner is None:
            yield path, value, part
        elif len(path) >= _DEEPEST:
            raise ValueError(f"its values are nested more than {_DEEPEST} levels deep")
        else:
            if count + len(waiting) + len(inner) > _MOST_VALUES:
                raise ValueError(f"it contains more than {_MOST_VALUES:,} values")
            for key, item in reversed(inner):
                is_state = not path and _is_optimizer(key, item)
                waiting.append(((*path, key), item, "optimizer" if is_state else part))


def _inside(value: Any) -> list[tuple[str, Any]] | None:
    """Return what a container contains; None if it is a value, or plain values in a row."""
    if isinstance(value, OpaqueObject):
        held = [(_key(key), item) for key, item in value.entries.items()]
        held += [(str(at), item) for at, item in enumerate(value.items)]
        if isinstance(value.state, dict):
            held += [(_key(key), item) for key, item in value.state.items()]
        kept = [pair for pair in held if isinstance(pair[1], _HOLDERS)]
        return kept or None
    if isinstance(value, dict):
        return [(_key(key), item) for key, item in value.items()]
    if isinstance(value, list | tuple):
        if any(isinstance(item, _HOLDERS) for item in value):
            return [(str(at), item) for at, item in enumerate(value)]
        return None
    return None


_HOLDERS = (PickledTensor, dict, list, tuple, OpaqueObject)


def _key(key: Any) -> str:
    return key if isinstance(key, str) else _text(key)


def _text(value: Any) -> str:
    """Return a plain value as a short string."""
    if isinstance(value, str):
        return value[:_MOST_TEXT]
    if isinstance(value, int) and value.bit_length() > 1000:
        return "a very large integer"
    if isinstance(value, list | tuple):
        shown = ", ".join(_text(item) for item in value[:10])
        return f"[{shown}{', …' if len(value) > 10 else ''}]"[:_MOST_TEXT]
    if isinstance(value, GlobalName | OpaqueObject):
        return value.name[:_MOST_TEXT]
    if value is None or isinstance(value, bool | int | float | complex | bytes):
        return repr(value[:50] if isinstance(value, bytes) else value)[:_MOST_TEXT]
    return type(value).__name__


def _storages_in(root: Any) -> Iterator[PickledStorage]:
    for _, value, _ in _walk(root):
        waiting = [value]
        while waiting:
            at = waiting.pop()
            if isinstance(at, PickledStorage):
                yield at
            elif isinstance(at, PickledTensor):
                waiting += at.inner
                waiting += [] if at.storage is None else [at.storage]


def _renamed(tensor: StoredTensor, name: str) -> StoredTensor:
    return replace(tensor, name=name)
