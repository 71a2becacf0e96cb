"""Attaches hooks around a module's forward and backward, and the functions that torch calls."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from typing import TYPE_CHECKING, Any

import torch
from torch import nn
from torch.nn.modules import module as torch_module

from hookcli.catalogue.kind import Moment
from hookcli.errors import RequestError
from hookcli.hooks.attach.attachments import Attachments
from hookcli.hooks.attach.backward_calls import Origins, first_tensor
from hookcli.hooks.hook import Hook, Site
from hookcli.hooks.portable import Portable, fail_open
from hookcli.hooks.resolve import Targets
from hookcli.models.model import Call
from hookcli.models.scripted import tapped_of
from hookcli.report.recording import HookFinding
from hookcli.text import first_line

if TYPE_CHECKING:
    from hookcli.models.torchscript.tapped import Tapped


def attach_forward_pre(
    hook: Hook, targets: Targets, _attachments: Attachments, stack: ExitStack
) -> None:
    """Register `forward_pre` on these modules."""
    function = _forward_pre(hook, _names(targets))
    for _, module in targets.modules:
        _register(hook, module, function, stack)


def attach_forward(
    hook: Hook, targets: Targets, _attachments: Attachments, stack: ExitStack
) -> None:
    """Register `forward` on these modules."""
    function = Forward(hook, _names(targets))
    for _, module in targets.modules:
        _register(hook, module, function, stack)


def attach_backward(
    hook: Hook, targets: Targets, _attachments: Attachments, stack: ExitStack
) -> None:
    """Register a full backward kind on these modules."""
    _attach_backward(hook, targets, BackwardModuleHook(hook, _names(targets)), stack)


def attach_legacy_backward(
    hook: Hook, targets: Targets, _attachments: Attachments, stack: ExitStack
) -> None:
    """Register `backward` on these modules."""
    _attach_backward(hook, targets, LegacyBackwardHook(hook, _names(targets)), stack)
    _warn_legacy(hook)


def _names(targets: Targets) -> dict[int, str]:
    return {id(module): name for name, module in targets.modules}


def _forward_pre(hook: Hook, names: dict[int, str]) -> ModuleHook:
    keywords = bool(hook.spec.options.get("with_kwargs"))
    return (ForwardPreKeywords if keywords else ForwardPre)(hook, names)


def _attach_backward(
    hook: Hook, targets: Targets, function: BackwardModuleHook, stack: ExitStack
) -> None:
    for name, module in targets.modules:
        if isinstance(module, torch.jit.ScriptModule):
            _skip_script(hook, name)
            continue
        _keep_flag(module, stack)
        note = nn.Module.register_forward_hook(module, function.forward_ended)
        stack.enter_context(note)
        _register(hook, module, function, stack)


def _register(hook: Hook, module: nn.Module, function: ModuleHook, stack: ExitStack) -> None:
    register: Callable[..., Any] = getattr(nn.Module, hook.kind.method)
    tapped: Tapped | None = tapped_of(module)
    if tapped is not None:
        register = partial(_register_scripted, tapped, hook.kind.moment)
    try:
        handle = register(module, function, **hook.spec.options)
    except RuntimeError as error:  # torch rejects legacy and full hooks on one module
        raise RequestError(
            first_line(str(error)).rstrip("."),
            place=hook.spec.place,
            hint="attach legacy or full backward hooks to a module, not both",
        ) from None
    stack.enter_context(handle)
    hook.attached += 1


def _register_scripted(
    tapped: Tapped,
    moment: Moment | None,
    module: nn.Module | None,
    function: Callable[..., Any],
    *,
    prepend: bool = False,
    with_kwargs: bool = False,
    always_call: bool = False,
) -> Any:
    """Register a forward hook on a scripted module, which torch does not support.

    The hook sees all arguments as positional arguments.
    """
    del always_call  # a call that raised has no output to pass to the hook
    if moment is Moment.BEFORE_FORWARD:
        before = (
            function if not with_kwargs else (lambda module, args: _first(function, module, args))
        )
        return tapped.pre.register(module, before, prepend=prepend)
    return tapped.post.register(module, function, prepend=prepend)


def _first(function: Callable[..., Any], module: nn.Module, args: tuple[Any, ...]) -> Any:
    """Return the positional arguments of the pair that a hook with keyword arguments returns."""
    result = function(module, args, {})
    return None if result is None else result[0]


def _keep_flag(module: nn.Module, stack: ExitStack) -> None:
    """Restore the module's flag for full or legacy backward hooks, which torch never resets."""
    before = module._is_full_backward_hook
    stack.callback(setattr, module, "_is_full_backward_hook", before)


