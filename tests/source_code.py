"""The syntax trees of source files, parsed once: those of hookcli take seconds."""

from __future__ import annotations

import ast
import gc
from functools import cache
from pathlib import Path


@cache
def tree_of(path: Path) -> ast.Module:
    """Return the tree of a file, which nobody changes.

    Its nodes are kept out of collections, and of searches for what refers to an object: there are
    more of them than of all other objects.
    """
    tree = ast.parse(path.read_bytes(), str(path))
    gc.freeze()
    return tree
