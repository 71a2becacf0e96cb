"""Hooks on tensors: gradients of parameters and values, before and after nodes, on several."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import torch
from torch.autograd.graph import register_multi_grad_hook

from hookcli.hooks.hook import Hook, Site
from hookcli.hooks.portable import Portable


class PostAccumulate(Portable):
    """A post_accumulate_grad hook. It holds no parameter: that would keep it alive for ever."""

    def __init__(self, hook: Hook, site: Site) -> None:
        self._hook, self._site = hook, site

    def __call__(self, parameter: torch.Tensor) -> None:
        """As torch calls it."""
        if self._hook.looks_only:
            self._hook.look(self._site, parameter.grad)
            return
        self._hook.fire(
            self._site, parameter.grad, lambda _: (parameter,), again=lambda: parameter.grad
        )


class Accumulated(Portable):
    """A hook of the node that adds to a parameter's .grad."""

    def __init__(self, hook: Hook, site: Site) -> None:
        self._hook, self._site = hook, site

    def __call__(self, grad_inputs: tuple[Any, ...], grad_outputs: tuple[Any, ...]) -> None:
        """As torch calls it: the node has no inputs, and its output is what was added."""
        self._hook.fire(
            self._site,
            grad_outputs[0],
            lambda value: (grad_inputs, (value,)),
            node="torch::autograd::AccumulateGrad",
        )


class TensorHook(Portable):
    """A tensor hook of torch, for one tensor."""

    __slots__ = ("_hook", "_site")

    def __init__(self, hook: Hook, site: Site) -> None:
        self._hook, self._site = hook, site

    def __call__(self, gradient: Any) -> Any:
        """As torch calls it."""
        hook = self._hook
        if hook.looks_only:
            hook.look(self._site, gradient)
            return None
        return hook.fire(self._site, gradient, alone)


class PreNodeHook(Portable):
    """A prehook of an autograd node."""

    __slots__ = ("_hook", "_name", "_single", "_site")

    def __init__(self, hook: Hook, site: Site, name: str, *, slot: int | None = None) -> None:
        self._hook, self._site, self._name, self._single = hook, site, name, slot

    def __call__(self, grad_outputs: tuple[Any, ...]) -> Any:
        """As torch calls it."""
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
        """As torch calls it."""
        return self._hook.fire(
            self._site, grad_inputs, lambda value: (value, grad_outputs), node=self._name
        )


def alone(value: Any) -> tuple[Any, ...]:
    """PyTorch's arguments where the value is the only one."""
    return (value,)


AtNode: TypeAlias = Callable[[Hook, Any, Site], None]
"""Registers a hook at an autograd node."""


def before_node(hook: Hook, node: Any, site: Site) -> None:
    """Before it runs, with the gradients of all its outputs."""
    node.register_prehook(PreNodeHook(hook, site, node.name()))


def before_node_of_output(hook: Hook, node: Any, site: Site) -> None:
    """Before it runs, with the gradient of what an operator gave."""
    node.register_prehook(PreNodeHook(hook, site, node.name(), slot=0))


def after_node(hook: Hook, node: Any, site: Site) -> None:
    """After it ran."""
    node.register_hook(NodeHook(hook, site, node.name()))


class MultiGradHook(Portable):
    """A hook of several tensors."""

    def __init__(self, hook: Hook, site: Site) -> None:
        self._hook, self._site = hook, site

    def __call__(self, gradients: Any) -> None:
        """As torch calls it: a list of all, or the first."""
        self._hook.fire(self._site, gradients, lambda value: (value,))


def register_together(hook: Hook, tensors: list[torch.Tensor], names: list[str]) -> Any:
    """Register one multi_grad hook; its target are the first names."""
    target = ", ".join(names[:3]) + ("…" if len(names) > 3 else "")
    return register_multi_grad_hook(
        tensors, MultiGradHook(hook, Site(target)), mode=hook.spec.options.get("mode", "all")
    )
