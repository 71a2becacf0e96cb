"""Modules of torch.nn that were constructed with True or False in the place of a number."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from torch import nn

from hookcli.models import module_tree

_NUMBERS = {"float", "int", float, int, "Union[float, int]"}


@lru_cache(maxsize=512)
def _numbers_of(kind: Any) -> tuple[tuple[str, Any], ...]:
    """Return the arguments of a constructor that are annotated as numbers, with their defaults."""
    if not kind.__module__.startswith("torch.nn.modules."):
        return ()
    try:
        parameters = inspect.signature(kind).parameters.values()
    except (TypeError, ValueError):
        return ()
    return tuple((one.name, one.default) for one in parameters if one.annotation in _NUMBERS)


def flags_for_numbers(root: nn.Module) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the names of modules with a flag where a number is expected, and what it sets."""
    for name, module in module_tree.named(root):
        kind: Any = type(module)  # mypy does not take a class for hashable
        for attribute, default in _numbers_of(kind):
            value = vars(module).get(attribute)
            if isinstance(value, bool) and value != default:
                found = {"type": kind.__name__, "attribute": attribute, "value": value}
                yield name, found
