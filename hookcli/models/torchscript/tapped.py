"""Scripted modules that report their calls, and accept hooks, which PyTorch refuses."""

from __future__ import annotations

import io
import re
import threading
import warnings
import weakref
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol

import torch
from torch import nn
from torch.utils.hooks import RemovableHandle

from hookcli.models import module_tree
from hookcli.models.scripted import MARK, forwards, is_scripted, tapped_of, type_of
from hookcli.models.torchscript.graphs import (
    FileHooks,
    Leaves,
    Path,
    instrument,
    instrument_inside,
    is_flat,
    nodes_of,
    report_operators,
)
from hookcli.models.torchscript.operators import (
    NO_CALL,
    forget,
    forget_replaced,
    number_of,
    replace_leaf,
)
from hookcli.torch_private import jit_pass_lint


class _Listener(Protocol):
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


Function = Callable[..., Any]
_EVERY = 0  # no object has this identity


class _Hooks:
    """The hooks before the forward of scripted modules, or those after it, in the order of PyTorch.

    Those for every module run first, then those of the module that were prepended, then those that
    were not. The file's own scripted hooks are attached already: they run before the last ones.
    """

    def __init__(self) -> None:
        self._early: dict[int, OrderedDict[int, Function]] = {}
        self._late: dict[int, OrderedDict[int, Function]] = {}

    def register(
        self, module: nn.Module | None, function: Function, *, prepend: bool
    ) -> RemovableHandle:
        """Register a hook of a module, or of every module."""
        key = _EVERY if module is None else id(module)
        table = self._early if module is None or prepend else self._late
        hooks = table.setdefault(key, OrderedDict())
        handle = RemovableHandle(hooks)
        hooks[handle.id] = function
        if prepend:
            hooks.move_to_end(handle.id, last=False)
        return handle

    def early(self, module: nn.Module) -> tuple[Function, ...]:
        """Return the hooks that run before the file's own."""
        table = self._early
        return (*table.get(_EVERY, {}).values(), *table.get(id(module), {}).values())

    def any(self, module: nn.Module) -> bool:
        """Whether a module has hooks."""
        return bool(self.early(module) or self.late(module))

    def late(self, module: nn.Module) -> tuple[Function, ...]:
        """Return the hooks that run after the file's own."""
        return tuple(self._late.get(id(module), {}).values())


class CannotReplaceError(TypeError):
    """A hook returned a new value for a value that a scripted graph cannot replace."""


class Tapped:
    """A scripted module in a separate compilation unit.

    All modules of a unit share types and graphs: in a common unit, other models would report their
    calls too, and be saved with hookcli's operators.
    """

    def __init__(self, root: torch.jit.ScriptModule) -> None:
        self.root = root
        self.listener: _Listener | None = None
        self.error: BaseException | None = None  # TorchScript itself raises RuntimeError
        self.problems: list[str] = []
        self._modules = _shared_as_one(root)
        self.flat = is_flat(root)
        self._leaves: list[Leaves] = []
        self._operators: dict[int, nn.Module] = {}  # by site, in a frozen model
        self.pre, self.post = _Hooks(), _Hooks()
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
            types.setdefault(_type_name(module), []).append(module)
        repeated = _repeats(self.root)
        file_hooks = self._file_hooks = _file_hooks_of(types)
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
        before, _ = self._file_hooks[_type_name(module)]
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
        differing = _other_difference(old, new, frozenset(paths))
        if differing is not None:
            forget_replaced()
            raise CannotReplaceError(f"{differing} of {type_of(module)} in TorchScript")


def _file_hooks_of(types: dict[str, list[nn.Module]]) -> FileHooks:
    """Return the numbers of the file's own hooks, of the types that have any."""
    hooks = {}
    for name, instances in types.items():
        script: Any = instances[0]
        before, after = script._c._get_forward_pre_hooks(), script._c._get_forward_hooks()
        if before or after:
            hooks[name] = (len(before), len(after))
    return hooks


# The structure of a scripted module: its types, repeated forward methods, modules with two names.

_REPEATED = re.compile(r"forward\d+")


def _type_name(module: Any) -> str:
    """Return the name of its type, which modules with the same code and attributes share."""
    return str(module._c._type().qualified_name())


def _repeats(root: nn.Module) -> dict[str, set[str]]:
    """Return, for each type, the methods that tracing made from repeated calls of forward.

    A method of such a name that a module calls on itself is the user's own.
    """
    methods: dict[str, set[str]] = {}
    seen: set[str] = set()
    for module, _ in module_tree.modules(root):
        script: Any = module
        if _type_name(script) in seen:
            continue
        seen.add(_type_name(script))
        for method in script._c._method_names():
            graph = script._c._get_method(method).graph
            own = next(graph.inputs()).debugName()
            for node in nodes_of(graph):
                if node.kind() != "prim::CallMethod" or not _REPEATED.fullmatch(node.s("name")):
                    continue
                called = node.inputsAt(0)
                if called.debugName() != own:
                    kind = str(called.type().qualified_name())
                    methods.setdefault(kind, set()).add(node.s("name"))
    return methods


