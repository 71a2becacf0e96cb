"""What several rows of a report hold: numbers, tensors, and the tree of a value."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from typing_extensions import TypeAliasType, TypedDict, final

Shape: TypeAlias = tuple[int | None, ...]  # None: a dimension that has no fixed size

Tree = TypeAliasType(
    "Tree", "TensorNode | TupleNode | ListNode | DictNode | ObjectNode | ValueNode"
)


@final
class TensorNode(TypedDict):
    """A tensor."""

    shape: Shape
    dtype: str


@final
class TupleNode(TypedDict):
    """A tuple."""

    tuple: tuple[Tree, ...]


@final
class ListNode(TypedDict):
    """A list."""

    list: tuple[Tree, ...]


@final
class DictNode(TypedDict):
    """A mapping; keys as text."""

    dict: dict[str, Tree]


@final
class ObjectNode(TypedDict):
    """A named tuple, a dataclass or an object of the user's with tensors inside."""

    object: dict[str, Tree]
    type: str


@final
class ValueNode(TypedDict):
    """Anything else, as its repr."""

    value: str


Number: TypeAlias = float | Literal["nan", "inf", "-inf"]


def absent() -> Any:
    """Default of a field whose key is left out of the JSON while it is None."""
    return field(default=None, metadata={"absent": True})


@dataclass(frozen=True, slots=True)
class Leaf:
    """One tensor inside an input or output.

    `path` continues `input` or `output` in a selector: "" is the value itself, "[0]" its first
    item, ".logits" a key or attribute. `via` is "attribute" for a tensor found on a custom object.
    """

    path: str
    shape: Shape
    dtype: str
    via: Literal["attribute"] | None = absent()  # it is a field()
    stats: dict[str, Any] | None = None
    grad: dict[str, Any] | None = None
