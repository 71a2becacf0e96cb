"""What a scripted module is made of: types, modules that are one, methods that are forwards."""

from __future__ import annotations

import re
from typing import Any

from torch import nn

from hookcli.models import module_tree
from hookcli.models.torchscript.graphs import nodes_of

_REPEATED = re.compile(r"forward\d+")


def type_name(module: Any) -> str:
    """The name of its type, which all share that have the same code and attributes."""
    return str(module._c._type().qualified_name())


def repeats(root: nn.Module) -> dict[str, set[str]]:
    """Methods by type that are further calls of forward, as tracing makes of a second call.

    A method of that name which a module calls of itself is the user's own.
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
    """The module of Python's for each of TorchScript's.

    A module that stood under two names is two in TorchScript, of one type and over the same
    tensors. Those that hold tensors of their own become one again here, under both names; of
    those that only hold other modules nothing tells whether they were one.
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
    """Take all modules below `other` for those below `known`, which has the same type."""
    for name, child in other._modules.items():
        modules[child._c] = known._modules[name]
        _same(known._modules[name], child, modules)


def _identity(module: Any) -> tuple[Any, ...] | None:
    """What two modules have in common that were one; None for those without tensors."""
    tensors = tuple(
        id(tensor)
        for table in (module._parameters, module._buffers)
        for _, tensor in table.items()
        if tensor is not None
    )
    return (type_name(module), tensors) if tensors else None
