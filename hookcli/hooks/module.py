"""The functions that torch calls around a module's forward and backward."""

from __future__ import annotations

from bisect import bisect_right, insort
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

from hookcli.errors import RequestError
from hookcli.hooks.graph import current_node
from hookcli.hooks.hook import Hook, Site
from hookcli.hooks.portable import Portable

if TYPE_CHECKING:
    pass


class ModuleHook(Portable):
    """One hook function for all modules that a hook stands on; `names` gives them by identity.

    A copy of a hooked module brings the hook along: it is not among them, and passes by.
    """

    def __init__(self, hook: Hook, names: dict[int, str]) -> None:
        self._hook = hook
        self._names = names

    def site(self, module: nn.Module) -> Site | None:
        """Where it fires now; None for a module that is not meant."""
        key = id(module)
        name = self._names.get(key)
        if name is None:
            return None
        call = self._hook.context.calls.running()
        if call is None or call.key != key:
            return Site(name, module)
        site: Site | None = call.site
        if site is None:
            site = call.site = Site(name, module, call.index, call.order, call.recomputed)
        return site


class ForwardPre(ModuleHook):
    """`forward_pre`, without keyword arguments."""

    def __call__(self, module: nn.Module, args: tuple[Any, ...]) -> Any:
        """As torch calls it."""
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
        """As torch calls it."""
        site = self.site(module)
        return site and self._hook.fire(site, (args, kwargs), lambda value: (module, *value))


class Forward(ModuleHook):
    """`forward`; keyword arguments come between the arguments and the output."""

    def __call__(self, module: nn.Module, *given: Any) -> Any:
        """As torch calls it: (args, output) or (args, kwargs, output)."""
        site, hook = self.site(module), self._hook
        if site is None:
            return None
        if hook.looks_only:
            hook.look(site, given[-1])
            return None
        return hook.fire(site, given[-1], lambda value: (module, *given[:-1], value))


class Backward(ModuleHook):
    """The backward kinds. Torch does not say which call it is: the running node's number does."""

    def __init__(self, hook: Hook, names: dict[int, str]) -> None:
        super().__init__(hook, names)
        hook.context.restarts.append(self._restart)
        self._calls: dict[int, list[tuple[int, int, int]]] = {}  # first node's number, index, order

    def forward_ended(self, module: nn.Module, _args: Any, output: Any) -> None:
        """A call whose backward will come: note which."""
        if self._hook.spec.kind.endswith("backward") and "full" not in self._hook.spec.kind:
            self._guard(module, output)
        call = self._hook.context.calls.running()
        if call is not None and call.graded and call.key == id(module):
            insort(self._calls.setdefault(id(module), []), (call.sequence, call.index, call.order))

    def __call__(self, module: nn.Module, *gradients: Any) -> Any:
        """As torch calls it: (grad_output), or (grad_input, grad_output)."""
        name = self._names.get(id(module))
        if name is None:
            return None
        site = Site(name, module, *self._call(id(module)))
        value, rest = gradients[0], gradients[1:]
        return self._hook.fire(site, value, lambda value: (module, value, *rest))

    def _call(self, key: int) -> tuple[int | None, int | None]:
        """The last call that began before the running node was made."""
        calls, node = self._calls.get(key), current_node()
        if not calls or node is None:
            return None, None
        _, index, order = calls[max(bisect_right(calls, (node._sequence_nr() + 1,)) - 1, 0)]
        return index, order

    def _guard(self, module: nn.Module, output: Any) -> None:
        """Refuse an output in which torch's legacy hook finds no tensor, or looks for ever."""
        for _ in range(_DEEPEST):
            if isinstance(output, torch.Tensor):
                return
            if isinstance(output, dict):
                output = next((v for v in output.values() if isinstance(v, torch.Tensor)), None)
            elif isinstance(output, (tuple, list)) and output:
                output = output[0]
            else:
                break
        raise RequestError(
            f"a legacy backward hook cannot stand on {self._names.get(id(module)) or 'the model'}, "
            "whose output has no tensor where torch looks for one",
            place=self._hook.spec.place,
            hint="use full_backward, or tensor at its output",
        )

    def _restart(self) -> None:
        self._calls.clear()


_DEEPEST = 64  # levels of tuples that torch's legacy hook is let through
