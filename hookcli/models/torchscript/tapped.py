"""A scripted module that reports its calls, and accepts hooks, which PyTorch refuses."""

from __future__ import annotations

import io
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol

import torch
from torch import nn

from hookcli.models.scripted import MARK, forwards, tapped_of, type_of
from hookcli.models.torchscript.call_sites import FileHooks, instrument_inside
from hookcli.models.torchscript.flat import is_flat, report_operators
from hookcli.models.torchscript.graphs import Leaves, Path, instrument
from hookcli.models.torchscript.hook_tables import Hooks
from hookcli.models.torchscript.operators import (
    NO_CALL,
    forget,
    forget_replaced,
    number_of,
    replace_leaf,
)
from hookcli.models.torchscript.structure import repeats, shared_as_one, type_name
from hookcli.torch_private import jit_pass_lint


class Listener(Protocol):
    """Called for each call while it listens.

    A call has a number. `begun` and `ended` are called if the file has hooks around it, before the
    first and after the last. A function that returns a value replaces the one it got.
    """

    def begun(
        self, module: nn.Module, args: tuple[Any, ...] | None
    ) -> tuple[int, tuple[Any, ...] | None]:
        """A call begins. Return its number and replaced arguments.

        The arguments are None if none of the file's hooks runs before the forward.
        """
        ...

    def entered_call(self, module: nn.Module, args: tuple[Any, ...]) -> tuple[int, Any | None]:
        """A forward follows, after the file's hooks before it; then `entered` is called too."""
        ...

    def entered(self, module: nn.Module, args: tuple[Any, ...]) -> tuple[int, Any | None]:
        """A module's forward begins. Return the number of the call and replaced arguments."""
        ...

    def left(self, module: nn.Module, output: Any, call: int) -> Any | None:
        """A module's forward ends; it did not raise."""
        ...

    def ended(self, module: nn.Module, output: Any, call: int) -> Any | None:
        """A call ends that has begun with `begun`."""
        ...

    def running(self) -> int:
        """Return the number of the innermost call on this thread."""
        ...

    def resumed(self, call: int) -> None:
        """What follows on this thread belongs to this call."""
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
        self.pre, self.post = Hooks(), Hooks()
        self._file_hooks: FileHooks = {}
        self._number: int | None = None
        self._lock = threading.RLock()  # calls in forks run at the same time
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
        file_hooks = self._file_hooks = file_hooks_of(types)
        replaced = {name for name, instances in types.items() if any(map(swaps, instances))}
        for name, instances in types.items():
            reporting = {*forwards(instances[0]), *repeated.get(name, ())}
            for method in _methods(instances[0]):
                graph = _graph(instances[0], method)
                call = None
                try:
                    if method in reporting:
                        site = len(self._leaves)
                        swap = name in replaced
                        leaves, call = instrument(graph, self._number, site, swaps=swap)
                        self._leaves.append(leaves)
                    instrument_inside(
                        graph, call, self._number, file_hooks, self._site, replaced.__contains__
                    )
                    jit_pass_lint(graph)
                except RuntimeError as error:
                    self.problems.append(f"{method} of {type_of(instances[0])}: {error}")

    def _site(self, leaves: Leaves) -> int:
        """Return the number of another site."""
        self._leaves.append(leaves)
        return len(self._leaves) - 1

    def has(self, module: Any) -> bool:
        """Whether a module is part of it."""
        if not isinstance(module, nn.Module):
            return False
        return tapped_of(module) is self or module in self._operators.values()

    def close(self) -> None:
        """Stop reporting calls."""
        if self._number is not None:
            forget(self._number)

    # Called by the operators in the graphs:

    def entered(self, values: tuple[Any, ...], owner: Any, site: int) -> int:
        """A method begins."""
        module = self._operators.get(site) or self._modules.get(owner)
        if self.listener is None or module is None:
            return NO_CALL
        with self._noting_errors():
            call, new = self.listener.entered(module, values)
            if new is not None:
                self._replace(call, module, values, new, self._leaves[site].inputs)
        return call

    def left(self, value: Any, owner: Any, site: int, call: int) -> None:
        """A method ends."""
        module = self._operators.get(site) or self._modules.get(owner)
        if self.listener is None or module is None or call == NO_CALL:
            return
        with self._noting_errors():
            new = self.listener.left(module, value, call)
            if new is not None:
                self._replace(call, module, value, new, self._leaves[site].outputs)

    def begun(self, values: tuple[Any, ...], owner: Any, site: int) -> int:
        """A call begins, before the file's own hooks."""
        module = self._modules.get(owner)
        if self.listener is None or module is None:
            return NO_CALL
        before, _ = self._file_hooks[type_name(module)]
        with self._noting_errors():
            call, new = self.listener.begun(module, values if before else None)
            if new is not None:
                self._replace(call, module, values, new, self._leaves[site].inputs)
        return call

    def entered_call(self, values: tuple[Any, ...], owner: Any, site: int) -> int:
        """A forward follows, after the file's own hooks before it."""
        module = self._modules.get(owner)
        if self.listener is None or module is None:
            return NO_CALL
        with self._noting_errors():
            call, new = self.listener.entered_call(module, values)
            if new is not None:
                self._replace(call, module, values, new, self._leaves[site].inputs)
        return call

    def ended(self, value: Any, owner: Any, site: int, call: int) -> None:
        """A call ends, after the file's own hooks."""
        module = self._modules.get(owner)
        if self.listener is None or module is None or call == NO_CALL:
            return
        with self._noting_errors():
            new = self.listener.ended(module, value, call)
            if new is not None:
                self._replace(call, module, value, new, self._leaves[site].outputs)

    def running(self) -> int:
        """Return the number of the innermost call on this thread."""
        if self.listener is None:
            return NO_CALL
        with self._lock:
            return self.listener.running()

    def resumed(self, call: int) -> None:
        """What follows on this thread belongs to this call."""
        if self.listener is not None and call != NO_CALL:
            with self._lock:
                self.listener.resumed(call)

    @contextmanager
    def _noting_errors(self) -> Iterator[None]:
        """Keep an error, as TorchScript raises another one in its place."""
        with self._lock:
            try:
                yield
            except BaseException as error:
                self.error = error
                raise

    def _replace(
        self, call: int, module: nn.Module, old: Any, new: Any, paths: tuple[Path, ...]
    ) -> None:
        """Replace the leaves that differ.

        Raises
        ------
        CannotReplaceError : a value differs that is not one of these leaves.
        """
        for number, path in enumerate(paths):
            was, now = old, new
            for index in path:
                was, now = _item(was, index), _item(now, index)
            if now is not was:
                replace_leaf(call, number, now)
        differing = other_difference(old, new, frozenset(paths))
        if differing is not None:
            forget_replaced()
            raise CannotReplaceError(f"{differing} of {type_of(module)} in TorchScript")


