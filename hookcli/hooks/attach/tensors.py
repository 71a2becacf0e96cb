"""The functions that torch calls for hooks on tensors, on autograd nodes and on several tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import torch
from torch.autograd.graph import register_multi_grad_hook

from hookcli.hooks.hook import Hook, Site
from hookcli.hooks.portable import Portable


class PostAccumulate(Portable):
    """A post_accumulate_grad hook. It does not reference the parameter, which would leak it."""

    def __init__(self, hook: Hook, site: Site) -> None:
        self._hook, self._site = hook, site

    def __call__(self, parameter: torch.Tensor) -> None:
        """Fire; PyTorch calls this."""
        if self._hook.looks_only:
            self._hook.look(self._site, parameter.grad)
            return
        self._hook.fire(
            self._site, parameter.grad, lambda _: (parameter,), again=lambda: parameter.grad
        )


class Accumulated(Portable):
    """A hook on the AccumulateGrad node of a parameter."""

    def __init__(self, hook: Hook, site: Site) -> None:
        self._hook, self._site = hook, site

    def __call__(self, grad_inputs: tuple[Any, ...], grad_outputs: tuple[Any, ...]) -> None:
        """Fire; PyTorch calls this. grad_outputs is the gradient that was added to `.grad`."""
        self._hook.fire(
            self._site,
            grad_outputs[0],
            lambda value: (grad_inputs, (value,)),
            node="torch::autograd::AccumulateGrad",
        )


class TensorHook(Portable):
    """A tensor hook, for one tensor."""

    __slots__ = ("_hook", "_site")

    def __init__(self, hook: Hook, site: Site) -> None:
        self._hook, self._site = hook, site

    def __call__(self, gradient: Any) -> Any:
        """Fire; PyTorch calls this."""
        hook = self._hook
        if hook.looks_only:
            hook.look(self._site, gradient)
            return None
        return hook.fire(self._site, gradient, alone)


class PreNodeHook(Portable):
    """A prehook of an autograd node, for all its outputs or for the one in `slot`."""

    __slots__ = ("_hook", "_name", "_single", "_site")

    def __init__(self, hook: Hook, site: Site, name: str, *, slot: int | None = None) -> None:
        self._hook, self._site, self._name, self._single = hook, site, name, slot

    def __call__(self, grad_outputs: tuple[Any, ...]) -> Any:
        """Fire; PyTorch calls this."""
        if self._single is None:
            return self._hook.fire(self._site, grad_outputs, alone, node=self._name)
        new = self._hook.fire(self._site, grad_outputs[self._single], alone, node=self._name)
        if new is None:
            return None
        changed = list(grad_outputs)
        changed[self._single] = new
        return tuple(changed)


class NodeHook(Portable):
    """A hook of an autograd node."""

    __slots__ = ("_hook", "_name", "_site")

    def __init__(self, hook: Hook, site: Site, name: str) -> None:
        self._hook, self._site, self._name = hook, site, name

    def __call__(self, grad_inputs: tuple[Any, ...], grad_outputs: tuple[Any, ...]) -> Any:
        """Fire; PyTorch calls this."""
        return self._hook.fire(
            self._site, grad_inputs, lambda value: (value, grad_outputs), node=self._name
        )


def alone(value: Any) -> tuple[Any, ...]:
    """Return PyTorch's arguments if the value is the only argument."""
    return (value,)


AtNode: TypeAlias = Callable[[Hook, Any, Site], None]
"""Registers a hook at an autograd node."""


def before_node(hook: Hook, node: Any, site: Site) -> None:
    """Register a hook before a node runs, with the gradients of all its outputs."""
    node.register_prehook(PreNodeHook(hook, site, node.name()))


def before_node_of_output(hook: Hook, node: Any, site: Site) -> None:
    """Register a hook before a node runs, with the gradient of the operator's output."""
    node.register_prehook(PreNodeHook(hook, site, node.name(), slot=0))


def after_node(hook: Hook, node: Any, site: Site) -> None:
    """Register a hook after a node has run."""
    node.register_hook(NodeHook(hook, site, node.name()))


class MultiGradHook(Portable):
    """A hook on the gradients of several tensors."""

    def __init__(self, hook: Hook, site: Site) -> None:
        self._hook, self._site = hook, site

    def __call__(self, gradients: Any) -> None:
        """Fire; PyTorch calls this with a list of all gradients, or with the first one."""
        self._hook.fire(self._site, gradients, lambda value: (value,))


def register_together(hook: Hook, tensors: list[torch.Tensor], names: list[str]) -> Any:
    """Register one multi_grad hook on all tensors; its target is the first three names."""
    target = ", ".join(names[:3]) + ("…" if len(names) > 3 else "")
    return register_multi_grad_hook(
        tensors, MultiGradHook(hook, Site(target)), mode=hook.spec.options.get("mode", "all")
    )
