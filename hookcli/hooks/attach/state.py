"""Attaches hooks around state_dict() and load_state_dict()."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

import torch
from torch import nn

from hookcli.catalogue.kind import Returned
from hookcli.hooks.attach.attachments import Attachments
from hookcli.hooks.hook import Hook, Site
from hookcli.hooks.portable import Portable
from hookcli.hooks.resolve import Targets


class StateHook(Portable):
    """A hook of one of the four kinds. Its value is the module's own entries, if it has any."""

    def __init__(self, hook: Hook, names: dict[int, str]) -> None:
        self._hook = hook
        self._names = names
        self._of_entries = hook.kind.returned is Returned.ENTRIES

    def __call__(self, module: nn.Module, *args: Any) -> None:
        """Fire; PyTorch calls this. The arguments differ by kind."""
        name = self._names.get(id(module))
        if name is None:
            return
        if not self._of_entries:
            self._hook.fire(Site(name, module), None, lambda _: (module, *args))
            return
        state, prefix = args[0], args[1]

        def native(value: dict[str, Any]) -> tuple[Any, ...]:
            _write(state, prefix, value)
            return module, *args

        _write(
            state,
            prefix,
            self._hook.fire(
                Site(name, module),
                _own(state, prefix),
                native,
                again=lambda: _own(state, prefix),
            )
            or {},
        )


def _own(state: dict[str, Any], prefix: str) -> dict[str, Any]:
    """Return a module's own tensors in the state dict, by their names in the module."""
    return {
        key.removeprefix(prefix): value
        for key, value in state.items()
        if key.startswith(prefix)
        and isinstance(value, torch.Tensor)
        and "." not in key.removeprefix(prefix)
    }


def _write(state: dict[str, Any], prefix: str, own: dict[str, Any]) -> None:
    state.update({prefix + key: value for key, value in own.items()})


def attach_state(hook: Hook, targets: Targets, _attachments: Attachments, stack: ExitStack) -> None:
    """Register one of the four kinds on these modules."""
    function = StateHook(hook, {id(module): name for name, module in targets.modules})
    register: Callable[..., Any] = getattr(nn.Module, hook.kind.method)
    for _, module in targets.modules:
        stack.enter_context(register(module, function))
        hook.attached += 1
