"""A scripted module that reports its calls, and accepts hooks, which PyTorch refuses."""

from __future__ import annotations

import io
import weakref
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, Protocol

import torch
from torch import nn
from torch.utils.hooks import RemovableHandle

from hookcli.models.scripted import MARK, forwards, tapped_of, type_of
from hookcli.models.torchscript.flat import is_flat, report_operators
from hookcli.models.torchscript.graphs import Leaves, instrument
from hookcli.models.torchscript.operators import forget, number_of
from hookcli.models.torchscript.structure import repeats, shared_as_one, type_name

Function = Callable[..., Any]


class Listener(Protocol):
    """Called for each call while it listens; what it returns replaces the value."""

    def entered(self, module: nn.Module, args: tuple[Any, ...]) -> tuple[Any, ...] | None:
        """A module's forward begins."""
        ...

    def left(self, module: nn.Module, output: Any) -> Any | None:
        """A module's forward ends; it did not raise."""
        ...


class CannotReplaceError(TypeError):
    """A hook returned a new value for a value that a scripted graph cannot replace."""


class Tapped:
    """A scripted module in a separate compilation unit.

    All modules of a unit share types and graphs: in a common unit, other models would report their
    calls too, and be saved with hookcli's operators.
    """

    def __init__(self, root: torch.jit.ScriptModule) -> None:
        self.root = root
        self.listener: Listener | None = None
        self.error: BaseException | None = None  # TorchScript itself raises RuntimeError
        self.problems: list[str] = []
        self._modules = shared_as_one(root)
        self.flat = is_flat(root)
        self._leaves: list[Leaves] = []
        self._operators: dict[int, nn.Module] = {}  # by site, in a frozen model
        self._pre: dict[int, OrderedDict[int, Function]] = {}
        self._post: dict[int, OrderedDict[int, Function]] = {}
        self._number: int | None = None
        for module in self._modules.values():
            vars(module)[MARK] = weakref.ref(self)

    def instrument(self, swaps: Callable[[nn.Module], bool] = lambda _: False) -> None:
        """Add the operators to every forward, once and before the first run.

        `swaps` tells for which modules values may be replaced; all instances of their types then
        get the operators for it.
        """
        if self._number is not None:
            return
        self._number = number_of(self)
        if self.flat:
            graph = _graph(self.root, "forward")
            modules = report_operators(graph, self._number, 1)
            self._operators = dict(enumerate(modules, 1))
        types: dict[str, list[nn.Module]] = {}
        for module in self._modules.values():
            types.setdefault(type_name(module), []).append(module)
        repeated = repeats(self.root)
        for name, instances in types.items():
            replaces = any(map(swaps, instances))
            for method in (*forwards(instances[0]), *repeated.get(name, ())):
                graph = _graph(instances[0], method)
                try:
                    leaves = instrument(graph, self._number, len(self._leaves), swaps=replaces)
                except RuntimeError as error:
                    self.problems.append(f"{method} of {type_of(instances[0])}: {error}")
                    continue
                self._leaves.append(leaves)

    def has(self, module: Any) -> bool:
        """Whether a module is part of it."""
        if not isinstance(module, nn.Module):
            return False
        return tapped_of(module) is self or module in self._operators.values()

    def close(self) -> None:
        """Stop reporting calls."""
        if self._number is not None:
            forget(self._number)

    def register_pre(self, module: nn.Module | None, function: Function, *, prepend: bool) -> Any:
        """Register a hook before the forward, as nn.Module.register_forward_pre_hook.

        Without a module the hook is for all modules. Such hooks run first, as torch's global hooks.
        """
        return _register(self._pre, module, function, prepend=prepend)

    def register_post(self, module: nn.Module | None, function: Function, *, prepend: bool) -> Any:
        """Register a hook after the forward, as nn.Module.register_forward_hook."""
        return _register(self._post, module, function, prepend=prepend)

    def before(self, module: nn.Module) -> tuple[Function, ...]:
        """Return the hooks before its forward."""
        return _of(self._pre, module)

    def after(self, module: nn.Module) -> tuple[Function, ...]:
        """Return the hooks after its forward."""
        return _of(self._post, module)

    # Called by the operators in the graphs:

    def entered(self, values: tuple[Any, ...], owner: Any, site: int) -> dict[int, Any] | None:
        """A method begins."""
        module = self._operators.get(site) or self._modules.get(owner)
        if self.listener is None or module is None:
            return None
        try:
            new = self.listener.entered(module, values)
            return None if new is None else _replaced(values, new, self._leaves[site].inputs)
        except BaseException as error:
            self.error = error
            raise

    def left(self, value: Any, owner: Any, site: int) -> dict[int, Any] | None:
        """A method ends."""
        module = self._operators.get(site) or self._modules.get(owner)
        if self.listener is None or module is None:
            return None
        try:
            new = self.listener.left(module, value)
            return None if new is None else _replaced(value, new, self._leaves[site].outputs)
        except BaseException as error:
            self.error = error
            raise


def _graph(module: Any, method: str) -> Any:
    return module._c._get_method(method).graph


def private_copy(module: torch.jit.ScriptModule) -> torch.jit.ScriptModule:
    """Copy a module into a separate compilation unit.

    Raises
    ------
    RuntimeError : it cannot be saved.
    """
    buffer = io.BytesIO()
    torch.jit.save(module, buffer)
    buffer.seek(0)
    copy: torch.jit.ScriptModule = torch.jit.load(buffer)  # type: ignore[no-untyped-call]
    return copy


_EVERY = 0  # no object has this identity


def _of(table: dict[int, OrderedDict[int, Function]], module: nn.Module) -> tuple[Function, ...]:
    return (*table.get(_EVERY, {}).values(), *table.get(id(module), {}).values())


def _register(
    table: dict[int, OrderedDict[int, Function]],
    module: nn.Module | None,
    function: Function,
    *,
    prepend: bool,
) -> RemovableHandle:
    hooks = table.setdefault(_EVERY if module is None else id(module), OrderedDict())
    handle = RemovableHandle(hooks)
    hooks[handle.id] = function
    if prepend:
        hooks.move_to_end(handle.id, last=False)
    return handle


def _replaced(old: Any, new: Any, paths: tuple[tuple[int, ...], ...]) -> dict[int, Any]:
    """Return the leaves that differ, by their number.

    Raises
    ------
    CannotReplaceError : a value differs that is not one of these leaves.
    """
    leaves = {}
    for number, path in enumerate(paths):
        was, now = old, new
        for index in path:
            was, now = was[index], now[index]
        if now is not was:
            leaves[number] = now
    if not leaves and new is not old:
        raise CannotReplaceError("this value of a TorchScript graph cannot be replaced")
    return leaves
