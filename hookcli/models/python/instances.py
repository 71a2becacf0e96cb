"""Models that exist once a file has been imported: module-level instances, perhaps trained ones."""

from __future__ import annotations

import ast
from collections.abc import Collection
from pathlib import Path
from types import ModuleType

from torch import nn

from hookcli.models import module_tree

LOSSES = ("Loss", "Criterion", "Metric")  # ends of names of classes that are not the model
_SCOPES = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda


def instances(
    module: ModuleType, path: Path, classes: Collection[type], trained: Collection[int]
) -> dict[str, nn.Module]:
    """Return the models that the file has made, by their names, in the order of the file.

    They have parameters, and are neither losses nor parts of one another. If the file has model
    `classes`, they contain an instance of one. If an optimizer has stepped, only those with a
    parameter in `trained`, which are ids.
    """
    assigned = _assigned(path)
    found: dict[int, tuple[str, nn.Module]] = {}
    for name, value in vars(module).items():
        if name in assigned and isinstance(value, nn.Module) and _parameters(value):
            found.setdefault(id(value), (name, value))
    kept = [
        (name, value)
        for name, value in found.values()
        if not type(value).__name__.endswith(LOSSES)
        and (not classes or any(type(part) in classes for part in _parts(value)))
    ]
    inner = {id(part) for _, value in kept for part in _parts(value) if part is not value}
    outermost = {name: value for name, value in kept if id(value) not in inner}
    changed = {n: value for n, value in outermost.items() if _parameters(value) & set(trained)}
    return changed or outermost


def _parts(root: nn.Module) -> list[nn.Module]:
    return [part for part, _ in module_tree.modules(root)]


def _parameters(root: nn.Module) -> set[int]:
    return {id(tensor) for tensor, _, _ in module_tree.tensors(root, "_parameters")}


def _assigned(path: Path) -> set[str]:
    """Return the names that the file's top level assigns, also inside `if`, `for` and `with`."""
    names: set[str] = set()
    todo: list[ast.AST] = [ast.parse(path.read_bytes(), filename=str(path))]
    while todo:
        node = todo.pop()
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        todo += [child for child in ast.iter_child_nodes(node) if not isinstance(child, _SCOPES)]
    return names
