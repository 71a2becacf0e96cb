"""Reads the tensors of one file: safetensors, or torch.save. Torch-free."""

from __future__ import annotations

import os
import zipfile
import zlib
from pathlib import Path

from hookcli.models.sources.content import is_safetensors
from hookcli.weights.kinds import safetensors_file, torch_file
from hookcli.weights.stored import StoredFile, StoredWeights

# What identify() calls the files that have tensors, and no model.
FILES = frozenset({"safetensors", "state_dict", "checkpoint", "dict", "pickle"})
# What a damaged file raises; zipfile raises NotImplementedError for what torch never uses.
DAMAGE = (
    ValueError, RecursionError, EOFError, zipfile.BadZipFile, zlib.error, NotImplementedError,
)  # fmt: skip


def read_file(path: Path, source: str, shown: str) -> StoredWeights:
    """Return the tensors of one file. Raises ValueError or BadZipFile if it is damaged."""
    with path.open("rb") as file:
        head = file.read(9)
        size = os.fstat(file.fileno()).st_size
    files = [StoredFile(shown, size)]
    is_zip = head.startswith(b"PK")
    if not is_zip and (is_safetensors(head, size) or head[:1] != b"\x80"):
        header = safetensors_file.SafetensorsHeader(path, shown)
        return StoredWeights(
            source, "safetensors", files, header.tensors, header.metadata, header.notes
        )
    saved = torch_file.TorchFile(path, shown, is_zip=is_zip)
    kind = "torch" if is_zip else "torch_legacy"
    return StoredWeights(source, kind, files, saved.tensors, saved.metadata, saved.notes)
