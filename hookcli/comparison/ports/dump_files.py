"""Which files of a folder have tensors that another program wrote."""

from __future__ import annotations

import re
from pathlib import Path

_SUFFIXES = {".pt", ".pth", ".bin", ".npy", ".npz", ".safetensors"}
_DIGITS = re.compile(r"(\d+)")


def dump_files(path: Path) -> list[Path]:
    """Return the files with tensors in a folder, in the order of their names, or the file itself.

    Numbers in names count as numbers: `layer2` is before `layer10`.
    """
    if not path.is_dir():
        return [path]
    found = [file for file in path.rglob("*") if file.suffix in _SUFFIXES and file.is_file()]
    return sorted(found, key=lambda file: _natural(str(file.relative_to(path))))


def _natural(name: str) -> list[tuple[int, str]]:
    return [(int(part), "") if part.isdigit() else (-1, part) for part in _DIGITS.split(name)]


def has_dumps(source: str) -> bool:
    """Return whether a path is a folder with files of tensors, or a file of NumPy.

    A folder with a configuration or code describes a model.
    """
    path = Path(source)
    try:
        if path.is_dir():
            is_model = (path / "config.json").exists() or any(path.glob("*.py"))
            return not is_model and bool(dump_files(path))
        return path.suffix in {".npy", ".npz"} and path.is_file()
    except (OSError, ValueError):
        return False
