"""Attaches hooks around an optimizer's step."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

import torch
from torch.optim import optimizer as torch_optimizer

from hookcli.hooks.hook import Hook, Site
from hookcli.hooks.portable import Portable
from hookcli.torch_private import disable_current_modes


class StepHook(Portable):
    """A hook before or after a step. Before, its value is the gradients; after, the parameters."""

    def __init__(self, hook: Hook, names: dict[int, str], *, pre: bool) -> None:
        self._hook = hook
        self._names = names
        self._pre = pre

    def __call__(
        self, optimizer: torch.optim.Optimizer, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        """Fire; PyTorch calls this. A global hook skips optimizers of other models' parameters."""
        parameters = [p for group in optimizer.param_groups for p in group["params"]]
        if not any(id(p) in self._names for p in parameters):
            return None
        with disable_current_modes():  # so that operator hooks do not see the detach
            value = {
                self._names.get(id(p), f"[{i}]"): p.grad if self._pre else p.detach()
                for i, p in enumerate(parameters)
                if not self._pre or p.grad is not None
            }
        return self._hook.fire(
            Site(type(optimizer).__name__), value, lambda _: (optimizer, args, kwargs)
        )


def attach_step_pre(
    hook: Hook, optimizer: torch.optim.Optimizer, names: dict[int, str], stack: ExitStack
) -> None:
    """Register a kind that fires before a step; `names` are parameter names by id."""
    _attach(hook, optimizer, StepHook(hook, names, pre=True), stack)


def attach_step_post(
    hook: Hook, optimizer: torch.optim.Optimizer, names: dict[int, str], stack: ExitStack
) -> None:
    """Register a kind that fires after a step; `names` are parameter names by id."""
    _attach(hook, optimizer, StepHook(hook, names, pre=False), stack)


def _attach(
    hook: Hook, optimizer: torch.optim.Optimizer, function: StepHook, stack: ExitStack
) -> None:
    if hook.kind.process_wide and hook.attached:
        return  # registered with another optimizer: it fires for every optimizer
    owner: Any = torch_optimizer if hook.kind.process_wide else optimizer
    stack.enter_context(getattr(owner, hook.kind.method)(function))
    hook.attached += 1
