"""The name and the place of a hook's function, without running any code of the user's.

A hook may be any callable, and its class may override `__repr__`, `__getattr__`, `__class__` or
`__eq__`. Only what Python itself stores is read.
"""

from __future__ import annotations

import builtins
import functools
from abc import ABCMeta
from dataclasses import dataclass
from types import BuiltinFunctionType, FunctionType, MethodType
from typing import Any

import torch
from torch.autograd import graph as torch_graph

from hookcli.models import places
from hookcli.torch_private import WrappedHook

_DEEPEST = 20  # wrappers around a function: one may wrap itself
# What Python stores about a class, even if a metaclass overrides the attribute.
_NAME, _MODULE, _BASES, _ATTRIBUTES = (
    vars(type)[name].__get__ for name in ("__qualname__", "__module__", "__mro__", "__dict__")
)
_BUILTINS = builtins.__name__
_RENAMED = "hookcli_user_"  # before the name of a file that is spelled like an imported module


@dataclass(frozen=True, slots=True)
class HookFunction:
    """A hook's function: its dotted name, its place, and the modules that define it.

    `modules` has the module of a function; for an object, those of its class and its bases.
    """

    name: str
    place: str | None
    modules: tuple[str, ...]


def innermost(hook: Any) -> Any:
    """Return the function or object in a hook: inside a partial, a method or a wrapper."""
    for _ in range(_DEEPEST):
        inner = in_multi_grad(hook)
        inner = _inside(hook) if inner is None else inner
        if inner is None:
            break
        hook = inner
    return hook


def in_multi_grad(hook: Any) -> Any:
    """Return the function that `register_multi_grad_hook` wrapped, or None."""
    cell = _cells_of_multi_grad(hook).get("fn")
    return None if cell is None else cell.cell_contents


def multi_grad_key(hook: Any) -> int | None:
    """Return what the hooks of one `register_multi_grad_hook` share; None for another hook."""
    cells = _cells_of_multi_grad(hook)
    return id(cells.get("lock", hook)) if "fn" in cells else None


def _cells_of_multi_grad(hook: Any) -> dict[str, Any]:
    """Return the variables of torch's part of a multi_grad hook, by name."""
    if type(hook) is not FunctionType or hook.__code__.co_filename != torch_graph.__file__:
        return {}
    return dict(zip(hook.__code__.co_freevars, hook.__closure__ or (), strict=True))


def _inside(hook: Any) -> Any:
    """Return what a wrapper contains, or None."""
    kind = type(hook)
    if kind is MethodType:
        return hook.__func__
    if kind is WrappedHook:
        return hook.hook
    if is_subclass(kind, functools.partial):
        return vars(functools.partial)["func"].__get__(hook)
    return vars(hook).get("__wrapped__") if kind is FunctionType else None


def is_subclass(kind: type, base: type) -> bool:
    """Whether a class is a subclass, as Python stores it."""
    return any(other is base for other in _BASES(kind))


def name_function(hook: Any) -> HookFunction:
    """Return the name and the place of a hook that is the innermost one."""
    kind = type(hook)
    if kind is FunctionType:
        module = hook.__globals__.get("__name__")
        return _of(module, hook.__qualname__, _place_of_code(hook.__code__))
    if kind is BuiltinFunctionType:
        return _of(hook.__module__, hook.__qualname__, None)
    if kind is torch.jit.ScriptFunction:
        return _of("", str(hook.qualified_name).removeprefix("__torch__."), None)
    return name_class(hook if is_subclass(kind, type) else kind)


def _of(module: object, name: str, place: str | None) -> HookFunction:
    owner = places.without_mangling(module) if type(module) is str else ""
    owner = owner.removeprefix(_RENAMED)
    dotted = name if owner in {"", _BUILTINS} else f"{owner}.{name}"
    return HookFunction(dotted, place, (owner,))


def name_class(kind: type) -> HookFunction:
    """Return a class, such as that of a callable object; its place is that of its `__call__`."""
    named = _of(_MODULE(kind), _NAME(kind), _place_of_call(kind) or _place_of_class(kind))
    modules = tuple(m for m in map(_MODULE, _BASES(kind)) if type(m) is str)
    return HookFunction(named.name, named.place, modules)


def _place_of_call(kind: type) -> str | None:
    for base in _BASES(kind):
        call = _ATTRIBUTES(base).get("__call__")
        if call is not None:
            return _place_of_code(call.__code__) if type(call) is FunctionType else None
    return None


def _place_of_class(kind: type) -> str | None:
    """Return the line of a class, unless its metaclass could run code of the user's."""
    plain = type(kind) is type or type(kind) is ABCMeta
    return places.of_class(kind) if plain else None


def _place_of_code(code: Any) -> str | None:
    """Return the first line of a function, or None for one of torch or without a file."""
    filename = code.co_filename
    if not places.is_user(filename):
        return None
    return f"{places.show(filename)}:{code.co_firstlineno}"
