"""Lets each function of the package note that it was called, in this process and in its forks.

The note is a byte of a file that processes share: a test process and the server that runs its
commands (`tests/forked`). A Python that is started anew has functions without marks.
"""

from __future__ import annotations

import ast
import builtins
import importlib.abc
import os
import sys
from collections.abc import Iterator
from functools import cache
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from mmap import mmap
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
VARIABLE = "HOOKCLI_TEST_REACHED"  # names the file
_EACH = 512  # numbers for the functions of a file; the last is for all that follow
Function = ast.FunctionDef | ast.AsyncFunctionDef


@cache
def files() -> dict[str, int]:
    """The files of the package, each with the number of its first function."""
    return {str(path): _EACH * i for i, path in enumerate(sorted((ROOT / "hookcli").rglob("*.py")))}


def functions(tree: ast.Module) -> list[tuple[str, Function]]:
    """The functions of a module with their names, which begin with those of what they are in."""

    def below(node: ast.AST, prefix: str) -> Iterator[tuple[str, Function]]:
        for child in ast.iter_child_nodes(node):
            named = isinstance(child, ast.ClassDef | Function)
            name = f"{prefix}{child.name}" if named else prefix
            if isinstance(child, Function):
                yield name, child
            yield from below(child, f"{name}." if named else prefix)

    return [*below(tree, "")]


def names() -> dict[int, str]:
    """The names of all functions by their numbers: `hookcli/text.py::Words.nearest`."""
    return {
        first + min(index, _EACH - 1): f"{Path(file).relative_to(ROOT).as_posix()}::{name}"
        for file, first in files().items()
        for index, (name, _) in enumerate(functions(ast.parse(Path(file).read_text())))
    }


def marked(text: str, path: str) -> ast.Module:
    """The code of a file with a mark at the begin of each function."""
    tree = ast.parse(text, path)
    for index, (_, node) in enumerate(functions(tree)):
        number = files()[path] + min(index, _EACH - 1)
        mark = ast.parse(f"_reached_[{number}] = 1").body[0]
        first = node.body[0]
        has_text = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
        for part in ast.walk(mark):
            ast.copy_location(part, first)
        node.body.insert(int(has_text), mark)
    return tree


class _Loader(SourceFileLoader):
    def get_code(self, fullname: str):
        """Compile the marked code, which no cache of bytecode may hold."""
        tree = marked(self.get_source(fullname), self.path)
        return compile(tree, self.path, "exec", dont_inherit=True)


class _Finder(importlib.abc.MetaPathFinder):
    def find_spec(self, fullname: str, path=None, target=None) -> ModuleSpec | None:
        if fullname.partition(".")[0] != "hookcli":
            return None
        spec = PathFinder.find_spec(fullname, path)
        if spec is not None and spec.origin in files():
            spec.loader = _Loader(fullname, spec.origin)
        return spec


def install() -> mmap:
    """Mark the modules that are imported from now on; return the bytes to which they write."""
    with Path(os.environ[VARIABLE]).open("r+b") as file:
        reached = mmap(file.fileno(), 0)
    builtins._reached_ = reached  # type: ignore[attr-defined]
    sys.meta_path.insert(0, _Finder())
    return reached


def size() -> int:
    """How many bytes the file has."""
    return _EACH * len(files())
