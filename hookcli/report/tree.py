"""How a nested input is written in the report: one node a level, torch-free."""

from __future__ import annotations

from typing import TypeAlias

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
