"""Lists of modules that have one module several times."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import groupby
from types import FunctionType

from torch import nn

from hookcli.engine.probes.code.user_source import (
    assigned_alone,
    definition_of,
    is_own,
    shown_line,
)
from hookcli.models import module_tree

_SHARED = ("shared", "tied", "same", "common")

_LISTS = (nn.ModuleList, nn.Sequential)


def multiplied(made: FunctionType) -> Iterator[str]:
    """Yield the line of the first list with a new object that a constructor multiplies."""
    definition = definition_of(made) if is_own(made) else None
    for node in ast.walk(definition) if definition is not None else ():
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
            lists = (side for side in (node.left, node.right) if isinstance(side, ast.List))
            if any(len(one.elts) == 1 and _is_new(one.elts[0], definition) for one in lists):
                yield shown_line(made, node.lineno)
                return


def _is_new(value: ast.expr, definition: ast.FunctionDef | ast.AsyncFunctionDef | None) -> bool:
    """Return whether a value is the result of a call, also by a variable of the function.

    A variable whose name says that it is shared is meant.
    """
    if isinstance(value, ast.Call):
        return True
    if isinstance(value, ast.Name) and any(word in value.id.lower() for word in _SHARED):
        return False
    for node in ast.walk(definition) if definition is not None else ():
        name, given = assigned_alone(node) if isinstance(node, ast.stmt) else ("", None)
        if isinstance(value, ast.Name) and name == value.id and isinstance(given, ast.Call):
            return True
    return False


def repeated(root: nn.Module | None, kind: type) -> Iterator[tuple[str, int, int]]:
    """Yield the lists in modules of a class that have one module several times in a row.

    With each, yield how many of its entries that are, and the number of all. Modules without
    parameters, as activations, share nothing. Other classes have constructors of their own.
    """
    for name, module in module_tree.named(root) if root is not None else ():
        if type(module) is not kind:
            continue
        for path, inside in _lists(name, module):
            rows = [list(row) for _, row in groupby(inside, id) if len(inside) > 1]
            longest = max(rows, key=len, default=[])
            if len(longest) > 1 and has_parameters(longest[0]):
                yield path, len(longest), len(inside)


def partly_shared(root: nn.Module | None, kind: type) -> Iterator[tuple[str, int, str]]:
    """Yield the part that all entries of a list have together, although others are their own.

    With it, yield the number of entries, and the name of a part that each entry has for itself.
    """
    for name, module in module_tree.named(root) if root is not None else ():
        if type(module) is not kind:
            continue
        for path, inside in _lists(name, module):
            if len(inside) < 2 or len({type(one) for one in inside}) > 1 or None in inside:
                continue
            parts = [one._modules for one in inside if one is not None]
            shared: list[str] = []
            own: list[str] = []
            for part, first in parts[0].items():
                others = {id(one.get(part)) for one in parts}
                if has_parameters(first):
                    (shared if others == {id(first)} else own).append(part)
            for part in shared if own else ():
                if not any(word in part.lower() for word in _SHARED):
                    yield f"{path}.0.{part}", len(inside), own[0]


def _lists(name: str, module: nn.Module) -> Iterator[tuple[str, list[nn.Module | None]]]:
    """Yield the lists of modules in a module, and in its lists and dicts, with their entries."""
    for key, child in module._modules.items():
        path = f"{name}.{key}" if name else key
        if isinstance(child, _LISTS):
            yield path, list(child._modules.values())
        if isinstance(child, (*_LISTS, nn.ModuleDict)):
            yield from _lists(path, child)


def has_parameters(module: nn.Module | None) -> bool:
    """Return whether a module has parameters of its own or in its parts."""
    return module is not None and any(True for _ in module.parameters())
