"""Attaches to gradients: of parameters, of the inputs and outputs of calls, at autograd nodes."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

from torch.nn.parameter import is_lazy

from hookcli.hooks.attach.attachments import Attachments
from hookcli.hooks.attach.call_tensors import CallTensorHook
from hookcli.hooks.attach.graph import edge_of
from hookcli.hooks.attach.tensors import (
    Accumulated,
    AtNode,
    PostAccumulate,
    TensorHook,
    after_node,
    before_node,
    before_node_of_output,
    register_together,
)
from hookcli.hooks.hook import Hook, Site
from hookcli.hooks.resolve import Targets
from hookcli.models.model import TensorInfo
from hookcli.spec.hooks import Match


def attach_tensor(hook: Hook, targets: Targets, attachments: Attachments, stack: ExitStack) -> None:
    """Register `tensor`."""

    def register(info: TensorInfo) -> Any:
        return info.tensor.register_hook(TensorHook(hook, Site(info.name)))  # type: ignore[no-untyped-call]

    _on_each(hook, targets, attachments, stack, register)
    _on_calls(hook, targets, attachments, before_node_of_output)


def attach_post_accumulate_grad(
    hook: Hook, targets: Targets, attachments: Attachments, stack: ExitStack
) -> None:
    """Register `post_accumulate_grad`."""

    def register(info: TensorInfo) -> Any:
        return info.tensor.register_post_accumulate_grad_hook(  # type: ignore[no-untyped-call]
            PostAccumulate(hook, Site(info.name))
        )

    _on_each(hook, targets, attachments, stack, register)


def attach_accumulate_grad(
    hook: Hook, targets: Targets, attachments: Attachments, stack: ExitStack
) -> None:
    """Register `accumulate_grad`."""

    def register(info: TensorInfo) -> Any:
        node, _ = edge_of(info.tensor)
        stack.callback(_keep, node)  # keeps the node alive: torch frees the hook with it
        return node.register_hook(Accumulated(hook, Site(info.name)))

    _on_each(hook, targets, attachments, stack, register)


def _keep(_node: Any) -> None: ...


def attach_multi_grad(
    hook: Hook, targets: Targets, attachments: Attachments, stack: ExitStack
) -> None:
    """Register one `multi_grad` hook on all parameters, and one on the tensors of all calls.

    If a parameter is lazy, registration waits until the forward has initialized it.
    """
    infos = targets.parameters
    if any(is_lazy(info.tensor) for info in infos):
        attachments.late.append(lambda: _on_all(hook, infos, stack))
    else:
        _on_all(hook, infos, stack)
    _on_calls(hook, targets, attachments, after_node, together=True)


def attach_node_pre(
    hook: Hook, targets: Targets, attachments: Attachments, _stack: ExitStack
) -> None:
    """Register `node_pre` in every call."""
    _on_calls(hook, targets, attachments, before_node)


def attach_node(hook: Hook, targets: Targets, attachments: Attachments, _stack: ExitStack) -> None:
    """Register `node` in every call; at an input, for the module's own share of its gradient."""
    _on_calls(hook, targets, attachments, after_node, share=True)


def _on_each(
    hook: Hook,
    targets: Targets,
    attachments: Attachments,
    stack: ExitStack,
    register: Callable[[TensorInfo], Any],
) -> None:
    """Register on each parameter: now, or after the forward for a lazy parameter."""

    def attach(infos: list[TensorInfo]) -> None:
        for info in infos:
            if info.tensor.requires_grad:  # torch rejects hooks on frozen parameters
                hook.attached += 1
                stack.enter_context(register(info))

    lazy = [info for info in targets.parameters if is_lazy(info.tensor)]
    attach([info for info in targets.parameters if not is_lazy(info.tensor)])
    if lazy:  # torch rejects hooks on uninitialized parameters
        attachments.late.append(lambda: attach(lazy))


def _on_all(hook: Hook, infos: list[TensorInfo], stack: ExitStack) -> None:
    trainable = [info for info in infos if info.tensor.requires_grad]
    if not trainable:
        return
    hook.attached += 1
    tensors, names = [info.tensor for info in trainable], [info.name for info in trainable]
    stack.enter_context(register_together(hook, tensors, names))


def _on_calls(
    hook: Hook,
    targets: Targets,
    attachments: Attachments,
    at_node: AtNode,
    *,
    share: bool = False,
    together: bool = False,
) -> None:
    """Attach to the inputs, outputs and nodes of calls, again in every call."""
    conditions = [(name, module, Match()) for name, module in targets.modules]
    for name, module, match in (*conditions, *targets.values):
        attachments.calls.add(
            id(module),
            CallTensorHook(hook, match, name, at_node=at_node, share=share, together=together),
        )
