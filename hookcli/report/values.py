"""The types of values that several rows of a report share: numbers, tensors, nested values."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, TypeAlias

from typing_extensions import TypeAliasType, TypedDict, final

# The ranges of numbers are those that every format can hold. A page's JavaScript is exact up to
# 2**53, TensorBoard's steps have 64 bits and its scalars 32, JSON has no NaN and no infinities.
# The JSON Schemas state them, and a report with another number is not read.
LARGEST_INDEX = 2**53 - 1  # of JavaScript
LARGEST_SIZE = 10**30  # far above any count in a model; a 32-bit float can still represent it
_LARGEST_FLOAT = 1.7976931348623157e308


@dataclass(frozen=True, slots=True)
class NumberRange:
    """The smallest and the largest number of a field. pydantic reads it from an annotation."""

    low: float
    high: float

    def __get_pydantic_core_schema__(
        self, kind: Any, handler: Callable[[Any], dict[str, Any]]
    ) -> dict[str, Any]:
        """Return pydantic's schema of the type with these limits."""
        finite = {"allow_inf_nan": False} if kind is float else {}
        return {**handler(kind), "ge": self.low, "le": self.high, **finite}


def location(parts: Iterable[str | int]) -> str:
    """Return where pydantic found an error, as a path: its word for a type with limits is long."""
    return ".".join(str(part).removeprefix("constrained-") for part in parts)


def known_size(number: int) -> int | None:
    """Return a number of operations; None if a report cannot hold it, so that it is not known."""
    return number if number <= LARGEST_SIZE else None


# A position in an order, which counts from 0; a number of things that are counted one by one.
Index: TypeAlias = Annotated[int, NumberRange(0, LARGEST_INDEX)]
Count: TypeAlias = Annotated[int, NumberRange(0, LARGEST_INDEX)]
Positive: TypeAlias = Annotated[int, NumberRange(1, LARGEST_INDEX)]
# Elements, bytes, operations, or the length of a dimension.
Size: TypeAlias = Annotated[int, NumberRange(0, LARGEST_SIZE)]
Dimension: TypeAlias = Annotated[int, NumberRange(-(2**31), 2**31 - 1)]  # negative: from the end
Seed: TypeAlias = Annotated[int, NumberRange(-(2**63), 2**64 - 1)]  # what torch.manual_seed accepts
ExitStatus: TypeAlias = Annotated[int, NumberRange(-(2**31), 2**32 - 1)]  # Windows has 32 bits
Seconds: TypeAlias = Annotated[float, NumberRange(0, 1e9)]  # thirty years
Real: TypeAlias = Annotated[float, NumberRange(-_LARGEST_FLOAT, _LARGEST_FLOAT)]

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
