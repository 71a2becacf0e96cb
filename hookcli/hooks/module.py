"""The functions that torch calls around a module's forward and backward."""

from __future__ import annotations

from typing import Any

from torch import nn

from hookcli.errors import RequestError
from hookcli.hooks.hook import Hook, Site
from hookcli.hooks.origins import Origins, first_tensor
from hookcli.hooks.portable import Portable
from hookcli.models.base import Call


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
        if call.inlined and self._hook.context.passes_over(call):
            return None
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
    """The backward kinds. Torch does not say which call it is: the running node does."""

    def __init__(self, hook: Hook, names: dict[int, str]) -> None:
        super().__init__(hook, names)
        self._origins = Origins()
        self._full = "full" in hook.spec.kind
        self._silent: set[int] = set()  # orders of calls that torch.compile goes past
        hook.context.restarts.append(self._origins.clear)
        if not self._full:
            hook.context.ended.append(self._ended)

    def forward_ended(self, module: nn.Module, args: Any, output: Any) -> None:
        """A forward hook: note which call a full backward hook will be of."""
        if not self._full:
            self._guard(module, output)
            return
        context = self._hook.context
        call = context.calls.running()
        if call is not None and call.key == id(module):
            self._origins.note_full(call, args)
            if context.passes_over(call):
                self._silent.add(call.order)

    def _ended(self, call: Call, output: Any) -> None:
        """What a call gives, after all forward hooks: a legacy hook stands there."""
        if call.key in self._names:
            self._origins.note_legacy(call, output)

    def __call__(self, module: nn.Module, *gradients: Any) -> Any:
        """As torch calls it: (grad_output), or (grad_input, grad_output)."""
        name = self._names.get(id(module))
        if name is None:
            return None
        index, order = self._origins.find(id(module)) or (None, None)
        if order in self._silent:
            return None
        site = Site(name, module, index, order)
        value, rest = gradients[0], gradients[1:]
        return self._hook.fire(site, value, lambda value: (module, value, *rest))

    def _guard(self, module: nn.Module, output: Any) -> None:
        """Refuse an output in which torch's legacy hook finds no tensor, or looks for ever."""
        if first_tensor(output) is not None:
            return
        raise RequestError(
            f"a legacy backward hook cannot stand on {self._names.get(id(module)) or 'the model'}, "
            "whose output has no tensor where torch looks for one",
            place=self._hook.spec.place,
            hint="use full_backward, or tensor at its output",
        )
