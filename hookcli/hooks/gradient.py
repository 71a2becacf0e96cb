"""Functions that torch calls with gradients: of a tensor, before a node, after a node."""

from __future__ import annotations

from typing import Any

from hookcli.hooks.hook import Hook, Site
from hookcli.hooks.portable import Portable


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