def _skip_script(hook: Hook, name: str) -> None:
    message = (
        "a TorchScript module does not support backward hooks and was skipped: use kind tensor"
    )
    finding = HookFinding(
        "hook_misuse", name, "TorchScript module", message, hook.spec.place, "warning"
    )
    hook.context.find(finding)


def _warn_legacy(hook: Hook) -> None:
    hook.context.find(
        HookFinding(
            "hook_misuse",
            hook.spec.at.text if hook.spec.at is not None else "",
            "legacy kind",
            "kind backward is legacy and shows the gradients of the last autograd node, often not "
            "the module's: use full_backward, or tensor to observe",
            hook.spec.place,
            "warning",
        )
    )


class _NotScripted(Portable):
    """A global hook that skips modules whose calls hookcli's own operators report."""

    def __init__(self, function: ModuleHook) -> None:
        self._function = function

    def __call__(self, module: nn.Module, *args: Any) -> Any:
        """Fire; PyTorch calls this."""
        return None if tapped_of(module) is not None else self._function(module, *args)  # type: ignore[operator]


def attach_global_forward_pre(
    hook: Hook, targets: Targets, _attachments: Attachments, stack: ExitStack
) -> None:
    """Register `global_forward_pre`; it acts on these modules."""
    _attach_global_forward(hook, targets, _forward_pre(hook, _names(targets)), stack)


def attach_global_forward(
    hook: Hook, targets: Targets, _attachments: Attachments, stack: ExitStack
) -> None:
    """Register `global_forward`; it acts on these modules."""
    _attach_global_forward(hook, targets, Forward(hook, _names(targets)), stack)


def attach_global_backward(
    hook: Hook, targets: Targets, _attachments: Attachments, stack: ExitStack
) -> None:
    """Register a full backward kind for every module; it acts on these."""
    _attach_global_backward(hook, BackwardModuleHook(hook, _names(targets)), stack)


def attach_global_legacy_backward(
    hook: Hook, targets: Targets, _attachments: Attachments, stack: ExitStack
) -> None:
    """Register `global_backward`; it acts on these modules."""
    _attach_global_backward(hook, LegacyBackwardHook(hook, _names(targets)), stack)
    _warn_legacy(hook)


def _attach_global_forward(hook: Hook, targets: Targets, function: Any, stack: ExitStack) -> None:
    scripts: dict[int, Tapped] = {
        id(t): t for _, module in targets.modules if (t := tapped_of(module)) is not None
    }
    for tapped in scripts.values():
        stack.enter_context(
            _register_scripted(tapped, hook.kind.moment, None, function, **hook.spec.options)
        )
    _register_global(hook, _NotScripted(function) if scripts else function, stack)


def _attach_global_backward(hook: Hook, function: BackwardModuleHook, stack: ExitStack) -> None:
    before = torch_module._global_is_full_backward_hook
    stack.callback(setattr, torch_module, "_global_is_full_backward_hook", before)
    stack.enter_context(torch_module.register_module_forward_hook(function.forward_ended))
    _register_global(hook, function, stack)


def _register_global(hook: Hook, function: Any, stack: ExitStack) -> None:
    register: Callable[..., Any] = getattr(torch_module, hook.kind.method)
    handle = stack.enter_context(register(function, **hook.spec.options))
    # torch's handle of a global hook does not remove this entry.
    stack.callback(torch_module._global_forward_hooks_with_kwargs.pop, handle.id, None)
    hook.attached += 1


