"""Tensors in files: what is known of each without its values, and where these are."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeAlias

from hookcli.weights.dtypes import DTYPES, Array

Part: TypeAlias = Literal["weights", "optimizer"]
MOST_DIMENSIONS = 64
_LARGEST = 1 << 63  # elements: what torch can address


@dataclass(frozen=True, slots=True)
class Storage:
    """Bytes of a file: `size` of them, from `start` on."""

    path: Path
    start: int
    size: int


@dataclass(frozen=True, slots=True)
class Strided:
    """Elements of a storage, as torch lays out a strided tensor.

    `stride` and `offset` count elements, `offset` from the start of the storage. `scale` and `zero`
    are those of a tensor quantized as a whole: its values are `scale * (element - zero)`.
    """

    storage: Storage
    dtype: str
    shape: tuple[int, ...]
    stride: tuple[int, ...]
    offset: int = 0
    scale: float | None = None
    zero: int = 0

    @property
    def span(self) -> tuple[int, int]:
        """The first byte of the elements in the storage, and the byte after the last."""
        size = DTYPES[self.dtype].bits // 8
        start = self.offset * size
        if 0 in self.shape:
            return start, start
        steps = zip(self.shape, self.stride, strict=True)
        return start, start + (sum((n - 1) * step for n, step in steps) + 1) * size


@dataclass(frozen=True, slots=True)
class Chunked:
    """A tensor in several pieces; each has the index of its first element and finds its values."""

    dtype: str
    shape: tuple[int, ...]
    chunks: tuple[tuple[tuple[int, ...], Callable[[], Strided]], ...]


@dataclass(frozen=True, slots=True)
class Blocks:
    """A contiguous tensor in blocks of `elements` elements and `size` bytes, as GGUF quantizes it.

    `decode` returns the elements of the bytes of whole blocks.
    """

    storage: Storage
    shape: tuple[int, ...]
    elements: int
    size: int
    decode: Callable[[Array], Array]


Values: TypeAlias = Strided | Chunked | Blocks


@dataclass(frozen=True, slots=True)
class StoredTensor:
    """One tensor. `values` is None if hookcli cannot read them, and `unread` tells why.

    `size` is the number of bytes of its elements. `file` is the name of the file, relative to what
    the user named. `layout` describes what is not a plain strided tensor.
    """

    name: str
    dtype: str
    shape: tuple[int, ...]
    size: int
    file: str
    values: Values | None
    part: Part = "weights"
    layout: str = ""
    unread: str = ""

    @property
    def numel(self) -> int:
        """The number of elements."""
        return math.prod(self.shape)


@dataclass(frozen=True, slots=True)
class StoredFile:
    """A file that was read: its name as the user would type it, and its size in bytes."""

    path: str
    size: int


@dataclass(slots=True)
class StoredWeights:
    """The tensors of a file or folder, without their values.

    `metadata` has the other values as strings, by name. `notes` tell what is not shown, and what
    looks wrong.
    """

    source: str
    format: str
    files: list[StoredFile] = field(default_factory=list)
    tensors: list[StoredTensor] = field(default_factory=list)
    metadata: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


def below_key(key: str) -> str:
    """Return the note about a state dict under a key, which names do not have."""
    return f"names are those below the key '{key}'"


def contiguous_stride(shape: Sequence[int]) -> tuple[int, ...]:
    """Return the stride of a contiguous tensor."""
    stride, step = [], 1
    for size in reversed(shape):
        stride.append(step)
        step *= max(size, 1)
    return tuple(reversed(stride))


def checked_shape(value: object) -> tuple[int, ...]:
    """Return a shape out of a file.

    Raises
    ------
    ValueError : it is not a list of sizes, or has more elements than memory could address.
    """
    if not isinstance(value, list | tuple) or len(value) > MOST_DIMENSIONS:
        raise ValueError("a shape must be a list of sizes")
    for size in value:
        if type(size) is not int or size < 0:
            raise ValueError(f"a shape contains {size!s:.40}, which is not a size")
    if math.prod(max(size, 1) for size in value) >= _LARGEST:
        raise ValueError("a shape has more elements than a tensor can have")
    return tuple(value)


def shared(tensors: Sequence[StoredTensor]) -> Iterator[list[StoredTensor]]:
    """Yield groups of tensors whose elements overlap in a storage; a tensor alone is not yielded.

    Overlap is that of the ranges from the first byte to the last.
    """
    by_storage: dict[Storage, list[StoredTensor]] = {}
    for tensor in tensors:
        if isinstance(tensor.values, Strided) and tensor.numel:
            by_storage.setdefault(tensor.values.storage, []).append(tensor)
    for users in by_storage.values():
        if len(users) < 2:
            continue
        for group in overlapping(users):
            if len(group) > 1:
                yield group


def overlapping(users: Sequence[StoredTensor]) -> Iterator[list[StoredTensor]]:
    """Yield the tensors of one storage in groups whose ranges of bytes overlap."""
    spans = [
        (*tensor.values.span, at)
        for at, tensor in enumerate(users)
        if isinstance(tensor.values, Strided)
    ]
    group: list[int] = []
    end = -1
    for start, stop, at in sorted(spans):
        if group and start >= end:
            yield [users[i] for i in sorted(group)]
            group = []
        group.append(at)
        end = max(end, stop) if len(group) > 1 else stop
    if group:
        yield [users[i] for i in sorted(group)]


def by_name(tensors: Sequence[StoredTensor]) -> Mapping[str, StoredTensor]:
    """Return the tensors by name."""
    return {tensor.name: tensor for tensor in tensors}
