"""The header of a safetensors file, which names its tensors. Nothing else of the file is read.

The format: https://huggingface.co/docs/safetensors/index#format. The header is read here and not by
the library, which maps the whole file into memory and refuses dtypes that it does not know.
"""

from __future__ import annotations

import json
import math
import os
from itertools import pairwise
from pathlib import Path
from typing import Any

from hookcli.models.sources.weight_index import unique_keys
from hookcli.weights.dtypes import DTYPES
from hookcli.weights.stored import (
    Storage,
    StoredTensor,
    Strided,
    checked_shape,
    contiguous_stride,
)

_LENGTH = 8  # bytes of the number before the header
_LONGEST = 100_000_000  # bytes of a header, as in the library
_NAMES = {
    "F64": "float64", "F32": "float32", "F16": "float16", "BF16": "bfloat16",
    "F8_E4M3": "float8_e4m3fn", "F8_E5M2": "float8_e5m2", "F8_E8M0": "float8_e8m0fnu",
    "F8_E4M3FNUZ": "float8_e4m3fnuz", "F8_E5M2FNUZ": "float8_e5m2fnuz",
    "I64": "int64", "I32": "int32", "I16": "int16", "I8": "int8",
    "U64": "uint64", "U32": "uint32", "U16": "uint16", "U8": "uint8",
    "BOOL": "bool", "C64": "complex64", "C128": "complex128",
}  # fmt: skip


class SafetensorsHeader:
    """The header of one file: its tensors, its metadata, and what is odd about it."""

    def __init__(self, path: Path, shown: str) -> None:
        """Read the header. `shown` is the file's name in rows.

        Raises
        ------
        ValueError : the file is damaged; the message tells how.
        OSError : it cannot be read.
        """
        self._path, self._shown = path, shown
        with path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            start = file.read(_LENGTH)
            if len(start) < _LENGTH:
                raise ValueError("it is shorter than a header")
            length = int.from_bytes(start, "little")
            if length > _LONGEST:
                raise ValueError(
                    f"its header claims {length:,} bytes, and the format allows {_LONGEST:,}"
                )
            if _LENGTH + length > size:
                raise ValueError(f"its header has {length:,} bytes, and the file {size:,}")
            text = file.read(length)
        entries = _parsed(text)
        self.metadata = _metadata(entries.pop("__metadata__", None))
        self._start, self._room = _LENGTH + length, size - _LENGTH - length
        self.notes: list[str] = []
        self.tensors = [self._tensor(name, entry) for name, entry in entries.items()]
        self._check_ranges(entries)

    def _tensor(self, name: str, entry: Any) -> StoredTensor:
        if not isinstance(entry, dict):
            raise ValueError(f"its header has no description of '{name:.80}'")
        kind, ends = entry.get("dtype"), _range(entry.get("data_offsets"))
        try:
            shape = checked_shape(entry.get("shape"))
        except ValueError as error:
            raise ValueError(f"'{name:.80}': {error}") from None
        if not isinstance(kind, str) or ends is None:
            raise ValueError(f"'{name:.80}' has no dtype or no data_offsets")
        begin, end = ends
        if end > self._room:
            raise ValueError(
                f"'{name:.80}' ends at byte {end:,} of the tensors, and the file has {self._room:,}"
            )
        known = _NAMES.get(kind)
        if known is None:
            return StoredTensor(
                name, kind.lower()[:40], shape, end - begin, self._shown, None,
                unread=f"hookcli cannot read elements of the dtype {kind:.40}",
            )  # fmt: skip
        dtype = DTYPES[known]
        needed = dtype.size_of(math.prod(shape))
        if needed != end - begin:
            raise ValueError(
                f"'{name:.80}' has {end - begin:,} bytes, and its shape and dtype need {needed:,}"
            )
        storage = Storage(self._path, self._start + begin, end - begin)
        values = Strided(storage, known, shape, contiguous_stride(shape))
        return StoredTensor(name, known, shape, needed, self._shown, values)

    def _check_ranges(self, entries: dict[str, Any]) -> None:
        """Check that no two tensors overlap, and note bytes that belong to none."""
        ranges = sorted((*entry["data_offsets"], name) for name, entry in entries.items())
        used = 0
        for (_, end, name), (begin, stop, other) in pairwise(ranges):
            if begin < end and stop > begin:
                raise ValueError(f"'{name:.80}' and '{other:.80}' have bytes in common")
        for begin, end, _ in ranges:
            used += end - begin
        if used < self._room:
            self.notes.append(
                f"{self._shown} has {self._room - used:,} bytes that belong to no tensor"
            )


def _range(ends: Any) -> tuple[int, int] | None:
    if not isinstance(ends, list) or len(ends) != 2 or any(type(end) is not int for end in ends):
        return None
    begin, end = ends
    return (begin, end) if 0 <= begin <= end else None


def _parsed(text: bytes) -> dict[str, Any]:
    try:
        entries = json.loads(text, object_pairs_hook=unique_keys)
    except RecursionError:
        raise ValueError("its header is nested too deeply") from None
    except UnicodeDecodeError:
        raise ValueError("its header is not UTF-8") from None
    except json.JSONDecodeError as error:
        raise ValueError(f"its header is not JSON ({error})") from None
    if not isinstance(entries, dict):
        raise ValueError("its header is not a JSON object")
    return entries


def _metadata(value: Any) -> dict[str, str]:
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise ValueError("its __metadata__ is not a JSON object")
    return {key: text if isinstance(text, str) else json.dumps(text) for key, text in value.items()}
