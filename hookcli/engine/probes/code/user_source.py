"""The source of the user's files, as syntax trees."""

from __future__ import annotations

import ast
import linecache
import re
import sys
from functools import lru_cache
from types import FunctionType

from hookcli.models import places

_MOST_TEXT = 2_000_000  # characters of the user's files


def is_own(function: object) -> bool:
    """Return whether a function is in a file of the user, not of an installed package."""
    file = function.__code__.co_filename if isinstance(function, FunctionType) else ""
    return bool(file) and places.is_user(file) and not places.is_installed(file)


@lru_cache(maxsize=32)
def _definitions(file: str) -> dict[int, ast.FunctionDef | ast.AsyncFunctionDef]:
    """Return the functions of a file by their first lines."""
    tree = parsed("".join(linecache.getlines(file)))
    return {
        node.decorator_list[0].lineno if node.decorator_list else node.lineno: node
        for node in (() if tree is None else ast.walk(tree))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }


def definition_of(function: FunctionType) -> ast.FunctionDef | ast.AsyncFunctionDef | None:
    """Return the source of a function, if it is as it was when the function was made."""
    code = function.__code__
    found = _definitions(code.co_filename).get(code.co_firstlineno)
    return found if found is not None and found.name == code.co_name else None


def own_sources() -> list[tuple[str, str]]:
    """Return the files of the script and of the user's modules, with their text."""
    files = {str(getattr(module, "__file__", None) or "") for module in list(sys.modules.values())}
    own = sorted(file for file in {*files, *linecache.cache} if _is_own_file(file))
    return [(file, "".join(linecache.getlines(file))) for file in own]


@lru_cache(maxsize=16_384)
def _is_own_file(file: str) -> bool:
    return file.endswith(".py") and places.is_user(file) and not places.is_installed(file)


@lru_cache(maxsize=16)
def parsed(text: str) -> ast.Module | None:
    """Return the tree of a file, which nobody changes; None if it cannot be parsed."""
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return None


class OwnText:
    """The text of all files of the user that are imported, read when it is first searched."""

    def __init__(self) -> None:
        self._text: str | None = None

    def search(self, pattern: re.Pattern[str]) -> bool | None:
        """Return whether the text has a pattern; None if there is too much text to search."""
        if self._text is None:
            found, size = [], 0
            for _, text in own_sources():
                size += len(text)
                if size > _MOST_TEXT:
                    break
                found.append(text)
            self._text = "\n".join(found) if size <= _MOST_TEXT else ""
        return bool(pattern.search(self._text)) if self._text else None


def shown_line(function: FunctionType, line: int) -> str:
    """Return a line of a function's file, as "model.py:12"."""
    return f"{places.show(function.__code__.co_filename)}:{line}"


def is_name(node: ast.AST, name: str) -> bool:
    """Return whether a node is this name."""
    return isinstance(node, ast.Name) and node.id == name


def assigned_alone(statement: ast.stmt) -> tuple[str, ast.expr | None]:
    """Return the name that an assignment gives alone, and its value."""
    if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
        target = statement.targets[0]
        if isinstance(target, ast.Name) and not target.id.startswith("_"):
            return target.id, statement.value
    return "", None
