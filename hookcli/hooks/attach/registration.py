"""Attaches to registration: of parameters, buffers and submodules while the model is built."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

from torch import nn
from torch.nn.modules import module as torch_module

from hookcli.hooks.hook import Hook, Site
from hookcli.hooks.portable import Portable


class RegistrationHook(Portable):
    """A hook on registrations. Names are local, as the module tree is not complete yet."""

    def __init__(self, hook: Hook) -> None:
        self._hook = hook

    def __call__(self, module: nn.Module, name: str, value: Any) -> Any:
        """Fire; PyTorch calls this."""
        if value is None or self._hook.context.phase != "build":
            return None
        site = Site(f"{type(module).__name__}.{name}", module)
        what = type(value).__name__ if isinstance(value, nn.Module) else None
        return self._hook.fire(site, value, lambda new: (module, name, new), node=what)


def attach_registration(hook: Hook, stack: ExitStack) -> None:
    """Register one of the three kinds for all modules that are built."""
    register: Callable[..., Any] = getattr(torch_module, hook.kind.method)
    stack.enter_context(register(RegistrationHook(hook)))
    hook.attached += 1
