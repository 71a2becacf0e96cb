"""Substitute classes for containers whose own class is not imported.

A program may return a dataclass or a ModelOutput. The file names its class; importing that would
run code that the file chooses, and only the structure is needed.
"""

from __future__ import annotations

from typing import Any

from hookcli.torch_private import pytree


class Mapping(dict[str, Any]):
    """A container with names."""


class Row(tuple[Any, ...]):
    """A container without names."""


def _names(context: Any, size: int) -> list[str] | None:
    """Return the field names of a context: a list, or a list and the names of empty fields."""
    if isinstance(context, list) and len(context) == 2 and isinstance(context[0], list):
        context = context[0]
    if isinstance(context, list) and len(context) == size:
        return context if all(isinstance(name, str) for name in context) else None
    return None


def register(name: str) -> None:
    """Register a container of this name with torch's pytree, with a class of its last part."""
    class_name = name.rpartition(".")[2]
    kind: Any = type(class_name, (Mapping,), {})
    row: Any = type(class_name, (Row,), {})

    def flatten(value: Any) -> tuple[list[Any], Any]:
        return list(value.values()), list(value)

    def unflatten(values: Any, context: Any) -> Any:
        items = list(values)
        names = _names(context, len(items))
        return row(items) if names is None else kind(zip(names, items, strict=True))

    pytree.register_pytree_node(kind, flatten, unflatten, serialized_type_name=name)
