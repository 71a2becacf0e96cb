"""GGUF files, as llama.cpp reads them: the header, and the values of tensors. Torch-free.

The format: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md. The header is read here, as
the reader of the package gguf trusts the lengths that a file claims. Quantized blocks are decoded
by that package, if it is installed.
"""

from __future__ import annotations

import math
import os
from functools import partial
from pathlib import Path
from typing import IO, Any

from hookcli.weights.dtypes import DTYPES, Array
from hookcli.weights.stored import (
    Blocks,
    Storage,
    StoredFile,
    StoredTensor,
    StoredWeights,
    Strided,
    Values,
    checked_shape,
    contiguous_stride,
)

_MAGIC = b"GGUF"
_VERSIONS = (2, 3)
_LONGEST = 1 << 20  # bytes of a name; a longer value is skipped
_SHOWN = 200
_ALIGNMENT = 32
_STRING, _ARRAY, _BOOL = 8, 9, 7
# The types of values: (bytes, kind).
_SCALARS = {
    0: (1, "u"), 1: (1, "i"), 2: (2, "u"), 3: (2, "i"), 4: (4, "u"), 5: (4, "i"), 6: (4, "f"),
    _BOOL: (1, "b"), 10: (8, "u"), 11: (8, "i"), 12: (8, "f"),
}  # fmt: skip
_PLAIN = {
    0: "float32", 1: "float16", 24: "int8", 25: "int16", 26: "int32", 27: "int64", 28: "float64",
    30: "bfloat16",
}  # fmt: skip
# The quantized types: name, elements and bytes of a block (ggml-common.h).
_QUANTIZED = {
    2: ("q4_0", 32, 18), 3: ("q4_1", 32, 20), 6: ("q5_0", 32, 22), 7: ("q5_1", 32, 24),
    8: ("q8_0", 32, 34), 9: ("q8_1", 32, 40), 10: ("q2_k", 256, 84), 11: ("q3_k", 256, 110),
    12: ("q4_k", 256, 144), 13: ("q5_k", 256, 176), 14: ("q6_k", 256, 210),
    15: ("q8_k", 256, 292), 16: ("iq2_xxs", 256, 66), 17: ("iq2_xs", 256, 74),
    18: ("iq3_xxs", 256, 98), 19: ("iq1_s", 256, 50), 20: ("iq4_nl", 32, 18),
    21: ("iq3_s", 256, 110), 22: ("iq2_s", 256, 82), 23: ("iq4_xs", 256, 136),
    29: ("iq1_m", 256, 56), 34: ("tq1_0", 256, 54), 35: ("tq2_0", 256, 66),
}  # fmt: skip


def read(path: Path, source: str) -> StoredWeights:
    """Return the tensors of a GGUF file.

    Raises
    ------
    ValueError : it is damaged, or of a version that hookcli does not read.
    OSError : it cannot be read.
    """
    with path.open("rb") as file:
        header = _Header(file, os.fstat(file.fileno()).st_size)
    weights = StoredWeights(source, "gguf", [StoredFile(source, header.size)])
    weights.metadata = header.metadata
    weights.tensors = [_tensor(path, source, header, entry) for entry in header.entries]
    return weights


