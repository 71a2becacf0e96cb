"""Saves and restores containers, tensors and objects (caches, counters) that a model refers to."""

from __future__ import annotations

import sys
import types
from collections import OrderedDict, deque
from collections.abc import Iterable
from typing import Any

import torch
from torch import nn
from torch.nn.parameter import is_lazy

from hookcli.models.bits import once, same_bits
from hookcli.models.nested import shape_of

CONTAINERS = (dict, OrderedDict, list, set, deque)


def _refill(container: Any, kept: Any) -> None:
    """Restore the items of a container."""
    if isinstance(container, list):
        container[:] = kept
        return
    container.clear()
    if isinstance(container, deque):
        container.extend(kept)
    else:
        container.update(kept)


class Containers:
    """Shallow copies of containers."""

    def __init__(self) -> None:
        self._kept: list[tuple[Any, Any]] = []

    def keep(self, container: Any) -> None:
        """Copy the items of a container."""
        self._kept.append((container, container.copy() if container else ()))

    def restore(self) -> None:
        """Restore the items of all containers."""
        for container, kept in self._kept:
            if len(container) == len(kept) == 0:
                continue
            _refill(container, kept)


class Tensors:
    """Copies of tensors. They are restored below autograd, which must not see a change."""

    def __init__(self) -> None:
        self._kept: dict[int, tuple[torch.Tensor, torch.Tensor]] = {}

    def keep(self, tensor: torch.Tensor) -> None:
        """Copy a tensor, unless it is uninitialized."""
        if id(tensor) not in self._kept and not is_lazy(tensor):
            self._kept[id(tensor)] = (tensor, tensor.detach().clone())

    def restore(self) -> None:
        """Restore all tensors."""
        for tensor, kept in self._kept.values():
            _put(tensor, kept)

    def restore_one(self, tensor: torch.Tensor) -> None:
        """Restore one tensor, if it was copied."""
        if id(tensor) in self._kept:
            _put(*self._kept[id(tensor)])

    def differ(self) -> bool:
        """Whether the bits of a tensor changed."""
        return any(not same_bits(tensor, kept) for tensor, kept in self._kept.values())


def _put(tensor: torch.Tensor, kept: torch.Tensor) -> None:
    if shape_of(tensor.data) != shape_of(kept) or tensor.dtype != kept.dtype:
        tensor.data = kept
    else:
        once(tensor.data).copy_(once(kept, like=tensor))


_MOST = 20_000  # objects and containers that are traversed
_LEAVES = (
    str, bytes, int, float, complex, type(None), nn.Module, type, types.FunctionType,
    types.BuiltinFunctionType, types.MethodType, types.ModuleType,
)  # fmt: skip
_COMMON = {str, bool, int, float, type(None)}
_THEIRS = {*sys.stdlib_module_names, "torch", "numpy", "hookcli"}


class Objects:
    """The attributes of objects, at any depth: for example a cache that each forward extends.

    Objects of Python's and torch's own classes are not saved: a lock is not the model's state.
    """

    def __init__(self) -> None:
        self._containers = Containers()
        self.tensors = Tensors()
        self._attributes: list[tuple[dict[str, Any], dict[str, Any]]] = []
        self._seen: set[int] = set()

    def keep(self, value: Any) -> None:
        """Save an attribute and everything inside it."""
        todo = [value]
        while todo:
            item = todo.pop()
            kind = type(item)  # `__class__` may be overridden
            if kind in _COMMON:
                continue
            if issubclass(kind, torch.Tensor):
                if item.is_leaf and not isinstance(item, nn.Parameter):
                    self.tensors.keep(item)
            elif not (issubclass(kind, _LEAVES) or id(item) in self._seen):
                todo += self._inside(item)

    def _inside(self, item: Any) -> Iterable[Any]:
        """Save a container or an object, and return the values inside it."""
        kind = type(item)
        if kind in CONTAINERS:
            self._seen.add(id(item))
            self._containers.keep(item)
            values = () if not item else item.values() if isinstance(item, dict) else item
        elif kind is tuple:
            values = item
        else:
            values = self._of_object(item).values()
        return list(values) if len(self._seen) < _MOST else ()

    def _of_object(self, item: Any) -> dict[str, Any]:
        if str(type(item).__module__).partition(".")[0] in _THEIRS:
            return {}
        try:
            stored = object.__getattribute__(item, "__dict__")
        except AttributeError:
            return {}
        if type(stored) is not dict or len(self._seen) >= _MOST:
            return {}
        self._seen.add(id(item))
        self._attributes.append((stored, stored.copy()))
        return stored

    def restore(self) -> None:
        """Restore everything."""
        for stored, kept in self._attributes:
            for name in [name for name in stored if name not in kept]:
                del stored[name]
            stored.update(kept)
        self._containers.restore()
        self.tensors.restore()
