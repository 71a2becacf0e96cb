"""The structure of a scripted module: types, shared modules, repeated forward methods."""

from __future__ import annotations

import re
from typing import Any

from torch import nn

from hookcli.models import module_tree
from hookcli.models.torchscript.graphs import nodes_of

_REPEATED = re.compile(r"forward\d+")


def type_name(module: Any) -> str:
    """Return the name of its type, which modules with the same code and attributes share."""
    return str(module._c._type().qualified_name())


def repeats(root: nn.Module) -> dict[str, set[str]]:
    """Return, for each type, the methods that tracing made from repeated calls of forward.

    A method of such a name that a module calls on itself is the user's own.
    """
    methods: dict[str, set[str]] = {}
    seen: set[str] = set()
    for module, _ in module_tree.modules(root):
        script: Any = module
        if type_name(script) in seen:
            continue
        seen.add(type_name(script))
        for method in script._c._method_names():
            graph = script._c._get_method(method).graph
            own = next(graph.inputs()).debugName()
            for node in nodes_of(graph):
                if node.kind() != "prim::CallMethod" or not _REPEATED.fullmatch(node.s("name")):
                    continue
                called = node.inputsAt(0)
                if called.debugName() != own:
                    kind = str(called.type().qualified_name())
                    methods.setdefault(kind, set()).add(node.s("name"))
    return methods


def shared_as_one(root: Any) -> dict[Any, nn.Module]:
    """Return the Python module for each module of TorchScript.

    A module with two names becomes two modules in TorchScript, with the same type and the same
    tensors. Modules that own tensors become one again here, under both names. For modules that
    only contain other modules, it is not known whether they were one.
    """
    modules: dict[Any, nn.Module] = {}
    first: dict[tuple[Any, ...], Any] = {}
    todo = [root]
    while todo:
        module = todo.pop()
        modules.setdefault(module._c, module)
        for name, child in list(module._modules.items()):
            key = _identity(child)
            known = child if key is None else first.setdefault(key, child)
            if known is not child:
                modules[child._c] = known
                _same(known, child, modules)
                module._modules._python_modules[name] = known
        todo += [child for _, child in reversed(list(module._modules.items()))]
    return modules


def _same(known: Any, other: Any, modules: dict[Any, nn.Module]) -> None:
    """Map all modules below `other` to those below `known`, which has the same type."""
    for name, child in other._modules.items():
        modules[child._c] = known._modules[name]
        _same(known._modules[name], child, modules)


def _identity(module: Any) -> tuple[Any, ...] | None:
    """Return a key that is equal for modules that were one; None for modules without tensors."""
    tensors = tuple(
        id(tensor)
        for table in (module._parameters, module._buffers)
        for _, tensor in table.items()
        if tensor is not None
    )
    return (type_name(module), tensors) if tensors else None
