"""The modules that a compiled function can call, as far as its code tells."""

from __future__ import annotations

import functools
import itertools
import types
from collections.abc import Iterator
from typing import Any

from torch import nn

_MOST = 10_000  # objects that are looked at
_MOST_HELD = 1_000  # in one container: a dataset may have millions
_DEPTH = 4


def modules_of(function: Any) -> list[nn.Module]:
    """Return the outermost modules that a function, a method or a module holds.

    They are found in the object of a method, in closures, defaults, and in the variables of the
    module that the code names, and in functions there. Arguments of later calls are not known.
    """
    found: dict[int, nn.Module] = {}
    seen: set[int] = set()
    todo: list[tuple[Any, int]] = [(function, 0)]
    while todo and len(seen) < _MOST:
        value, depth = todo.pop()
        if id(value) in seen:
            continue
        seen.add(id(value))
        if isinstance(value, nn.Module):
            found[id(value)] = value
        elif depth < _DEPTH:
            todo += [(inner, depth + 1) for inner in _held(value)]
    inside = {id(p) for module in found.values() for p in module.modules() if p is not module}
    return [module for key, module in found.items() if key not in inside]


def _held(value: Any) -> Iterator[Any]:
    if isinstance(value, functools.partial):
        yield value.func
        yield from value.args
        yield from value.keywords.values()
    elif isinstance(value, types.MethodType):
        yield value.__self__
        yield value.__func__
    elif isinstance(value, types.FunctionType):
        for cell in value.__closure__ or ():
            try:
                yield cell.cell_contents
            except ValueError:  # an empty cell
                continue
        yield from value.__defaults__ or ()
        yield from (value.__kwdefaults__ or {}).values()
        for name in _names(value.__code__):
            if name in value.__globals__:
                yield value.__globals__[name]
    elif isinstance(value, dict):
        yield from itertools.islice(list(value.values()), _MOST_HELD)
    elif isinstance(value, list | tuple):
        yield from value[:_MOST_HELD]
    elif not isinstance(value, type | types.ModuleType) and _is_of_user(value):
        own = getattr(value, "__dict__", None)
        if type(own) is dict:
            yield from list(own.values())


def _is_of_user(value: Any) -> bool:
    owner = type(value).__module__.partition(".")[0]
    return owner not in {"torch", "builtins", "hookcli", "numpy"}


def _names(code: types.CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _names(constant)
