"""The ranges of a report's numbers, which every format can hold.

The JSON Schemas state them, and a report with a number outside of its range is not read. A page's
JavaScript is exact up to 2**53, TensorBoard's steps have 64 bits and its scalars 32, and JSON has
neither NaN nor infinities.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, TypeAlias

LARGEST_INDEX = 2**53 - 1  # of JavaScript
LARGEST_SIZE = 10**30  # far above any count in a model; a 32-bit float can still represent it
_LARGEST_FLOAT = 1.7976931348623157e308


@dataclass(frozen=True, slots=True)
class Range:
    """The smallest and the largest number of a field. pydantic reads it from an annotation."""

    low: float
    high: float

    def __get_pydantic_core_schema__(
        self, kind: Any, handler: Callable[[Any], dict[str, Any]]
    ) -> dict[str, Any]:
        """Return pydantic's schema of the type with these limits."""
        finite = {"allow_inf_nan": False} if kind is float else {}
        return {**handler(kind), "ge": self.low, "le": self.high, **finite}


def known_size(number: int) -> int | None:
    """Return a number of operations; None if a report cannot hold it, so that it is not known."""
    return number if number <= LARGEST_SIZE else None


# A position in an order, which counts from 0; a number of things that are counted one by one.
Index: TypeAlias = Annotated[int, Range(0, LARGEST_INDEX)]
Count: TypeAlias = Annotated[int, Range(0, LARGEST_INDEX)]
Positive: TypeAlias = Annotated[int, Range(1, LARGEST_INDEX)]
# Elements, bytes, operations, or the length of a dimension.
Size: TypeAlias = Annotated[int, Range(0, LARGEST_SIZE)]
Dimension: TypeAlias = Annotated[int, Range(-(2**31), 2**31 - 1)]  # negative: from the end
Seed: TypeAlias = Annotated[int, Range(-(2**63), 2**64 - 1)]  # what torch.manual_seed accepts
ExitStatus: TypeAlias = Annotated[int, Range(-(2**31), 2**32 - 1)]  # Windows has 32 bits
Seconds: TypeAlias = Annotated[float, Range(0, 1e9)]  # thirty years
Real: TypeAlias = Annotated[float, Range(-_LARGEST_FLOAT, _LARGEST_FLOAT)]
