"""Keeps torch from importing its compiler for models that compile nothing.

Fake tensors, reference operators on the meta device, checkpoints and optimizers import
`torch._dynamo` for a decorator and a few settings, and `torch.fx.experimental.symbolic_shapes` for
functions that return their argument unless it is symbolic. These import inductor, distributed and
sympy: 800 modules, which takes as long as `import torch`.

`install` puts modules in their place that have what torch's operators ask for while nothing is
symbolic. For every other name, for symbolic arguments, and for any other code, they import the real
modules and pass on to them.
"""

from __future__ import annotations

import importlib
import importlib.util
import operator
import sys
from collections.abc import Callable, Mapping
from functools import reduce
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType
from typing import Any

import torch

_TORCH = Path(torch.__file__).parent
_DYNAMO = "torch._dynamo"
_CONFIG = "torch._dynamo.config"
_SOURCE = "torch._dynamo.source"
_SHAPES = "torch.fx.experimental.symbolic_shapes"
_FUNCTIONS = "torch.utils._sympy.functions"
_DTENSOR = "torch.distributed.tensor"
_SYMPY = "sympy"

# The compiler needs sympy, and its modules need each other: they are imported together.
_COMPILER = (_DYNAMO, _SOURCE, _SHAPES, _FUNCTIONS, _SYMPY)

# The parts of torch that implement operators. Others keep what they import.
_OPERATORS = ("_compile", "_decomp", "_meta_registrations", "_ops", "_prims", "_prims_common",
              "_refs", "_subclasses")  # fmt: skip


# Python and its tools look for these attributes in every module that is imported.
_ASKED_OF_ALL = {"__annotations__", "__cached__", "__warningregistry__", "__wrapped__"}


class LazyModule(ModuleType):
    """Gives torch's operators some names; for all other uses, it imports the real module."""

    def __init__(self, spec: ModuleSpec, names: Mapping[str, Any]) -> None:
        super().__init__(spec.name)
        is_package = spec.submodule_search_locations is not None
        values = {"__spec__": spec, "__file__": spec.origin}
        self.__dict__.update(values, _names=names, _is_package=is_package)

    def __getattr__(self, name: str) -> Any:
        if name in _ASKED_OF_ALL or (name == "__path__" and not self._is_package):
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        if name in self._names and _is_operator(sys._getframe(1).f_globals.get("__name__")):
            return self._names[name]
        return getattr(_real(self.__name__), name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(_real(self.__name__), name, value)

    def __dir__(self) -> list[str]:
        return dir(_real(self.__name__))


def install(*, fake: bool) -> None:
    """Put the lazy modules in place, unless something has imported the compiler already.

    For a run with `fake` tensors, `torch.distributed.tensor` is lazy too. Torch then does not
    recognize the DTensors of a model: the run fails, and a run with real tensors follows.
    """
    if not set(_COMPILER).isdisjoint(sys.modules):
        return
    shapes, config = _names_of_shapes(), _settings()
    if shapes is None or config is None:
        return
    sources = {"ConstantSource": _Source, "RandomValueSource": _Source}
    lazy: dict[str, Mapping[str, Any]] = {
        _DYNAMO: {"disable": _disable},
        _SOURCE: sources,
        _SHAPES: shapes,
        _FUNCTIONS: {"Max": None},  # it is imported always, and called for symbolic sizes
        _SYMPY: {"Basic": _Expression},
    }
    if fake and _DTENSOR not in sys.modules:
        lazy[_DTENSOR] = {"DTensor": _DTensor}
    for name, names in lazy.items():
        _put(name, names)
    vars(sys.modules[_DYNAMO])["config"] = config  # the real one, which any code may use


def compiler_is_imported() -> bool:
    """Whether torch's compiler is imported, so that modules may be compiled."""
    return _DYNAMO in sys.modules and not isinstance(sys.modules[_DYNAMO], LazyModule)


def _put(name: str, names: Mapping[str, Any]) -> None:
    """Make a lazy module importable, and an attribute of its package, as importing it does."""
    parent, _, last = name.rpartition(".")
    folders = [str(_TORCH.joinpath(*parent.split(".")[1:]))] if parent else None
    spec = PathFinder.find_spec(name, folders)
    if spec is None:
        return
    module = sys.modules[name] = LazyModule(spec, names)
    if parent and not isinstance(sys.modules.get(parent), LazyModule):
        setattr(importlib.import_module(parent), last, module)


def _real(name: str) -> ModuleType:
    """Import the real module with this name, and with it all others that it may need."""
    for lazy in _COMPILER if name in _COMPILER[:-1] else (name,):
        if isinstance(sys.modules.get(lazy), LazyModule):
            del sys.modules[lazy]
    return importlib.import_module(name)


def _is_operator(module: str | None) -> bool:
    package, _, rest = (module or "").partition(".")
    return package == "torch" and (not rest or rest.partition(".")[0] in _OPERATORS)


def _settings() -> ModuleType | None:
    """Import the compiler's settings without the compiler; None if this torch cannot do that."""
    file = _TORCH / "_dynamo" / "config.py"
    spec = importlib.util.spec_from_file_location(_CONFIG, file)
    if spec is None or spec.loader is None:
        return None
    module = sys.modules[_CONFIG] = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception:  # noqa: BLE001  # the compiler's own import will tell what is wrong
        del sys.modules[_CONFIG]
        return None
    return module


def _names_of_shapes() -> dict[str, Any] | None:
    """Return the names for static values that this torch has; None if its source is not there."""
    file = _TORCH / "fx" / "experimental" / "symbolic_shapes.py"
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, ValueError):
        return None
    names: dict[str, Any] = {
        name: _for_static(name, *rule) for name, rule in _STATIC.items() if f"\ndef {name}(" in text
    }
    if f"\nclass {_GuardError.__name__}(" in text:
        names[_GuardError.__name__] = _GuardError
    return names


