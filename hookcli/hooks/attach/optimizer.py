"""Attaching hooks around an optimizer's step."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

import torch
from torch.optim.optimizer import (
    register_optimizer_step_post_hook,
    register_optimizer_step_pre_hook,
)
from torch.utils._python_dispatch import _disable_current_modes

from hookcli.hooks.hook import Hook, Site
from hookcli.hooks.portable import Portable


class StepHook(Portable):
    """A hook before or after a step: it sees gradients before, and parameters after."""

    def __init__(self, hook: Hook, names: dict[int, str]) -> None:
        self._hook = hook
        self._names = names
        self._pre = hook.spec.kind.endswith("_pre")

    def __call__(
        self, optimizer: torch.optim.Optimizer, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        """As torch calls it; a global one acts on optimizers of the model's parameters."""
        held = [p for group in optimizer.param_groups for p in group["params"]]
        if not any(id(p) in self._names for p in held):
            return None
        with _disable_current_modes():  # hooks of operators do not see this
            value = {
                self._names.get(id(p), f"[{i}]"): p.grad if self._pre else p.detach()
                for i, p in enumerate(held)
                if not self._pre or p.grad is not None
            }
        return self._hook.fire(
            Site(type(optimizer).__name__), value, lambda _: (optimizer, args, kwargs)
        )


def attach_optimizer(
    hook: Hook, optimizer: torch.optim.Optimizer, names: dict[int, str], stack: ExitStack
) -> None:
    """Register one of the four kinds; `names` are those of parameters by identity."""
    if hook.spec.kind.startswith("global_") and hook.attached:
        return  # with another optimizer: it fires for every one
    function = StepHook(hook, names)
    pre = hook.spec.kind.endswith("_pre")
    if hook.spec.kind.startswith("global_"):
        register: Any = (
            register_optimizer_step_pre_hook if pre else register_optimizer_step_post_hook
        )
        handle = register(function)
    elif pre:
        handle = optimizer.register_step_pre_hook(function)
    else:
        handle = optimizer.register_step_post_hook(function)
    stack.enter_context(handle)
    hook.attached += 1
