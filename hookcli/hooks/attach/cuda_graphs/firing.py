"""How hooks on CUDA graphs fire, and what is told of errors that PyTorch discards."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import torch
from torch.utils.hooks import RemovableHandle

from hookcli.hooks.hook import Hook, Site
from hookcli.report.recording import HookFinding


def register_on_all(method: str, function: Callable[..., None], stack: ExitStack) -> None:
    """Register a function for all graphs of the process, until the stack is closed."""
    register: Callable[..., RemovableHandle] = getattr(torch.cuda.graphs, method)
    stack.enter_context(register(function))


def fire(hook: Hook, name: str, arguments: tuple[Any, ...]) -> None:
    """Fire at a graph with this name; `arguments` are those of PyTorch's hook."""
    call = hook.context.calls.running()
    site = Site(name, order=None if call is None else call.order)
    hook.fire(site, None, lambda _: arguments)


@contextmanager
def telling(hook: Hook, target: str) -> Iterator[None]:
    """Add a finding about an error that PyTorch discards, as the run does not fail with it."""
    try:
        yield
    except Exception as error:
        context = hook.context
        if context.raised is not None and context.raised[0] is error:
            context.raised = None  # the error of a later hook is explained, not this one
        what = f"{type(error).__name__} at '{target}', which PyTorch discards: {error}"
        message = f"kind {hook.spec.kind} raised {what}"
        context.find(HookFinding("hook_misuse", target, "raised", message, hook.spec.place))
        raise
