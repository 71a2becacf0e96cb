"""Nested values with every tensor changed."""

from __future__ import annotations

import dataclasses
from collections import defaultdict, deque
from collections.abc import Callable, Mapping
from typing import Any

import torch

_MAX_COPIED = 150  # levels: each takes three frames of the thousand that Python has


def _like(value: Any, items: list[Any]) -> Any:
    """A list or set of these items: of the built-in class that `value` is one of."""
    kind = next(k for k in (list, set, frozenset) if isinstance(value, k))
    return kind(items)


def map_tensors(value: Any, change: Callable[[torch.Tensor], torch.Tensor]) -> Any:
    """A copy of the plain containers in `value` with every tensor changed; other objects as is.

    A container inside itself is left as it is, and so is what lies deeper than any value of use.
    """
    return change(value) if isinstance(value, torch.Tensor) else _mapped(value, change, [])


def _mapped(value: Any, change: Callable[[torch.Tensor], torch.Tensor], above: list[int]) -> Any:
    if isinstance(value, torch.Tensor):
        return change(value)
    if len(above) > _MAX_COPIED or id(value) in above:
        return value
    above.append(id(value))
    try:
        return _copied(value, lambda one: _mapped(one, change, above))
    finally:
        above.pop()


def _copied(value: Any, inner: Callable[[Any], Any]) -> Any:
    """A copy of a plain container, with `inner` of each item."""
    if isinstance(value, tuple):
        items = [inner(v) for v in value]
        if hasattr(value, "_fields"):
            return type(value)(*items)
        # torch.return_types, of max and sort, take a sequence
        return type(value)(items) if hasattr(value, "n_sequence_fields") else tuple(items)
    if isinstance(value, (list, deque, set, frozenset)):
        items = [inner(v) for v in value]
        return deque(items, value.maxlen) if isinstance(value, deque) else _like(value, items)
    if type(value) is dict:
        return {k: inner(v) for k, v in value.items()}
    if isinstance(value, defaultdict):
        return defaultdict(value.default_factory, {k: inner(v) for k, v in value.items()})
    if isinstance(value, Mapping):
        return type(value)({k: inner(v) for k, v in value.items()})  # type: ignore[call-arg]
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = dataclasses.fields(value)
        named = {f.name: inner(getattr(value, f.name)) for f in fields if f.init}
        return dataclasses.replace(value, **named)
    return value