class ModuleHook(Portable):
    """One hook function for all modules that a hook is attached to; `names` has them by id.

    A copy of a hooked module has the hook too. It is not in `names`, so the hook does not fire.
    """

    def __init__(self, hook: Hook, names: dict[int, str]) -> None:
        self._hook = hook
        self._names = names

    def site(self, module: nn.Module) -> Site | None:
        """Return where the hook fires now; None if it does not fire for this module."""
        key = id(module)
        name = self._names.get(key)
        if name is None:
            return None
        call = self._hook.context.calls.running()
        if call is None or call.key != key:
            return Site(name, module)
        if call.inlined and self._hook.context.passes_over(call):
            return None
        site: Site | None = call.site
        if site is None:
            site = call.site = Site(name, module, call.index, call.order, call.recomputed)
        return site


class ForwardPre(ModuleHook):
    """`forward_pre`, without keyword arguments."""

    def __call__(self, module: nn.Module, args: tuple[Any, ...]) -> Any:
        """Fire; PyTorch calls this."""
        site, hook = self.site(module), self._hook
        if site is None:
            return None
        if hook.looks_only:
            hook.look(site, args)
            return None
        return hook.fire(site, args, lambda value: (module, value))


class ForwardPreKeywords(ModuleHook):
    """`forward_pre` with `with_kwargs`."""

    def __call__(self, module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Fire; PyTorch calls this."""
        site = self.site(module)
        return site and self._hook.fire(site, (args, kwargs), lambda value: (module, *value))


class Forward(ModuleHook):
    """`forward`, with or without keyword arguments."""

    def __call__(self, module: nn.Module, *args: Any) -> Any:
        """Fire; PyTorch calls this with (args, output) or (args, kwargs, output)."""
        site, hook = self.site(module), self._hook
        if site is None:
            return None
        if hook.looks_only:
            hook.look(site, args[-1])
            return None
        return hook.fire(site, args[-1], lambda value: (module, *args[:-1], value))


class BackwardModuleHook(ModuleHook):
    """The full backward kinds. The call is found from the running node: torch does not tell it."""

    def __init__(self, hook: Hook, names: dict[int, str]) -> None:
        super().__init__(hook, names)
        self._origins = Origins()
        self._silent: set[int] = set()  # orders of calls that torch.compile inlines
        hook.context.restarts.append(self._origins.clear)

    @fail_open
    def forward_ended(self, module: nn.Module, args: Any, output: Any) -> None:
        """Note a call, so that a backward hook can be traced to it; PyTorch calls this."""
        context = self._hook.context
        call = context.calls.running()
        if call is not None and call.key == id(module):
            if context.calls.is_main():
                self._origins.note_full(call, args)
            else:
                self._origins.mark(call, args, output)
            if context.passes_over(call):
                self._silent.add(call.order)

    def __call__(self, module: nn.Module, *gradients: Any) -> Any:
        """Fire; PyTorch calls this with (grad_output) or (grad_input, grad_output)."""
        name = self._names.get(id(module))
        if name is None:
            return None
        index, order = self._origins.find(id(module)) or (None, None)
        if order in self._silent:
            return None
        site = Site(name, module, index, order)
        value, rest = gradients[0], gradients[1:]
        return self._hook.fire(site, value, lambda value: (module, value, *rest))


class LegacyBackwardHook(BackwardModuleHook):
    """`backward` and `global_backward`, on the node that made the output."""

    def __init__(self, hook: Hook, names: dict[int, str]) -> None:
        super().__init__(hook, names)
        hook.context.ended.append(self._ended)

    @fail_open
    def forward_ended(self, module: nn.Module, args: Any, output: Any) -> None:
        """Raise a RequestError if torch finds no tensor in the output, or its search never ends."""
        if first_tensor(output) is not None:
            return
        raise RequestError(
            "a legacy backward hook cannot be attached to "
            f"{self._names.get(id(module)) or 'the model'}: PyTorch finds no tensor in its output",
            place=self._hook.spec.place,
            hint="use full_backward, or tensor at its output",
        )

    def _ended(self, call: Call, output: Any) -> None:
        """Note the output of a call after all forward hooks: the legacy hook is on its node."""
        if call.key not in self._names:
            return
        if self._hook.context.calls.is_main():
            self._origins.note_legacy(call, output)
        else:
            self._origins.mark(call, first_tensor(output))
