"""The model classes of Python files, found in their text. Nothing is imported or run."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

_MOST_FILES = 200  # that are read in a folder: a hint must not take long
_MOST_BYTES = 1 << 20  # of a file
_BASES = ("Module", "LightningModule", "PreTrainedModel")  # the ends of names of base classes
_LAST = ("test_", "conftest", "setup")  # how files begin that are unlikely to be meant


def model_classes(path: Path) -> list[str]:
    """Return the names of the nn.Module classes at the top level of a file, in its order.

    A class counts if its base is named as one of torch.nn, ends in `Module` or `PreTrainedModel`,
    or is such a class of the same file. A file that cannot be read or parsed has none.
    """
    names: list[str] = []
    for node in _statements(path):
        if isinstance(node, ast.ClassDef) and any(_is_module(base, names) for base in node.bases):
            names.append(node.name)
    return names


def model_files(folder: Path) -> list[Path]:
    """Return the Python files of a folder that define an nn.Module class, tests last."""
    try:
        files = [entry for entry in folder.glob("*.py") if entry.is_file()]
    except OSError:
        return []
    files.sort(key=lambda file: (file.name.startswith(_LAST), file.name))
    return [file for file in islice(files, _MOST_FILES) if model_classes(file)]


def _statements(path: Path) -> Iterator[ast.stmt]:
    try:
        with path.open("rb") as file:
            source = file.read(_MOST_BYTES)
        if b"class " not in source or not (b"nn" in source or b"Mod" in source):
            return  # most files, which are not worth parsing
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about escapes in the user's strings
            tree = ast.parse(source)
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return
    yield from tree.body


def _is_module(base: ast.expr, known: list[str]) -> bool:
    if isinstance(base, ast.Name):
        return base.id in known or base.id.endswith(_BASES)
    if not isinstance(base, ast.Attribute):
        return False
    owner = base.value
    names = owner.attr if isinstance(owner, ast.Attribute) else getattr(owner, "id", "")
    return names == "nn" or base.attr.endswith(_BASES)
