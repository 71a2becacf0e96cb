"""Detect ONNX by the wire format of its message, because it has no magic number."""

from __future__ import annotations

from pathlib import Path
from typing import IO

_FIELDS = {1, 2, 3, 4, 5, 6, 7, 8, 14, 20, 25, 26}  # of ModelProto
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_VERSION, _GRAPH = (1, _VARINT), (7, _BYTES)
_MOST = 1000  # fields at the top


def is_onnx(path: Path) -> bool:
    """Whether the file has the fields of a ModelProto, with a version and a graph."""
    fields: set[tuple[int, int]] = set()
    size = path.stat().st_size
    with path.open("rb") as file:
        for _ in range(_MOST):
            if file.tell() >= size:
                break
            field = _field(file)
            if field is None or field[0] not in _FIELDS or file.tell() > size:
                return False
            if not fields and field != _VERSION:
                return False
            fields.add(field)
    return {_VERSION, _GRAPH} <= fields


def _field(file: IO[bytes]) -> tuple[int, int] | None:
    """Read the number and type of the field that begins here, and skip the field."""
    tag = _varint(file)
    if tag is None:
        return None
    kind = tag & 7
    if kind == _VARINT:
        if _varint(file) is None:
            return None
    elif kind == _BYTES:
        length = _varint(file)
        if length is None:
            return None
        file.seek(length, 1)
    elif kind in {_FIXED64, _FIXED32}:
        file.seek(8 if kind == _FIXED64 else 4, 1)
    else:
        return None
    return tag >> 3, kind


def _varint(file: IO[bytes]) -> int | None:
    value = 0
    for shift in range(0, 64, 7):
        byte = file.read(1)
        if not byte:
            return None
        value |= (byte[0] & 0x7F) << shift
        if byte[0] < 0x80:
            return value
    return None