class _Header:
    """What a file says before its tensors."""

    def __init__(self, file: IO[bytes], size: int) -> None:
        self._file, self.size = file, size
        if self._bytes(4) != _MAGIC:
            raise ValueError("it does not begin with GGUF")
        version = self._int(4)
        if version not in _VERSIONS:
            raise ValueError(f"its version is {version}, and hookcli reads 2 and 3")
        tensors, values = self._count(24), self._count(13)
        self.metadata: dict[str, str] = {}
        alignment: Any = _ALIGNMENT
        for _ in range(values):
            key, value = self._string(), self._value(self._int(4), 0)
            if key in self.metadata:
                raise ValueError(f"duplicate key '{key:.80}'")
            self.metadata[key] = str(value)[:_SHOWN]
            alignment = value if key == "general.alignment" else alignment
        self.entries = [self._entry() for _ in range(tensors)]
        if not isinstance(alignment, int) or alignment < 1 or alignment & (alignment - 1):
            raise ValueError("general.alignment is not a power of two")
        at = file.tell()
        self.start = at + -at % alignment

    def _bytes(self, count: int) -> bytes:
        if count > self.size - self._file.tell():
            raise ValueError("it ends within its header")
        return self._file.read(count)

    def _int(self, count: int) -> int:
        return int.from_bytes(self._bytes(count), "little")

    def _count(self, least: int) -> int:
        """Return a number of entries, each of which takes at least so many bytes of the file."""
        count = self._int(8)
        if count * least > self.size - self._file.tell():
            raise ValueError(f"its header claims {count:,} entries, and the file is too short")
        return count

    def _string(self) -> str:
        length = self._int(8)
        if length > _LONGEST:
            self._skip(length)
            return f"a string of {length:,} bytes"
        return self._bytes(length).decode("utf-8", "backslashreplace")

    def _skip(self, count: int) -> None:
        if count > self.size - self._file.tell():
            raise ValueError("it ends within its header")
        self._file.seek(count, 1)

    def _value(self, kind: int, depth: int) -> Any:
        if kind == _STRING:
            return self._string()
        if kind == _ARRAY:
            return self._array(depth)
        if kind not in _SCALARS:
            raise ValueError(f"its header has a value of the unknown type {kind}")
        size, sort = _SCALARS[kind]
        raw = self._bytes(size)
        if sort == "f":
            import struct

            return struct.unpack("<f" if size == 4 else "<d", raw)[0]
        number = int.from_bytes(raw, "little", signed=sort == "i")
        return bool(number) if sort == "b" else number

    def _array(self, depth: int) -> str:
        """Skip an array; return how long it is."""
        if depth > 4:
            raise ValueError("its header has arrays nested too deeply")
        kind = self._int(4)
        if kind in _SCALARS:
            count = self._int(8)
            self._skip(count * _SCALARS[kind][0])
            return f"{count:,} values"
        count = self._count(8)
        for _ in range(count):
            if kind == _STRING:
                self._skip(self._int(8))
            else:
                self._value(kind, depth + 1)
        return f"{count:,} values"

    def _entry(self) -> tuple[str, tuple[int, ...], int, int]:
        name, dimensions = self._string(), self._int(4)
        if dimensions > 8:
            raise ValueError(f"'{name:.80}' has {dimensions} dimensions")
        # The first size is that of the innermost dimension.
        shape = checked_shape([self._int(8) for _ in range(dimensions)][::-1])
        return name, shape, self._int(4), self._int(8)


def _tensor(
    path: Path, source: str, header: _Header, entry: tuple[str, tuple[int, ...], int, int]
) -> StoredTensor:
    name, shape, kind, offset = entry
    count = math.prod(shape)
    values: Values | None = None
    unread = ""
    if kind in _PLAIN:
        dtype = _PLAIN[kind]
        size = DTYPES[dtype].size_of(count)
        storage = Storage(path, header.start + offset, size)
        values = Strided(storage, dtype, shape, contiguous_stride(shape))
    elif kind in _QUANTIZED:
        dtype, block, length = _QUANTIZED[kind]
        if not shape or shape[-1] % block:
            raise ValueError(f"the rows of '{name:.80}' are not whole blocks of {block} elements")
        size = count // block * length
        decode = _decoder(kind)
        if decode is None:
            unread = "install `hookcli[gguf]` to read quantized values"
        else:
            storage = Storage(path, header.start + offset, size)
            values = Blocks(storage, shape, block, length, decode)
    else:
        dtype, size = f"type {kind}", 0
        unread = f"hookcli does not know the GGUF type {kind}"
    if header.start + offset + size > header.size:
        raise ValueError(
            f"'{name:.80}' ends at byte {header.start + offset + size:,}, and the file has "
            f"{header.size:,}"
        )
    return StoredTensor(name, dtype, shape, size, source, values, unread=unread)


def _decoder(kind: int) -> Any:
    """Return the function that decodes blocks of a type; None without the package."""
    try:
        import gguf
    except ImportError:
        return None
    return partial(_dequantized, gguf.GGMLQuantizationType(kind), _QUANTIZED[kind][2])


def _dequantized(kind: Any, length: int, raw: Array) -> Array:
    from gguf import quants

    try:
        made: Array = quants.dequantize(raw.reshape(-1, length), kind)
    except NotImplementedError:
        raise ValueError(f"the package gguf does not read the type {kind.name}") from None
    return made
