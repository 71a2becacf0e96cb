"""The values of a stored tensor, in pieces of bounded size, read without mapping the file.

A mapped file that is truncated meanwhile would end the process, and its pages would count as memory
of the process; so pieces are read into one buffer.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import IO

import numpy as np

from hookcli.weights.dtypes import DTYPES, Array
from hookcli.weights.stored import Blocks, Chunked, Strided, Values, contiguous_stride

PIECE = 1 << 17  # bytes that are read at once
_ELEMENTS = 1 << 15  # that are read at once: with float64 copies they fit into the cache
_PART = 1 << 26  # bytes of a part of a tensor
_SPAN = 1 << 24  # bytes that are read at once of a tensor with gaps


class IncompleteError(ValueError):
    """A file ended before the elements of a tensor."""


class Reader:
    """Reads elements of files; keeps the last file open."""

    def __init__(self) -> None:
        self._path: Path | None = None
        self._file: IO[bytes] | None = None
        self._buffer = bytearray(PIECE)

    def __enter__(self) -> Reader:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()
        self._file = self._path = None

    def read(self, path: Path, start: int, size: int) -> Array:
        """Return bytes of a file; the next call may overwrite them.

        Raises
        ------
        OSError, IncompleteError : the file cannot be read, or is too short.
        """
        if path != self._path or self._file is None:
            self.close()
            self._file = path.open("rb", buffering=0)
            self._path = path
            _advise(self._file)
        if size > len(self._buffer):
            self._buffer = bytearray(size)
        view = memoryview(self._buffer)[:size]
        self._file.seek(start)
        done = 0
        while done < size:
            count = self._file.readinto(view[done:])  # type: ignore[attr-defined]  # it is raw
            if not count:
                raise IncompleteError("the file became shorter while it was read")
            done += count
        return np.frombuffer(view, np.uint8)

    def pieces(self, values: Values) -> Iterator[Array]:
        """Yield arrays with every element of a tensor once, in any order.

        An array may be overwritten when the next one is yielded.

        Raises
        ------
        OSError, ValueError : the elements cannot be read.
        """
        if isinstance(values, Strided):
            yield from self._strided(values)
        elif isinstance(values, Chunked):
            for _, find in values.chunks:
                yield from self._strided(find())
        else:
            yield from self._of_blocks(values)

    def is_in_order(self, values: Values) -> bool:
        """Whether `pieces` yields the elements in the order of their indices."""
        if isinstance(values, Strided):
            return values.stride == contiguous_stride(values.shape) or math.prod(values.shape) < 2
        return isinstance(values, Blocks)

    def whole(self, values: Values) -> Array:
        """Return all elements in an array of the tensor's shape."""
        if isinstance(values, Blocks):
            pieces = [piece.copy() for piece in self._of_blocks(values)]
            return np.concatenate(pieces or [np.zeros(0)]).reshape(values.shape)
        if isinstance(values, Strided):
            return self._array(values)
        made: Array | None = None
        for first, find in values.chunks:
            piece = self._array(find())
            if made is None:
                made = np.zeros(values.shape, piece.dtype)
            at = tuple(
                slice(begin, begin + size) for begin, size in zip(first, piece.shape, strict=True)
            )
            made[at] = piece
        return np.zeros(values.shape) if made is None else made

    def _array(self, values: Strided) -> Array:
        if 0 in values.shape:
            return np.zeros(values.shape, np.float32)
        start, stop = values.span
        raw = self.read(values.storage.path, values.storage.start + start, stop - start)
        return _as_strided(_decoded(raw.copy(), values), values.shape, values.stride)

    def _of_blocks(self, values: Blocks) -> Iterator[Array]:
        storage = values.storage
        step = max(1, PIECE // values.size) * values.size
        for at in range(0, storage.size, step):
            raw = self.read(storage.path, storage.start + at, min(step, storage.size - at))
            yield values.decode(raw).reshape(-1)

    def _strided(self, values: Strided) -> Iterator[Array]:
        if 0 in values.shape:
            return
        dims = _merged(values)
        if repeats(values):
            yield self._array(values).reshape(-1)  # its size was checked when it was found
            return
        yield from self._blocks(values, dims, values.offset)

    def _blocks(self, values: Strided, dims: list[tuple[int, int]], offset: int) -> Iterator[Array]:
        """Yield the elements of dimensions (size, stride), the outermost first."""
        item = DTYPES[values.dtype].bits // 8
        span = sum((size - 1) * step for size, step in dims) + 1
        start = values.storage.start + offset * item
        if len(dims) == 1 and dims[0][1] == 1:
            step = min(PIECE // item, _ELEMENTS)
            for at in range(0, dims[0][0], step):
                count = min(step, dims[0][0] - at)
                raw = self.read(values.storage.path, start + at * item, count * item)
                yield _decoded(raw, values)
            return
        if span * item <= _SPAN:
            raw = self.read(values.storage.path, start, span * item)
            shape, stride = tuple(size for size, _ in dims), tuple(step for _, step in dims)
            yield _as_strided(_decoded(raw, values), shape, stride).reshape(-1)
            return
        (size, step), *inner = dims
        rows = 1 if inner else max(1, _SPAN // (step * item))
        for at in range(0, size, rows):
            part = inner if inner else [(min(rows, size - at), step)]
            yield from self._blocks(values, part, offset + at * step)


def _advise(file: IO[bytes]) -> None:
    """Tell the system that the file is read from its start to its end, where that is possible."""
    import os

    with suppress(AttributeError, OSError):
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_SEQUENTIAL)


def _decoded(raw: Array, values: Strided) -> Array:
    decode = DTYPES[values.dtype].decode
    if decode is None:
        raise ValueError(f"hookcli cannot read elements of the dtype {values.dtype}")
    elements = decode(raw)
    if values.scale is None:
        return elements
    # As torch computes it: in float32, from integers.
    wide = elements.astype(np.int64) - values.zero
    made: Array = wide.astype(np.float32) * np.float32(values.scale)
    return made


def _as_strided(elements: Array, shape: tuple[int, ...], stride: tuple[int, ...]) -> Array:
    item = elements.itemsize
    return np.lib.stride_tricks.as_strided(
        elements, shape, tuple(step * item for step in stride), writeable=False
    )


def _merged(values: Strided) -> list[tuple[int, int]]:
    """Return (size, stride) of the distinct elements in memory order; none with a stride of 0."""
    dims: list[tuple[int, int]] = []
    steps = zip(values.stride, values.shape, strict=True)
    for step, size in sorted(steps, reverse=True):
        if size == 1 or step == 0:
            continue
        if dims and dims[-1][1] == step * size:
            dims[-1] = (dims[-1][0] * size, step)
        else:
            dims.append((size, step))
    return dims or [(1, 1)]


def _overlaps(dims: list[tuple[int, int]]) -> bool:
    """Whether elements may have bytes in common: an inner dimension reaches into the next row."""
    reach = 0
    for size, step in reversed(dims):
        if step <= reach:
            return True
        reach += (size - 1) * step
    return False


def parts(values: Values) -> list[Values]:
    """Return values that have the same elements together, each small enough for one thread."""
    if not isinstance(values, Strided) or 0 in values.shape:
        return [values]
    dims = _merged(values)
    if len(dims) > 1 or dims[0][1] != 1 or repeats(values):
        return [values]
    step = _PART * 8 // DTYPES[values.dtype].bits
    return [
        replace(
            values,
            shape=(min(step, dims[0][0] - at),),
            stride=(1,),
            offset=values.offset + at,
        )
        for at in range(0, dims[0][0], step)
    ]


def repeats(values: Strided) -> bool:
    """Whether some element of a tensor is stored once and occurs several times."""
    dims = _merged(values)
    return math.prod(size for size, _ in dims) < math.prod(values.shape) or _overlaps(dims)