def _disable(fn: Any = None, *args: Any, **options: Any) -> Any:
    """Replace `torch._dynamo.disable`, which has no effect on code that nobody compiles."""
    if isinstance(fn, type) or not callable(fn):  # a class, or a decorator with options
        return _real(_DYNAMO).disable(fn, *args, **options)
    return fn


class _Source:
    """Replaces the description of where a tensor comes from, which only a compiler reads."""

    def __init__(self, *args: Any) -> None:
        self.args = args


class _Expression:
    """Replaces `sympy.Basic` in checks of types: without sympy, no value has this type."""


class _DTensor:
    """Replaces `DTensor` in checks of types."""


# Torch catches this error, which only symbolic values raise.
_GuardError = type("GuardOnDataDependentSymNode", (RuntimeError,), {"__module__": _SHAPES})


def _for_static(
    name: str, is_static: Callable[[Any], bool], call: Callable[..., Any]
) -> Callable[..., Any]:
    """Return a function that calls `call` for static arguments, and the real one for others."""

    def function(*args: Any, **options: Any) -> Any:
        if options or not all(map(is_static, args)):
            return getattr(_real(_SHAPES), name)(*args, **options)
        return call(*args)

    function.__name__ = name
    return function


def _is_bool(value: Any) -> bool:
    return type(value) is bool


def _is_int(value: Any) -> bool:
    return type(value) is int


def _is_number(value: Any) -> bool:
    return type(value) in {bool, int, float}


def _are_sizes(value: Any) -> bool:
    if isinstance(value, tuple | list):
        return all(map(_are_sizes, value))
    return type(value) is int


def _is_static(value: Any) -> bool:
    """Whether certainly nothing in the value is symbolic."""
    if value is None or _is_number(value):
        return True
    if isinstance(value, tuple | list):
        return all(map(_is_static, value))
    if isinstance(value, torch.Tensor) and value.layout is torch.strided and not value.is_nested:
        return _are_sizes((*value.shape, *value.stride(), value.storage_offset()))
    return False


def _equal(one: Any, other: Any) -> bool:
    """Compare two sizes, or two sequences of them."""
    if isinstance(one, tuple | list) and isinstance(other, tuple | list):
        if len(one) != len(other):
            return False
        equal = [_equal(*pair) for pair in zip(one, other, strict=True)]  # compares all of them
        return all(equal)
    if type(one) is int and type(other) is int:
        return one == other
    return bool(_real(_SHAPES).sym_eq(one, other))  # raises an error


def _same(value: Any) -> Any:
    return value


# For each function: whether an argument is static, and the result for static arguments.
_STATIC: dict[str, tuple[Callable[[Any], bool], Callable[..., Any]]] = {
    "definitely_true": (_is_bool, _same),
    "expect_true": (_is_bool, _same),
    "guard_bool": (_is_bool, _same),
    "guard_or_false": (_is_bool, _same),
    "guard_or_true": (_is_bool, _same),
    "guard_size_oblivious": (_is_bool, _same),
    "statically_known_true": (_is_bool, _same),
    "statically_known_false": (_is_bool, operator.not_),
    "sym_and": (_is_bool, lambda *values: reduce(operator.and_, values)),
    "sym_or": (_is_bool, lambda *values: reduce(operator.or_, values)),
    "guard_int": (_is_int, _same),
    "guarding_hint_or_throw": (_is_int, _same),
    "optimization_hint": (_is_int, _same),
    "sym_eq": (_are_sizes, _equal),
    "has_guarding_hint": (_is_number, lambda value: True),
    "has_hint": (_is_number, lambda value: True),
    "is_nested_int": (_is_number, lambda value: False),
    "is_symbolic": (_is_number, lambda value: False),
    "_iterate_exprs": (_is_static, lambda value: iter(())),
    "_iterate_nodes": (_is_static, lambda value: iter(())),
    "free_unbacked_symbols": (_is_static, lambda value: set()),
    "has_free_symbols": (_is_static, lambda value: False),
    "has_free_unbacked_symbols": (_is_static, lambda value: False),
    "compute_unbacked_bindings": (_is_static, lambda shape_env, *values: None),
}
