"""Nested values: list their tensors with paths, replace tensors, order sets deterministically."""

from __future__ import annotations

import dataclasses
import json
import re
import types
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any

import torch

from hookcli.report.values import Shape, Tree
from hookcli.text import shorten

_MAX_DEPTH = 24  # of the structure of the batch, which JSON readers parse recursively
_MAX_NODES = 20_000
_MAX_DEEP_NODES = 2_000  # below 24 levels: their paths are long
_ATOMS = (str, bytes, bool, int, float, complex, type(None), torch.dtype, torch.device, torch.Size)
_OPAQUE = (
    torch.nn.Module, type, types.ModuleType, types.FunctionType, types.BuiltinFunctionType,
    types.MethodType, types.GeneratorType, torch.Generator,
)  # fmt: skip
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")
_DTYPES: dict[torch.dtype, str] = {}


def dtype_name(dtype: torch.dtype) -> str:
    """Return torch's name without the prefix: "float32"."""
    name = _DTYPES.get(dtype)
    if name is None:
        name = _DTYPES[dtype] = str(dtype).removeprefix("torch.")
    return name


_PLAIN = {torch.Tensor, torch.nn.Parameter}  # symbolic sizes are those of fake tensors


def shape_of(tensor: torch.Tensor) -> Shape:
    """Return the sizes; None for a dimension without a single size (nested tensors)."""
    try:
        shape = tuple(tensor.shape)
    except RuntimeError:  # a strided nested tensor has no shape, but its even dimensions do
        return tuple(_size(tensor, dim) for dim in range(tensor.dim()))
    if type(tensor) in _PLAIN or {*map(type, shape)} <= {int}:
        return shape
    return tuple(_plain(size) for size in shape)


def _size(tensor: torch.Tensor, dim: int) -> int | None:
    try:
        return int(tensor.size(dim))
    except RuntimeError:
        return None


def _plain(size: Any) -> int | None:
    if type(size) is int:
        return size
    try:
        return int(size)
    except Exception:  # noqa: BLE001  # a symbolic size: the type of its error depends on torch
        return None


def _key(key: object) -> str:
    if isinstance(key, str):
        return f".{key}" if key.isidentifier() else f"[{json.dumps(key)}]"
    return f"[{_repr(key)}]"


def _repr(value: object) -> str:
    try:
        text = repr(value)
    except Exception:  # noqa: BLE001  # the user's __repr__ may raise anything
        text = f"<{type(value).__name__}>"
    text = _ADDRESS.sub("", text)
    return shorten(text, 80)


@lru_cache(maxsize=4096)
def _kind(kind: type) -> str:
    """Return how a walk treats instances of a class."""
    if issubclass(kind, torch.Tensor):
        return "tensor"
    if issubclass(kind, _ATOMS):
        return "atom"
    if issubclass(kind, tuple):
        return "named tuple" if hasattr(kind, "_fields") else "tuple"
    if issubclass(kind, (list, deque, set, frozenset)):
        return "list"
    if issubclass(kind, Mapping):
        return "dict"
    if issubclass(kind, _OPAQUE):
        return "opaque"
    return "dataclass" if dataclasses.is_dataclass(kind) else "custom"


def _kind_of(value: Any) -> str:
    kind: Any = type(value)
    return _kind(kind)


@lru_cache(maxsize=4096)
def _slots(kind: type) -> tuple[tuple[str, Any], ...]:
    """Return the members that a class keeps in slots."""
    members = []
    for base in kind.__mro__:
        names = base.__dict__.get("__slots__", ())
        for name in (names,) if isinstance(names, str) else tuple(names):
            member = base.__dict__.get(name)
            if isinstance(member, types.MemberDescriptorType):
                members.append((name, member))
    return tuple(members)


def _attributes(value: object) -> Iterator[tuple[str, str, Any]]:
    """Yield what an object of a user's class stores; no property or `__getattr__` is run."""
    kind: Any = type(value)
    try:
        stored = object.__getattribute__(value, "__dict__")
    except AttributeError:
        stored = {}
    if isinstance(stored, dict):
        yield from ((k, f".{k}", v) for k, v in list(stored.items()) if isinstance(k, str))
    for name, member in _slots(kind):
        try:
            yield name, f".{name}", member.__get__(value)
        except AttributeError:
            continue


def _children(value: Any, kind: str) -> Iterator[tuple[str, str, Any]]:
    """Yield (key, path, child) of a container or object."""
    if kind in {"tuple", "list"}:
        return ((str(i), f"[{i}]", v) for i, v in enumerate(steady(value)))
    if kind == "dict":
        return ((str(k), _key(k), v) for k, v in list(value.items()))
    if kind == "named tuple" and len(value._fields) == len(value):
        return ((n, f".{n}", v) for n, v in zip(value._fields, value, strict=True))
    if kind == "named tuple":
        return _children(value, "tuple")
    if kind == "dataclass":
        names = [f.name for f in dataclasses.fields(value)]
        return ((n, f".{n}", getattr(value, n, None)) for n in names)
    return _attributes(value) if kind == "custom" else iter(())


def leaves(value: object) -> list[tuple[str, torch.Tensor, bool]]:
    """Return the tensors inside `value` in insertion order: (path, tensor, on an attribute).

    Generators are not consumed, properties are not run, cycles are entered once.
    """
    if isinstance(value, torch.Tensor):
        return [("", value, False)]
    tensors: list[tuple[str, torch.Tensor, bool]] = []
    kind = _kind_of(value)
    if kind not in {"atom", "opaque"}:
        _walk(value, kind, tensors)
    return tensors


