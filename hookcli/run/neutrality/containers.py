"""What hangs on a model beside its tensors: containers, and objects such as caches and counters."""

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

CONTAINERS = (dict, OrderedDict, list, set, deque)


def _refill(container: Any, kept: Any) -> None:
    """Give a container the items that it had."""
    if isinstance(container, list):
        container[:] = kept
        return
    container.clear()
    if isinstance(container, deque):
        container.extend(kept)
    else:
        container.update(kept)


class Containers:
    """Items of containers, kept shallowly."""

    def __init__(self) -> None:
        self._kept: list[tuple[Any, Any]] = []

    def keep(self, container: Any) -> None:
        """Note what it holds."""
        self._kept.append((container, container.copy() if container else ()))

    def restore(self) -> None:
        """Let each hold what it held."""
        for container, kept in self._kept:
            if len(container) == len(kept) == 0:
                continue
            _refill(container, kept)


class Tensors:
    """Contents of tensors, copied. Written back below autograd, which must not see a change."""

    def __init__(self) -> None:
        self._kept: dict[int, tuple[torch.Tensor, torch.Tensor]] = {}

    def keep(self, tensor: torch.Tensor) -> None:
        """Copy it, unless it has no contents yet."""
        if id(tensor) not in self._kept and not is_lazy(tensor):
            self._kept[id(tensor)] = (tensor, tensor.detach().clone())

    def restore(self) -> None:
        """Write the copies back."""
        for tensor, kept in self._kept.values():
            _put(tensor, kept)

    def restore_one(self, tensor: torch.Tensor) -> None:
        """Write one back, where it was copied."""
        if id(tensor) in self._kept:
            _put(*self._kept[id(tensor)])

    def differ(self) -> bool:
        """Whether one holds other bits than it did."""
        return any(not same_bits(tensor, kept) for tensor, kept in self._kept.values())


def _put(tensor: torch.Tensor, kept: torch.Tensor) -> None:
    if tensor.data.shape != kept.shape or tensor.dtype != kept.dtype:
        tensor.data = kept
    else:
        once(tensor.data).copy_(once(kept, like=tensor))


_MOST = 20_000  # objects and containers that are looked into
_LEAVES = (
    str, bytes, int, float, complex, type(None), nn.Module, type, types.FunctionType,
    types.BuiltinFunctionType, types.MethodType, types.ModuleType,
)  # fmt: skip
_COMMON = {str, bool, int, float, type(None)}
_THEIRS = {*sys.stdlib_module_names, "torch", "numpy", "hookcli"}


class Objects:
    """Attributes, as deep as they go: a cache that grows in each forward is one when it began.

    Objects of Python's own and of torch's classes are left alone: a lock is no state of a model.
    """

    def __init__(self) -> None:
        self._containers = Containers()
        self.tensors = Tensors()
        self._attributes: list[tuple[dict[str, Any], dict[str, Any]]] = []
        self._seen: set[int] = set()

    def keep(self, value: Any) -> None:
        """An attribute, and what it holds."""
        todo = [value]
        while todo:
            item = todo.pop()
            kind = type(item)  # an object may lie about its class
            if kind in _COMMON:
                continue
            if issubclass(kind, torch.Tensor):
                if item.is_leaf and not isinstance(item, nn.Parameter):
                    self.tensors.keep(item)
            elif not (issubclass(kind, _LEAVES) or id(item) in self._seen):
                todo += self._inside(item)

    def _inside(self, item: Any) -> Iterable[Any]:
        """What stands in a container or an object, which is kept."""
        kind = type(item)
        if kind in CONTAINERS:
            self._seen.add(id(item))
            self._containers.keep(item)
            held = () if not item else item.values() if isinstance(item, dict) else item
        elif kind is tuple:
            held = item
        else:
            held = self._of_object(item).values()
        return list(held) if len(self._seen) < _MOST else ()

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
        """Put all of it back."""
        for stored, kept in self._attributes:
            for name in [name for name in stored if name not in kept]:
                del stored[name]
            stored.update(kept)
        self._containers.restore()
        self.tensors.restore()
