"""Neutrality: after a run in this process the model is the same as before, bit by bit.

Everything that a forward can write is saved before and restored after: buffers, gradients,
`requires_grad`, training flags, attributes, hook dictionaries (the modules' and torch's global
ones) and the states of random generators. Parameters are saved if there is memory for a copy;
otherwise a change of a parameter is reported.
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

from hookcli.engine.neutrality.containers import CONTAINERS, Containers, Objects, Tensors
from hookcli.engine.seeds import generators_kept
from hookcli.memory import available
from hookcli.models import module_tree


class _Modules:
    """The attributes of every module."""

    def __init__(self, root: nn.Module) -> None:
        self._modules = [(m, type(m), dict(vars(m))) for m, _ in module_tree.modules(root)]
        self._objects = Objects()
        for module, _, attributes in self._modules:
            for buffer in module._buffers.values():
                if isinstance(buffer, torch.Tensor):
                    self._objects.tensors.keep(buffer)
            for value in attributes.values():
                self._objects.keep(value)

    def restore(self) -> None:
        for module, kind, attributes in self._modules:
            if type(module) is not kind:  # a lazy module was initialized
                module.__class__ = kind
            now = vars(module)
            if now.keys() != attributes.keys():
                for name in [n for n in now if n not in attributes]:
                    del now[name]
            now.update(attributes)
        self._objects.restore()


class _Parameters:
    """Values, gradients and `requires_grad` of parameters; the lazy state of lazy tensors.

    Values are copied if that takes at most a quarter of the free memory. They may change: an
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
        named = [(p, names[0]) for p, names, _ in parameters if not is_lazy(p)]
        self.copied = fits([p for p, _ in named])
        for parameter, name in named:
            self._kept.append(
                (name, parameter, parameter.grad, parameter.requires_grad, _mark(parameter))
            )
            if self.copied:
                self._tensors.keep(parameter)
            if parameter.grad is not None:
                self._tensors.keep(parameter.grad)

    def restore(self, *, careful: bool) -> list[str]:
        """Restore everything; return the names of parameters that changed and have no copy.

        Without `careful`, values are restored only if torch counted a write.
        """
        written = []
        for tensor, kind in self._lazy:
            if type(tensor) is not kind:  # it was initialized
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
            parameter.grad = grad  # last: its dtype must match the parameter's
        return written

    def differ(self) -> bool:
        """Whether the values of a parameter changed."""
        return self._tensors.differ()


_Mark: TypeAlias = tuple[int, int]
_LARGEST_LIMIT = 1 << 24  # the recursion limit is a C int


def _mark(tensor: torch.Tensor) -> _Mark:
    """Return a mark that most writes change: the in-place version and the id of the storage."""
    version = 0 if tensor.is_inference() else tensor._version
    return version, tensor.untyped_storage()._cdata


def fits(tensors: list[torch.Tensor]) -> bool:
    """Whether there is memory for copies of these tensors."""
    if any(t.device.type != "cpu" for t in tensors):
        return False
    free = available()
    return free is None or sum(t.numel() * t.element_size() for t in tensors) <= free // 4


def _global_hooks() -> list[Any]:
    values = [value for name, value in vars(torch_module).items() if name.startswith("_global_")]
    return [value for value in values if type(value) in CONTAINERS]


class ModelState:
    """A snapshot of everything that a model's forward can write."""

    def __init__(self, root: nn.Module) -> None:
        self._modules, self._parameters = _Modules(root), _Parameters(root)
        self._globals = Containers()
        for container in _global_hooks():
            self._globals.keep(container)
        self._flag = torch_module._global_is_full_backward_hook

    def restore(self, *, careful: bool = True) -> list[str]:
        """Restore everything; return the names of parameters that changed and have no copy.

        Without `careful`, parameters are restored only if torch counted a write. This saves passes
        over the whole model; `differs` then tells whether it was enough.
        """
        self._modules.restore()
        written = self._parameters.restore(careful=careful)
        self._globals.restore()
        torch_module._global_is_full_backward_hook = self._flag
        return written

    def differs(self) -> bool:
        """Whether a parameter changed without being counted, as through `.data`."""
        return self._parameters.differ()


@contextmanager
def preserve_state(root: nn.Module, written: list[str]) -> Iterator[None]:
    """Restore everything that forwards in the block write, also if they raise.

    The names of parameters that changed and could not be restored are added to `written`.
    """
    snapshot = ModelState(root)
    with generators_kept():
        try:
            yield
        finally:
            written += snapshot.restore()


@contextmanager
def room_for_hooks() -> Iterator[None]:
    """Raise the recursion limit: a call of a module takes more frames with hooks than without.

    Blocks inside of others raise it again and again, as many as there are copies of a model.
    """
    now = sys.getrecursionlimit()
    more = max(0, min(now // 2 + 100, _LARGEST_LIMIT - now))
    sys.setrecursionlimit(now + more)
    try:
        yield
    finally:  # subtract, since other code may have raised the limit in between
        sys.setrecursionlimit(sys.getrecursionlimit() - more)
