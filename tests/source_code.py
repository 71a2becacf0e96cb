"""The syntax trees of source files, parsed once: those of hookcli take seconds."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path


@cache
def tree_of(path: Path) -> ast.Module:
    """Return the tree of a file, which nobody changes."""
    return ast.parse(path.read_bytes(), str(path))
