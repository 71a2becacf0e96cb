"""How a nested input is written in the report: one node a level, torch-free."""

from __future__ import annotations

from typing import TypeAlias

from typing_extensions import TypeAliasType, TypedDict

Shape: TypeAlias = tuple[int | None, ...]  # None: a dimension that has no fixed size

Tree = TypeAliasType(
    "Tree", "TensorNode | TupleNode | ListNode | DictNode | ObjectNode | ValueNode"
)

TensorNode = TypedDict("TensorNode", {"shape": Shape, "dtype": str})
TupleNode = TypedDict("TupleNode", {"tuple": tuple["Tree", ...]})
ListNode = TypedDict("ListNode", {"list": tuple["Tree", ...]})
DictNode = TypedDict("DictNode", {"dict": dict[str, "Tree"]})
ObjectNode = TypedDict("ObjectNode", {"object": dict[str, "Tree"], "type": str})
ValueNode = TypedDict("ValueNode", {"value": str})
