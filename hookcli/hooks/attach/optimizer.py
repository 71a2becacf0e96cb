"""Attaches hooks around an optimizer's step."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

import torch
from torch.optim import optimizer as torch_optimizer

from hookcli.hooks.hook import Hook, Site
from hookcli.hooks.portable import Portable
from hookcli.models.bits import storage_of
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
        value = self._value(parameters, {})
        return self._hook.fire(
            Site(type(optimizer).__name__),
            value,
            lambda _: (optimizer, args, kwargs),
            again=lambda: self._value(parameters, value),
        )

    def _value(self, parameters: list[torch.Tensor], known: dict[str, Any]) -> dict[str, Any]:
        """Return the tensors by name; those of `known` if they are still the parameter's memory."""
        value: dict[str, Any] = {}
        with disable_current_modes():  # so that operator hooks do not see the detach
            for i, parameter in enumerate(parameters):
                name = self._names.get(id(parameter), f"[{i}]")
                if not self._pre:
                    same = name in known and _share_memory(known[name], parameter)
                    value[name] = known[name] if same else parameter.detach()
                elif parameter.grad is not None:
                    value[name] = parameter.grad
        return value


def _share_memory(tensor: torch.Tensor, other: torch.Tensor) -> bool:
    storages = storage_of(tensor), storage_of(other)
    return None not in storages and storages[0]._cdata == storages[1]._cdata


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