def _shared_as_one(root: Any) -> dict[Any, nn.Module]:
    """Return the Python module for each module of TorchScript.

    A module with two names becomes two modules in TorchScript, with the same type and the same
    tensors. Modules that own tensors become one again here, under both names. For modules that
    only contain other modules, it is not known whether they were one.
    """
    modules: dict[Any, nn.Module] = {}
    first: dict[tuple[Any, ...], Any] = {}
    todo = [root]
    while todo:
        module = todo.pop()
        modules.setdefault(module._c, module)
        for name, child in list(module._modules.items()):
            key = _identity(child)
            known = child if key is None else first.setdefault(key, child)
            if known is not child:
                modules[child._c] = known
                _same(known, child, modules)
                module._modules._python_modules[name] = known
        todo += [child for _, child in reversed(list(module._modules.items()))]
    return modules


def _same(known: Any, other: Any, modules: dict[Any, nn.Module]) -> None:
    """Map all modules below `other` to those below `known`, which has the same type."""
    for name, child in other._modules.items():
        modules[child._c] = known._modules[name]
        _same(known._modules[name], child, modules)


def _identity(module: Any) -> tuple[Any, ...] | None:
    """Return a key that is equal for modules that were one; None for modules without tensors."""
    tensors = tuple(
        id(tensor)
        for table in (module._parameters, module._buffers)
        for _, tensor in table.items()
        if tensor is not None
    )
    return (_type_name(module), tensors) if tensors else None


def _item(value: Any, index: int) -> Any:
    """Return an item of a tuple; None if the new value has no such item."""
    return value[index] if isinstance(value, (tuple, list)) and index < len(value) else None


def _other_difference(
    old: Any, new: Any, replaceable: frozenset[Path], path: Path = ()
) -> str | None:
    """Return what cannot be replaced but differs, for a message; None if there is nothing."""
    if path in replaceable or new is old:
        return None
    if isinstance(old, tuple) and isinstance(new, (tuple, list)) and len(old) == len(new):
        pairs = enumerate(zip(old, new, strict=True))
        found = (_other_difference(was, now, replaceable, (*path, i)) for i, (was, now) in pairs)
        return next((text for text in found if text is not None), None)
    if isinstance(old, (list, tuple)) and type(old) is type(new) and len(old) == len(new):
        pairs = enumerate(zip(old, new, strict=True))
        if all(_other_difference(a, b, replaceable, (*path, i)) is None for i, (a, b) in pairs):
            return None
    elif isinstance(old, dict) and isinstance(new, dict) and old.keys() == new.keys():
        if all(_other_difference(old[k], new[k], replaceable, (*path, -1)) is None for k in old):
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


def tap(root: nn.Module, swaps: Callable[[nn.Module], bool]) -> list[str]:
    """Make the scripted modules at and below `root` report their calls; return notes.

    Call it before the first run.

    `swaps` tells for which modules values may be replaced. A scripted child of a Python module is
    replaced by a separate copy, because it may have run already, and others may share its code.
    """
    notes = []
    if is_scripted(root):
        notes += _instrument(Tapped(root), swaps)  # type: ignore[arg-type]
        return notes
    for name, parent, key in list(_children(root)):
        child: Any = parent._modules[key]
        if tapped_of(child) is not None:
            continue
        if _is_shared(root, child):
            notes.append(f"{name} is scripted and shares parameters: calls in it are not recorded")
            continue
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # torch warns that TorchScript is deprecated
                copy = private_copy(child)
        except RuntimeError:  # on the meta device, for example, nothing can be saved
            copy = child
        for owner, alias in list(_holders(root, child)):
            owner._modules[alias] = copy
        notes += _instrument(Tapped(copy), swaps)
    return notes


def _instrument(tapped: Tapped, swaps: Callable[[nn.Module], bool]) -> list[str]:
    tapped.instrument(swaps)
    notes = [f"calls are not recorded: {problem}" for problem in tapped.problems]
    if tapped.flat:
        notes.append("frozen: one graph with constant weights and no modules: rows are operators")
    return notes


def _children(root: nn.Module) -> Iterator[tuple[str, nn.Module, str]]:
    """Yield the scripted children of Python modules: name, parent and key."""
    seen: set[int] = set()
    for name, module in module_tree.named(root):
        if is_scripted(module):
            continue
        for key, child in module._modules.items():
            if child is not None and is_scripted(child) and id(child) not in seen:
                seen.add(id(child))
                yield (f"{name}.{key}" if name else key), module, key


def _holders(root: nn.Module, child: nn.Module) -> Iterator[tuple[nn.Module, str]]:
    for module, _ in module_tree.modules(root):
        if not is_scripted(module):
            for key, submodule in module._modules.items():
                if submodule is child:
                    yield module, key


def _is_shared(root: nn.Module, child: nn.Module) -> bool:
    """Whether another module also owns a parameter of a scripted child: a copy would untie it."""
    inside = {id(module) for module, _ in module_tree.modules(child)}
    own = {id(t) for t, _, _ in module_tree.tensors(child, "_parameters")}
    for module, _ in module_tree.modules(root):
        if id(module) in inside:
            continue
        if any(id(t) in own for _, t in module._parameters.items() if t is not None):
            return True
    return False
