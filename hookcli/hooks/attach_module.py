"""Registering the kinds around a module's forward and backward, per module and global."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from typing import TYPE_CHECKING, Any

import torch
from torch import nn
from torch.nn.modules import module as torch_module

from hookcli.errors import RequestError
from hookcli.hooks.hook import Hook
from hookcli.hooks.module import Backward, Forward, ForwardPre, ForwardPreKeywords, ModuleHook
from hookcli.hooks.portable import Portable
from hookcli.models.scripted import tapped_of
from hookcli.report.recording import Finding

if TYPE_CHECKING:
    from hookcli.models.torchscript.tapped import Tapped

_PER_MODULE = {
    "forward_pre": "register_forward_pre_hook",
    "forward": "register_forward_hook",
    "full_backward_pre": "register_full_backward_pre_hook",
    "full_backward": "register_full_backward_hook",
    "backward": "register_backward_hook",
}


def _function(hook: Hook, kind: str, names: dict[int, str]) -> ModuleHook:
    if kind == "forward_pre":
        keywords = bool(hook.spec.options.get("with_kwargs"))
        return (ForwardPreKeywords if keywords else ForwardPre)(hook, names)
    if kind == "forward":
        return Forward(hook, names)
    return Backward(hook, names)


def attach_modules(hook: Hook, modules: list[tuple[str, nn.Module]], stack: ExitStack) -> None:
    """Register one of the per-module kinds on these modules."""
    kind = hook.spec.kind
    function = _function(hook, kind, {id(module): name for name, module in modules})
    for name, module in modules:
        if isinstance(function, Backward):
            if isinstance(module, torch.jit.ScriptModule):
                _skip_script(hook, name)
                continue
            _keep_flag(module, stack)
            note = nn.Module.register_forward_hook(module, function.forward_ended)
            stack.enter_context(note)
        register: Callable[..., Any] = getattr(nn.Module, _PER_MODULE[kind])
        tapped = tapped_of(module)
        if tapped is not None:
            register = partial(_register_scripted, tapped, kind)
        try:
            handle = register(module, function, **hook.spec.options)
        except RuntimeError as error:  # legacy beside full: torch refuses
            raise RequestError(
                str(error).splitlines()[0].rstrip("."),
                place=hook.spec.place,
                hint="a module takes legacy or full backward hooks, not both",
            ) from None
        stack.enter_context(handle)
        hook.attached += 1
    if kind == "backward":
        _warn_legacy(hook)


def _register_scripted(
    tapped: Tapped,
    kind: str,
    module: nn.Module | None,
    function: Callable[..., Any],
    *,
    prepend: bool = False,
    with_kwargs: bool = False,
    always_call: bool = False,
) -> Any:
    """What torch refuses a scripted module. It sees all arguments as positional ones."""
    del always_call  # a call that raised tells of nothing but its error
    if kind == "forward_pre":
        before = (
            function if not with_kwargs else (lambda module, args: _first(function, module, args))
        )
        return tapped.register_pre(module, before, prepend=prepend)
    return tapped.register_post(module, function, prepend=prepend)


def _first(function: Callable[..., Any], module: nn.Module, args: tuple[Any, ...]) -> Any:
    """The positional arguments that a hook with keyword ones gives back."""
    result = function(module, args, {})
    return None if result is None else result[0]


def _keep_flag(module: nn.Module, stack: ExitStack) -> None:
    """Torch never takes back that a module has had full, or legacy, backward hooks."""
    before = module._is_full_backward_hook
    stack.callback(setattr, module, "_is_full_backward_hook", before)


def _skip_script(hook: Hook, name: str) -> None:
    message = "a TorchScript module takes no backward hooks: it was left out; use tensor to observe"
    finding = Finding("hook_misuse", name, message, hook.spec.place, "warning")
    hook.context.find(finding)


def _warn_legacy(hook: Hook) -> None:
    hook.context.find(
        Finding(
            "hook_misuse",
            hook.spec.at.text if hook.spec.at is not None else "",
            "kind backward is legacy: it shows the gradients of the last autograd node, which "
            "are often not the module's; use full_backward, or tensor to observe",
            hook.spec.place,
            "warning",
        )
    )


class _NotScripted(Portable):
    """A global hook of torch's that leaves alone what our own operators tell it of."""

    def __init__(self, function: ModuleHook) -> None:
        self._function = function

    def __call__(self, module: nn.Module, *given: Any) -> Any:
        """As torch calls it."""
        return None if tapped_of(module) is not None else self._function(module, *given)  # type: ignore[operator]


def attach_global(hook: Hook, modules: list[tuple[str, nn.Module]], stack: ExitStack) -> None:
    """Register one of the global kinds; it acts on these modules."""
    kind = hook.spec.kind.removeprefix("global_")
    function: Any = _function(hook, kind, {id(module): name for name, module in modules})
    scripts = {id(t): t for _, module in modules if (t := tapped_of(module)) is not None}
    if isinstance(function, Backward):
        before = torch_module._global_is_full_backward_hook
        stack.callback(setattr, torch_module, "_global_is_full_backward_hook", before)
        note = torch_module.register_module_forward_hook(function.forward_ended)
        stack.enter_context(note)
    register: Callable[..., Any] = getattr(
        torch_module, f"register_module_{_PER_MODULE[kind].removeprefix('register_')}"
    )
    if scripts and not isinstance(function, Backward):
        for tapped in scripts.values():
            stack.enter_context(
                _register_scripted(tapped, kind, None, function, **hook.spec.options)
            )
        function = _NotScripted(function)
    handle = stack.enter_context(register(function, **hook.spec.options))
    # Torch's handle of a global hook forgets to take this back.
    stack.callback(torch_module._global_forward_hooks_with_kwargs.pop, handle.id, None)
    hook.attached += 1
    if kind == "backward":
        _warn_legacy(hook)
