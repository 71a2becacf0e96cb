"""Notes the calls of roots that torch.compile wraps, from outside of compiled code."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from hookcli.hooks.portable import Portable
from hookcli.training.guard import Guard
from hookcli.training.root_watch import RootWatch
from hookcli.training.roots import modules_with

_TRIES = 4  # searches for a wrapper, which look at all references to the root


class CompiledCalls:
    """Hooks on the wrappers of roots: compiled code contains neither them nor what they do."""

    def __init__(self, guard: Guard) -> None:
        self._guard = guard
        self._tried: dict[int, int] = {}  # by the number of a root
        self._handles: list[Any] = []

    def watch(self, root: RootWatch) -> None:
        """Note the calls of a root from now on, if `torch.compile(root)` is what is called."""
        tried = self._tried.get(root.number, 0)
        if tried >= _TRIES or torch.compiler.is_compiling():
            return
        wrapper = _wrapper_of(root.root)
        if wrapper is None:
            self._tried[root.number] = tried + 1
            return
        self._tried[root.number] = _TRIES
        register: Any = wrapper.register_forward_pre_hook
        self._handles += [
            register(_Hook(self._guard(_Begins(root))), with_kwargs=True),
            wrapper.register_forward_hook(_Hook(self._guard(_Ends(root)))),
        ]

    def stop(self) -> None:
        """Remove the hooks."""
        for handle in self._handles:
            handle.remove()
        self._handles.clear()


class _Hook(Portable, guarded=True):
    """A hook that no copy of the wrapper has."""

    def __init__(self, function: Any) -> None:
        self._function = function

    def __call__(self, *args: Any) -> None:
        """Tell the call; PyTorch calls this."""
        self._function(*args)


class _Begins:
    def __init__(self, root: RootWatch) -> None:
        self._root = root

    def __call__(self, _module: nn.Module, args: Any, kwargs: Any = None) -> None:
        """Note a call that begins, with its batch.

        While another thread removes the hook, PyTorch calls it without the keyword arguments.
        """
        if kwargs is not None:
            self._root.enter(args, kwargs)


class _Ends:
    def __init__(self, root: RootWatch) -> None:
        self._root = root

    def __call__(self, _module: nn.Module, _args: Any, output: Any) -> None:
        """Note a call that ended, whose output tells when backward begins."""
        if torch.is_grad_enabled():
            self._root.watch_backward(output)


def _wrapper_of(root: nn.Module) -> nn.Module | None:
    """Return the module that torch.compile made of a root; None if there is none, or several."""
    found = [one for one in modules_with(root) if type(one).__name__ == "OptimizedModule"]
    return found[0] if len(found) == 1 else None
