"""Neutrality: a model that is run in process is afterwards what it was, bit by bit.

What a forward can write is noted before and put back after: buffers, gradients, `requires_grad`,
training flags, plain attributes, hook dictionaries (the module's and torch's global ones), and
the generators' states; parameters where memory has room for a copy, else a write is told.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TypeAlias

import torch
from torch import nn
from torch.nn.modules import module as torch_module
from torch.nn.parameter import is_lazy

from hookcli.memory import available
from hookcli.models import module_tree
from hookcli.run.neutrality.containers import CONTAINERS, Containers, Objects, Tensors
from hookcli.run.seeds import generators_kept


class _Modules:
    """The attributes of every module."""

    def __init__(self, root: nn.Module) -> None:
        self._modules = [(m, type(m), dict(vars(m))) for m, _ in module_tree.modules(root)]
        self._objects = Objects()
        for module, _, attributes in self._modules:
            for buffer in module._buffers.values():
                if buffer is not None:
                    self._objects.tensors.keep(buffer)
            for value in attributes.values():
                self._objects.keep(value)

    def restore(self) -> None:
        for module, kind, attributes in self._modules:
            if type(module) is not kind:  # a lazy module became what it stands for
                module.__class__ = kind
            now = vars(module)
            if now.keys() != attributes.keys():
                for name in [n for n in now if n not in attributes]:
                    del now[name]
            now.update(attributes)
        self._objects.restore()


class _Parameters:
    """Contents, gradients and `requires_grad`; the class and emptiness of lazy tensors.

    Contents are copied while that takes at most a quarter of the memory that is free: an
    Embedding with `max_norm` writes its weight in every forward.
    """

    def __init__(self, root: nn.Module) -> None:
        self._tensors = Tensors()
        self._kept: list[tuple[str, torch.Tensor, torch.Tensor | None, bool, _Mark]] = []
        self._lazy: list[tuple[Any, type]] = []
        parameters = module_tree.tensors(root, "_parameters")
        for tensor, _, _ in (*parameters, *module_tree.tensors(root, "_buffers")):
            if is_lazy(tensor):
                self._lazy.append((tensor, type(tensor)))
        held = [(p, names[0]) for p, names, _ in parameters if not is_lazy(p)]
        self.copied = _fits([p for p, _ in held])
        for parameter, name in held:
            self._kept.append(
                (name, parameter, parameter.grad, parameter.requires_grad, _mark(parameter))
            )
            if self.copied:
                self._tensors.keep(parameter)
            if parameter.grad is not None:
                self._tensors.keep(parameter.grad)

    def restore(self, *, careful: bool) -> list[str]:
        """Names of parameters that were written and could not be put back.

        Without `careful` contents are put back only where torch counted a write.
        """
        written = []
        for tensor, kind in self._lazy:
            if type(tensor) is not kind:  # materialised
                tensor.data = torch.empty(0, dtype=tensor.dtype, device=tensor.device)
                tensor.grad = None
                tensor.__class__ = kind
        for name, parameter, _, requires_grad, mark in self._kept:
            if _mark(parameter) != mark:
                self._tensors.restore_one(parameter)
                written += [] if self.copied else [name]
            if parameter.requires_grad != requires_grad:
                parameter.requires_grad_(requires_grad)
        if careful:
            self._tensors.restore()
        for _, parameter, grad, _, _ in self._kept:
            parameter.grad = grad  # last: it must agree with the parameter's dtype
        return written

    def differ(self) -> bool:
        """Whether the contents of one are others than they were."""
        return self._tensors.differ()


_Mark: TypeAlias = tuple[int, int]


def _mark(tensor: torch.Tensor) -> _Mark:
    """Differs after most writes: the count of in-place ones, and the identity of the storage."""
    version = 0 if tensor.is_inference() else tensor._version
    return version, tensor.untyped_storage()._cdata


def _fits(tensors: list[torch.Tensor]) -> bool:
    """Whether copies of these may be held."""
    if any(t.device.type != "cpu" for t in tensors):
        return False
    free = available()
    return free is None or sum(t.numel() * t.element_size() for t in tensors) <= free // 4


def _global_hooks() -> list[Any]:
    values = [value for name, value in vars(torch_module).items() if name.startswith("_global_")]
    return [value for value in values if type(value) in CONTAINERS]


class ModelState:
    """All that a model's forwards can write, as it was when this was made."""

    def __init__(self, root: nn.Module) -> None:
        self._modules, self._parameters = _Modules(root), _Parameters(root)
        self._globals = Containers()
        for container in _global_hooks():
            self._globals.keep(container)
        self._flag = torch_module._global_is_full_backward_hook

    def restore(self, *, careful: bool = True) -> list[str]:
        """Put it back: names of parameters that were written and could not be put back.

        Without `careful`, the contents of parameters only where torch counted a write of them,
        which saves passes over the whole model; `differs` then tells whether that was enough.
        """
        self._modules.restore()
        written = self._parameters.restore(careful=careful)
        self._globals.restore()
        torch_module._global_is_full_backward_hook = self._flag
        return written

    def differs(self) -> bool:
        """Whether a parameter holds something else: it was written through `.data`, uncounted."""
        return self._parameters.differ()


@contextmanager
def preserve_state(root: nn.Module, written: list[str]) -> Iterator[None]:
    """Put back whatever the body's forwards write, also where they raise.

    Names of parameters that were written all the same are added to `written`.
    """
    snapshot = ModelState(root)
    with generators_kept():
        try:
            yield
        finally:
            written += snapshot.restore()


@contextmanager
def room_for_hooks() -> Iterator[None]:
    """Raise the recursion limit: a hooked call of a module takes more frames than a bare one."""
    more = sys.getrecursionlimit() // 2 + 100
    sys.setrecursionlimit(sys.getrecursionlimit() + more)
    try:
        yield
    finally:  # another may have raised it since, and stay
        sys.setrecursionlimit(sys.getrecursionlimit() - more)
