"""The types of values that several rows of a report share: numbers, tensors, nested values."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from typing_extensions import TypeAliasType, TypedDict, final

from hookcli.report.ranges import Real, Size

Shape: TypeAlias = tuple[Size | None, ...]  # None: a dimension without a fixed size

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
    """A mapping, with keys as strings."""

    dict: dict[str, Tree]


@final
class ObjectNode(TypedDict):
    """A named tuple, a dataclass or another object that contains tensors."""

    object: dict[str, Tree]
    type: str


@final
class ValueNode(TypedDict):
    """Any other value, as its repr."""

    value: str


Number: TypeAlias = Real | Literal["nan", "inf", "-inf"]


def absent() -> Any:
    """Return the default of a field whose key is omitted from the JSON if it is None."""
    return field(default=None, metadata={"absent": True})


@dataclass(frozen=True, slots=True)
class Leaf:
    """One tensor in an input or output.

    `path` follows `input` or `output` in a selector: "" is the value itself, "[0]" its first item,
    ".logits" a key or attribute. `via` is "attribute" for a tensor in an attribute of an object.
    """

    path: str
    shape: Shape
    dtype: str
    via: Literal["attribute"] | None = absent()  # it is a field()
    stats: dict[str, Any] | None = None
    grad: dict[str, Any] | None = None