def _walk(value: object, kind: str, tensors: list[tuple[str, torch.Tensor, bool]]) -> None:
    """Append the tensors in a container. It does not recurse: results may be nested 1,000 deep."""
    nodes, deep = _MAX_NODES - 1, _MAX_DEEP_NODES
    above = {id(value)}
    outer: list[tuple[object, Iterator[tuple[str, str, Any]], str, bool]] = []
    children, path, via = _children(value, kind), "", kind == "custom"
    while True:
        for _, step, child in children:
            inner = _kind_of(child)
            if inner == "tensor":
                tensors.append((path + step, child, via))
            elif inner not in {"atom", "opaque"}:
                nodes -= 1
                is_deep = len(outer) >= _MAX_DEPTH
                deep -= is_deep
                if nodes < 0 or (is_deep and deep < 0) or id(child) in above:
                    continue
                outer.append((value, children, path, via))
                above.add(id(child))
                value, path, via = child, path + step, via or inner == "custom"
                children = _children(child, inner)
                break
        else:
            if not outer:
                return
            above.discard(id(value))
            value, children, path, via = outer.pop()


def argument_leaves(
    args: tuple[Any, ...], kwargs: dict[str, Any]
) -> list[tuple[str, torch.Tensor, bool]]:
    """Return the tensors of a call: positional ones under "[i]", keyword ones under ".name"."""
    tensors = [(f"[{i}]{path}", t, via) for i, a in enumerate(args) for path, t, via in leaves(a)]
    if kwargs:
        tensors += [
            (f".{name}{path}", t, via) for name, a in kwargs.items() for path, t, via in leaves(a)
        ]
    return tensors


def describe(value: object, above: tuple[int, ...] = ()) -> Tree:
    """Return the structure of `value` as the report writes it."""
    if isinstance(value, torch.Tensor):
        return {"shape": shape_of(value), "dtype": dtype_name(value.dtype)}
    kind = _kind_of(value)
    if kind in {"atom", "opaque"}:
        return {"value": _repr(value)}
    if id(value) in above or len(above) > _MAX_DEPTH:
        return {"value": f"<{type(value).__name__}>"}
    if kind == "custom" and not leaves(value):
        return {"value": _repr(value)}
    inside = (*above, id(value))
    named = {key: describe(child, inside) for key, _, child in _children(value, kind)}
    if kind == "tuple":
        return {"tuple": tuple(named.values())}
    if kind == "list":
        return {"list": tuple(named.values())}
    if kind == "dict":
        return {"dict": named}
    return {"object": named, "type": type(value).__name__}


_Rank = tuple[int, int, str, str]


def steady(items: Iterable[Any]) -> Iterable[Any]:
    """Return the items in a deterministic order: those of a set sorted, others as they are.

    A set's own order depends on hashes and addresses. Tensors come first, by the autograd nodes
    that created them, then by dtype and shape.
    """
    return sorted(items, key=_rank) if isinstance(items, set | frozenset) else items


def _rank(item: Any) -> _Rank:
    if isinstance(item, torch.Tensor):
        node = item.grad_fn
        made = -1 if node is None else node._sequence_nr()
        return 0, made, str(item.dtype), "" if item.is_nested else str(list(item.shape))
    try:
        text = repr(item)
    except Exception:  # noqa: BLE001  # the user's __repr__ may raise anything
        text = ""
    return 1, 0, type(item).__name__, _ADDRESS.sub("", text)


_MAX_COPIED = 2_000  # levels


def _like(value: Any, items: list[Any]) -> Any:
    """Return a list or set of these items, of the built-in class that `value` belongs to."""
    kind = next(k for k in (list, set, frozenset) if isinstance(value, k))
    return kind(items)


def map_tensors(value: Any, change: Callable[[torch.Tensor], torch.Tensor]) -> Any:
    """Copy the plain containers in `value` with every tensor changed; other objects stay as is.

    A container inside itself is not copied, and neither is what is nested deeper than 2,000 levels.
    """
    if isinstance(value, torch.Tensor):
        return change(value)
    above: set[int] = set()
    copies: list[tuple[Any, Iterator[Any], list[Any]]] = [(None, iter((value,)), [])]
    while True:
        original, items, new = copies[-1]
        for item in items:
            if isinstance(item, torch.Tensor):
                new.append(change(item))
                continue
            inner = None
            if id(item) not in above and len(copies) <= _MAX_COPIED:
                inner = _items(item)
            if inner is None:
                new.append(item)
                continue
            above.add(id(item))
            copies.append((item, iter(inner), []))
            break
        else:
            copies.pop()
            if not copies:
                return new[0]
            above.discard(id(original))
            copies[-1][2].append(_copied(original, new))


def _items(value: Any) -> list[Any] | None:
    """Return the items of a plain container; None for other values."""
    if isinstance(value, (tuple, list, deque, set, frozenset)):
        return list(value)
    if isinstance(value, Mapping):
        return list(value.values())
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return [getattr(value, f.name) for f in dataclasses.fields(value) if f.init]
    return None


def _copied(value: Any, items: list[Any]) -> Any:
    """Copy a plain container, with other items."""
    if isinstance(value, tuple):
        if hasattr(value, "_fields"):
            return type(value)(*items)
        # classes of torch.return_types, as of max and sort, accept a sequence
        return type(value)(items) if hasattr(value, "n_sequence_fields") else tuple(items)
    if isinstance(value, (list, deque, set, frozenset)):
        return deque(items, value.maxlen) if isinstance(value, deque) else _like(value, items)
    if isinstance(value, Mapping):
        named = dict(zip(value, items, strict=True))
        if type(value) is dict:
            return named
        if isinstance(value, defaultdict):
            return defaultdict(value.default_factory, named)
        return type(value)(named)  # type: ignore[call-arg]
    names = [f.name for f in dataclasses.fields(value) if f.init]
    return dataclasses.replace(value, **dict(zip(names, items, strict=True)))
