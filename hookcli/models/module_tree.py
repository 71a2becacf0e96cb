"""Walk modules by identity, with torch's qualified names and order.

torch's own `named_modules` and `named_parameters` can be overridden, compare modules with `==`,
and recurse; a model may break each of the three.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import nn


def named(root: nn.Module) -> Iterator[tuple[str, nn.Module]]:
    """Yield (name, module) for `root` and all below, parents first; a shared one for each name."""
    todo: list[tuple[str, nn.Module, tuple[int, ...]]] = [("", root, ())]
    while todo:
        name, module, above = todo.pop()
        if id(module) in above:  # it contains itself
            continue
        yield name, module
        inside = (*above, id(module)) if module._modules else above
        prefix = f"{name}." if name else ""
        todo += [
            (prefix + key, child, inside)
            for key, child in reversed(module._modules.items())
            if child is not None
        ]


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
        for key, tensor in getattr(module, table).items():
            if tensor is not None:
                name = f"{prefix}.{key}" if prefix else key
                by_id.setdefault(id(tensor), (tensor, [], module))[1].append(name)
    return list(by_id.values())
