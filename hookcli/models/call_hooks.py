"""Observe every call of a live model with PyTorch's own module hooks."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

import torch
from torch import nn
from torch.nn.modules import module as torch_module
from torch.nn.modules.module import (
    register_module_forward_hook,
    register_module_forward_pre_hook,
)

from hookcli.models import module_tree, places
from hookcli.models.converted.compiled import is_wrapper, within_compiled
from hookcli.models.model import CallStack, Enter, Exit, Model


def _could_fuse(layer: nn.TransformerEncoderLayer) -> bool:
    """Whether it could use torch._transformer_encoder_layer_fwd if its children had no hooks."""
    graded = torch.is_grad_enabled() and any(p.requires_grad for p in layer.parameters())
    return not layer.training and not graded


class _Inert:
    """What the hooks become in a pickle, outside the process in which they observe."""

    def _pre(self, *_: Any) -> None: ...

    def _post(self, *_: Any) -> None: ...


class CallHooks:
    """The hooks of one observation.

    A global hook begins every call, before all other hooks. On each registered module, the last
    hooks see its inputs and outputs; global hooks see those of modules that are not registered.
    """

    def __init__(self, model: Model, enter: Enter, leave: Exit, calls: CallStack) -> None:
        self._model = model
        self._enter, self._leave = enter, leave
        self._calls = calls
        self._names: dict[int, str] = {}
        self._modules: list[nn.Module] = []
        self._hooked: set[int] = set()
        self._unregistered: dict[int, nn.Module] = {}  # kept, so that no id is reused
        # Modules that report their calls themselves, with what is called when one raised.
        self._reporters: dict[int, Callable[[BaseException], None]] = {}
        for module, names in module_tree.modules(model.root):
            self._names[id(module)] = names[0]
            self._modules.append(module)
            if self._accepts_hooks(module):
                self._hooked.add(id(module))

    def _accepts_hooks(self, module: nn.Module) -> bool:
        """Whether PyTorch registers hooks on it; global hooks see the calls of the others."""
        return True

    def __deepcopy__(self, _memo: dict[int, Any]) -> CallHooks:
        """Return itself: a model may copy a child, and the child's hooks with it."""
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        """Become inert in a pickle: a model may save or send a child."""
        return _Inert, ()

    def open(self, stack: ExitStack) -> None:
        """Attach the hook that must come before all others."""
        stack.enter_context(register_module_forward_pre_hook(self._begin))

    def attach(self, stack: ExitStack) -> None:
        """Attach the hooks that must come after all others."""
        for module in self._modules:
            if id(module) not in self._hooked:
                continue
            # The methods of nn.Module itself, because a model may override them.
            pre, post = nn.Module.register_forward_pre_hook, nn.Module.register_forward_hook
            stack.enter_context(pre(module, self._pre, with_kwargs=True))
            stack.enter_context(post(module, self._post, with_kwargs=True, always_call=True))
        handle = stack.enter_context(
            register_module_forward_hook(self._global_post, with_kwargs=True, always_call=True)
        )
        # torch's handle of a global hook does not remove this entry.
        stack.callback(torch_module._global_forward_hooks_with_kwargs.pop, handle.id, None)

    # PyTorch calls these four. It looks up whether a hook gets the keyword arguments just before it
    # calls it: while another thread attaches or removes the hook, it is called without them.

    def _begin(self, module: nn.Module, args: tuple[Any, ...]) -> None:
        if self._calls.full:
            self._calls.skip()
            return
        try:
            self._note_begin(module, args)
        except Exception as error:
            if not self._calls.failed(error):
                raise

    def _pre(
        self, module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any] | None = None
    ) -> None:
        if kwargs is None:
            return
        if self._calls.full and self._calls.skips():
            return
        try:
            self._note_inputs(module, args, kwargs)
        except Exception as error:
            if not self._calls.failed(error):
                raise

    def _post(self, module: nn.Module, _args: tuple[Any, ...], *rest: Any) -> None:
        kwargs, output = rest if len(rest) == 2 else ({}, *rest)
        try:
            if id(module) in self._hooked and not (self._calls.full and self._calls.end_skipped()):
                self._end(module, kwargs, output)
        except Exception as error:
            if not self._calls.failed(error):
                raise

    def _global_post(self, module: nn.Module, _args: tuple[Any, ...], *rest: Any) -> None:
        try:
            self._note_end(module, rest)
        except Exception as error:
            if not self._calls.failed(error):
                raise

    def _note_begin(self, module: nn.Module, args: tuple[Any, ...]) -> None:
        key, calls = id(module), self._calls
        if module is self._model.wrapper or key in self._reporters:
            return
        call = calls.enter(module, self._names.get(key))
        if calls.placed:
            call.place = places.of_frame(sys._getframe(2))
        call.inlined = is_wrapper(module) and within_compiled(sys._getframe(2))
        call.outer = sys.exc_info()[1]
        if isinstance(module, nn.TransformerEncoderLayer) and _could_fuse(module):
            call.note("observing its children disabled PyTorch's fused path")
        if key not in self._hooked:
            self._unregistered[key] = module
            call.kwargs_seen, call.entered = False, True
            self._enter(call, (args, {}))

    def _end(self, module: nn.Module, kwargs: dict[str, Any], output: Any) -> None:
        call = self._calls.leave(id(module))
        if call is None:
            return
        if not call.entered:
            self._calls.forget(call)
            return
        error = sys.exc_info()[1]
        if error is call.outer:
            error = None  # in most calls both are None
        elif type(error).__name__ == "_StopRecomputationError":  # private to torch's checkpoint
            call.note("recomputed as far as backward needed it")
            error = None
        call.outer = None
        if call.kwargs_seen:
            self._leave(call, output, error)
            return
        call.late = kwargs
        self._leave(call, output, error)
        call.late = None

    # A copy of a hooked module has its hooks too; the global hooks see it as not registered.

    def _note_inputs(
        self, module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> None:
        if id(module) in self._hooked:
            call = self._calls.running()
            if call is not None and call.key == id(module) and not call.entered:
                call.entered = True
                call.type = type(module).__name__  # a lazy module has become its final class
                self._enter(call, (args, kwargs))

    def _note_end(self, module: nn.Module, rest: tuple[Any, ...]) -> None:
        # After an error torch calls a global hook without the keyword arguments.
        if id(module) in self._reporters:
            error = sys.exc_info()[1]
            if error is not None:
                self._reporters[id(module)](error)
        elif id(module) not in self._hooked and not (
            self._calls.full and self._calls.end_skipped()
        ):
            kwargs, output = rest if len(rest) == 2 else ({}, None)
            self._end(module, kwargs, output)
