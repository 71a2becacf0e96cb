"""The hooks on scripted modules, which PyTorch itself cannot keep."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from torch import nn
from torch.utils.hooks import RemovableHandle

Function = Callable[..., Any]
_EVERY = 0  # no object has this identity


class Hooks:
    """The hooks before the forward of modules, or those after it, in the order of PyTorch.

    Those for every module run first, then those of the module that were prepended, then those that
    were not. The file's own scripted hooks are attached already: they run before the last ones.
    """

    def __init__(self) -> None:
        self._early: dict[int, OrderedDict[int, Function]] = {}
        self._late: dict[int, OrderedDict[int, Function]] = {}

    def register(
        self, module: nn.Module | None, function: Function, *, prepend: bool
    ) -> RemovableHandle:
        """Register a hook of a module, or of every module."""
        key = _EVERY if module is None else id(module)
        table = self._early if module is None or prepend else self._late
        hooks = table.setdefault(key, OrderedDict())
        handle = RemovableHandle(hooks)
        hooks[handle.id] = function
        if prepend:
            hooks.move_to_end(handle.id, last=False)
        return handle

    def early(self, module: nn.Module) -> tuple[Function, ...]:
        """Return the hooks that run before the file's own."""
        table = self._early
        return (*table.get(_EVERY, {}).values(), *table.get(id(module), {}).values())

    def any(self, module: nn.Module) -> bool:
        """Whether a module has hooks."""
        return bool(self.early(module) or self.late(module))

    def late(self, module: nn.Module) -> tuple[Function, ...]:
        """Return the hooks that run after the file's own."""
        return tuple(self._late.get(id(module), {}).values())
