"""What a process of a comparison writes: calls, outputs, parameters and gradients, one by one.

A process may be killed at any moment, so each record is complete by itself: its length, then what
torch.save wrote. No rank waits for another to exchange them.
"""

from __future__ import annotations

import io
import struct
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import torch

from hookcli.errors import RequestError
from hookcli.sentences import cannot_write

_LENGTH = struct.Struct("<Q")
REFERENCE = "reference"


def file_of(folder: str, name: str | int) -> Path:
    """Return the file of the reference, or of a rank by its number."""
    return Path(folder) / (f"{name}.records" if isinstance(name, str) else f"rank{name}.records")


class RecordWriter:
    """Appends records to a file."""

    def __init__(self, file: Path) -> None:
        self._path = file
        self._file = file.open("wb")

    def write(self, **record: Any) -> None:
        """Append a record of plain values and tensors.

        Raises
        ------
        RequestError : the disk is full.
        """
        buffer = io.BytesIO()
        torch.save(record, buffer)
        try:
            self._file.write(_LENGTH.pack(buffer.tell()))
            self._file.write(buffer.getbuffer())
            self._file.flush()
        except OSError as error:
            raise RequestError(
                cannot_write(self._path.name, error.strerror),
                place=str(self._path),
                hint="free disk space, or set TMPDIR to another folder",
            ) from None

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def read_records(file: Path) -> Iterator[dict[str, Any]]:
    """Yield the complete records of a file; none if it does not exist."""
    if not file.is_file():
        return
    with file.open("rb") as stream:
        while len(head := stream.read(_LENGTH.size)) == _LENGTH.size:
            body = stream.read(_LENGTH.unpack(head)[0])
            if len(body) < _LENGTH.unpack(head)[0]:
                return
            yield torch.load(io.BytesIO(body), weights_only=True)


def tensor_record(tensor: torch.Tensor, path: str = "") -> dict[str, Any]:
    """Return what this process has of a tensor: its part, and where the part is in the whole.

    `placements` is None for a plain tensor. For a DTensor it has a pair for each dimension of its
    mesh: ("shard", dimension), ("strided", dimension), ("partial", operation), ("replicate", 0).
    `ranks` are those of its mesh, as nested lists.
    """
    found: dict[str, Any] = {"path": path, "placements": None, "ranks": None}
    local = getattr(tensor, "_local_tensor", None)
    if local is not None:
        dtensor: Any = tensor
        found["placements"] = [_placement(item) for item in dtensor.placements]
        found["ranks"] = dtensor.device_mesh.mesh.tolist()
        found["shape"] = list(dtensor.shape)
        if type(local).__name__ == "AsyncCollectiveTensor":
            local = local.wait()
        tensor = local
    elif type(tensor).__name__ == "AsyncCollectiveTensor":
        tensor = tensor.wait()  # type: ignore[attr-defined]
    with torch.no_grad():
        part = tensor.detach().to("cpu", copy=True).contiguous()
    found["local"] = part.as_subclass(torch.Tensor)
    found.setdefault("shape", list(part.shape))
    return found


def _placement(placement: Any) -> list[Any]:
    name = type(placement).__name__
    if placement.is_partial():
        return ["partial", str(placement.reduce_op)]
    if "Strided" in name:
        return ["strided", int(placement.dim)]
    if placement.is_shard():
        return ["shard", int(placement.dim)]
    return ["replicate", 0]


def tensor_records(leaves: Iterable[tuple[str, torch.Tensor, Any]]) -> list[dict[str, Any]]:
    """Return the records of the tensors of an input or output."""
    return [tensor_record(tensor, path) for path, tensor, _ in leaves]