def file_hooks_of(types: dict[str, list[nn.Module]]) -> FileHooks:
    """Return the numbers of the file's own hooks, of the types that have any."""
    hooks = {}
    for name, instances in types.items():
        script: Any = instances[0]
        before, after = script._c._get_forward_pre_hooks(), script._c._get_forward_hooks()
        if before or after:
            hooks[name] = (len(before), len(after))
    return hooks


def _item(value: Any, index: int) -> Any:
    """Return an item of a tuple; None if the new value has no such item."""
    return value[index] if isinstance(value, (tuple, list)) and index < len(value) else None


def other_difference(
    old: Any, new: Any, replaceable: frozenset[Path], path: Path = ()
) -> str | None:
    """Return what cannot be replaced but differs, for a message; None if there is nothing."""
    if path in replaceable or new is old:
        return None
    if isinstance(old, tuple) and isinstance(new, (tuple, list)) and len(old) == len(new):
        pairs = enumerate(zip(old, new, strict=True))
        found = (other_difference(was, now, replaceable, (*path, i)) for i, (was, now) in pairs)
        return next((text for text in found if text is not None), None)
    if isinstance(old, (list, tuple)) and type(old) is type(new) and len(old) == len(new):
        pairs = enumerate(zip(old, new, strict=True))
        if all(other_difference(a, b, replaceable, (*path, i)) is None for i, (a, b) in pairs):
            return None
    elif isinstance(old, dict) and isinstance(new, dict) and old.keys() == new.keys():
        if all(other_difference(old[k], new[k], replaceable, (*path, -1)) is None for k in old):
            return None
    elif type(old) is type(new) and not isinstance(old, torch.Tensor):
        try:
            if bool(old == new):
                return None
        except Exception:  # noqa: BLE001  # the comparison of a class of the user
            pass
    where = "".join(f"[{index}]" for index in path)
    if isinstance(old, tuple) and not path:
        return "a hook cannot change the number of values"
    return f"a hook cannot replace {where or 'the value'}, a {type(old).__name__},"


def _graph(module: Any, method: str) -> Any:
    return module._c._get_method(method).graph


def _methods(module: Any) -> list[str]:
    return [str(name) for name in module._c._method_names()]


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
