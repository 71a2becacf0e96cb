"""Walk modules by identity, with torch's qualified names and order.

torch's own `named_modules` and `named_parameters` can be overridden, compare modules with `==`,
and recurse; a model may break each of the three.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import TypeVar

import torch
from torch import nn

from hookcli.errors import ModelError
from hookcli.models import places

_Entry = TypeVar("_Entry", nn.Module, torch.Tensor)


def named(root: nn.Module) -> Iterator[tuple[str, nn.Module]]:
    """Yield (name, module) for `root` and all below, parents first; a shared one for each name.

    Raises
    ------
    ModelError : a module has something else than modules in its `_modules`.

    """
    todo: list[tuple[str, nn.Module, tuple[int, ...]]] = [("", root, ())]
    while todo:
        name, module, above = todo.pop()
        if id(module) in above:  # it contains itself
            continue
        yield name, module
        inside = (*above, id(module)) if module._modules else above
        prefix = f"{name}." if name else ""
        children = [
            (prefix + key, child, inside) for key, child in entries(module, "_modules", nn.Module)
        ]
        todo += reversed(children)


def has_forward(module: nn.Module) -> bool:
    """Return whether a module defines a forward; a ModuleList has none.

    That of a scripted module cannot be read on its class.
    """
    return inspect.getattr_static(type(module), "forward") is not nn.Module.forward


def own_parameter(module: nn.Module, name: str) -> torch.Tensor | None:
    """Return a parameter of a module itself; None if it has none of this name."""
    table = module._parameters
    return table[name] if name in table else None  # noqa: SIM401  # a scripted one has no `get`


def entries(module: nn.Module, table: str, kind: type[_Entry]) -> list[tuple[str, _Entry]]:
    """Return (key, entry) of `_modules`, `_parameters` or `_buffers`, without entries of None.

    Raises
    ------
    ModelError : an entry has another type, which torch's own functions do not accept either.

    """
    found = []
    for key, entry in getattr(module, table).items():
        if entry is None:
            continue
        if not isinstance(entry, kind):
            raise ModelError(
                f"{table}['{key}'] of {type(module).__name__} must be a {kind.__name__}, "
                f"got {type(entry).__name__}",
                place=places.of_class(type(module)) or type(module).__name__,
                hint="store it as a plain attribute of the module",
            )
        found.append((key, entry))
    return found


def at(root: nn.Module, name: str) -> nn.Module:
    """Return the module with this qualified name. Scripted modules lack `get_submodule`."""
    module = root
    for key in name.split(".") if name else ():
        child = module._modules[key]
        assert child is not None  # noqa: S101  # the name comes from `named`
        module = child
    return module


def modules(root: nn.Module) -> list[tuple[nn.Module, list[str]]]:
    """Return the distinct modules, each with all its names, in the order of its first name."""
    by_id: dict[int, tuple[nn.Module, list[str]]] = {}
    for name, module in named(root):
        by_id.setdefault(id(module), (module, []))[1].append(name)
    return list(by_id.values())


def tensors(root: nn.Module, table: str) -> list[tuple[torch.Tensor, list[str], nn.Module]]:
    """Return the distinct parameters or buffers (`table` names the module's dictionary).

    Each comes with all its names and the module that owns it under the first name.
    """
    by_id: dict[int, tuple[torch.Tensor, list[str], nn.Module]] = {}
    for prefix, module in named(root):
        for key, tensor in entries(module, table, torch.Tensor):
            name = f"{prefix}.{key}" if prefix else key
            by_id.setdefault(id(tensor), (tensor, [], module))[1].append(name)
    return list(by_id.values())
