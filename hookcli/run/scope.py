"""Neutrality: a model that is run in process is afterwards what it was, bit by bit.

What a forward can write is noted before and put back after: buffers, gradients, `requires_grad`,
training flags, plain attributes, hook dictionaries (the module's and torch's global ones), and
the generators' states. Parameters are not copied; one that a forward writes is told.
"""

from __future__ import annotations

import sys
from collections import OrderedDict, deque
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import nn
from torch.nn.modules import module as torch_module
from torch.nn.parameter import is_lazy

from hookcli.models import walk
from hookcli.run.seeds import generators_kept

_CONTAINERS = (dict, OrderedDict, list, set, deque)


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


class _Containers:
    """Items of containers, kept shallowly."""

    def __init__(self) -> None:
        self._kept: list[tuple[Any, Any]] = []

    def keep(self, container: Any) -> None:
        self._kept.append((container, container.copy() if container else ()))

    def restore(self) -> None:
        for container, kept in self._kept:
            if len(container) == len(kept) == 0:
                continue
            _refill(container, kept)


class _Tensors:
    """Contents of tensors, copied. Written back below autograd, which must not see a change."""

    def __init__(self) -> None:
        self._kept: dict[int, tuple[torch.Tensor, torch.Tensor]] = {}

    def keep(self, tensor: torch.Tensor) -> None:
        if id(tensor) not in self._kept and not is_lazy(tensor):
            self._kept[id(tensor)] = (tensor, tensor.detach().clone())

    def restore(self) -> None:
        for tensor, kept in self._kept.values():
            if tensor.data.shape != kept.shape:
                tensor.data = kept
            else:
                tensor.data.copy_(kept)


class _Modules:
    """The attributes of every module."""

    def __init__(self, root: nn.Module) -> None:
        self._modules = [(m, type(m), dict(vars(m))) for m, _ in walk.modules(root)]
        self._containers = _Containers()
        self._tensors = _Tensors()
        for module, _, attributes in self._modules:
            for value in attributes.values():
                if type(value) in _CONTAINERS:
                    self._containers.keep(value)
                elif isinstance(value, torch.Tensor) and value.is_leaf:
                    self._tensors.keep(value)
            for buffer in module._buffers.values():
                if buffer is not None:
                    self._tensors.keep(buffer)

    def restore(self) -> None:
        for module, kind, attributes in self._modules:
            if type(module) is not kind:  # a lazy module became what it stands for
                module.__class__ = kind
            now = vars(module)
            if now.keys() != attributes.keys():
                for name in [n for n in now if n not in attributes]:
                    del now[name]
            now.update(attributes)
        self._containers.restore()
        self._tensors.restore()


class _Parameters:
    """Gradients and `requires_grad`; and whether the parameter itself was written."""

    def __init__(self, root: nn.Module) -> None:
        self._tensors = _Tensors()
        self._kept: list[tuple[str, Any, torch.Tensor | None, bool, int]] = []
        self._lazy: list[tuple[Any, type]] = []
        for parameter, names, _ in walk.tensors(root, "_parameters"):
            if is_lazy(parameter):
                self._lazy.append((parameter, type(parameter)))
                continue
            version = 0 if parameter.is_inference() else parameter._version
            self._kept.append(
                (names[0], parameter, parameter.grad, parameter.requires_grad, version)
            )
            if parameter.grad is not None:
                self._tensors.keep(parameter.grad)

    def restore(self) -> list[str]:
        written = []
        for parameter, kind in self._lazy:
            if type(parameter) is not kind:  # materialised
                parameter.data = torch.empty(0, dtype=parameter.dtype, device=parameter.device)
                parameter.grad = None
                parameter.__class__ = kind
        for name, parameter, grad, requires_grad, version in self._kept:
            parameter.grad = grad
            if parameter.requires_grad != requires_grad:
                parameter.requires_grad_(requires_grad)
            if not parameter.is_inference() and parameter._version != version:
                written.append(name)
        self._tensors.restore()
        return written


def _global_hooks() -> list[Any]:
    found = [value for name, value in vars(torch_module).items() if name.startswith("_global_")]
    return [value for value in found if type(value) in _CONTAINERS]


@contextmanager
def neutral(root: nn.Module, written: list[str]) -> Iterator[None]:
    """Put back whatever the body's forwards write, also where they raise.

    Names of parameters that were written all the same are added to `written`.
    """
    modules, parameters = _Modules(root), _Parameters(root)
    globals_ = _Containers()
    for container in _global_hooks():
        globals_.keep(container)
    flag = torch_module._global_is_full_backward_hook
    with generators_kept():
        try:
            yield
        finally:
            modules.restore()
            written += parameters.restore()
            globals_.restore()
            torch_module._global_is_full_backward_hook = flag


@contextmanager
def room_for_hooks() -> Iterator[None]:
    """Raise the recursion limit: a hooked call of a module takes more frames than a bare one."""
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(limit + limit // 2 + 100)
    try:
        yield
    finally:
        sys.setrecursionlimit(limit)
