"""The comparison of two files of weights (`hookcli.weights_diff/1`) as plain data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from hookcli.report.report import Environment
from hookcli.report.values import Count, Number, Shape, Size, absent

WEIGHTS_DIFF_SCHEMA: Literal["hookcli.weights_diff/1"] = "hookcli.weights_diff/1"

WeightsStatus: TypeAlias = Literal[
    "same", "close", "changed", "renamed", "reshaped", "added", "removed", "unknown"
]


@dataclass(frozen=True, slots=True)
class WeightsSide:
    """A or B: what was read."""

    source: str
    format: str
    tensors: Count
    bytes: Size


@dataclass(frozen=True, slots=True)
class WeightsChange:
    """One tensor of A, of B or of both.

    `status`: "same" if all values are equal; "close" if they differ within the tolerance;
    "renamed" if B has equal values under another name; "reshaped" if the shapes differ; "added" if
    only B has it, "removed" if only A has it; "unknown" if the values cannot be read, for the
    reason in `why`. `difference` is the 2-norm of B - A and `norm` that of A, over the elements
    that are finite in both; `relative` is the first divided by the second, `largest` the largest
    absolute difference of an element, and `differing` the number of elements that differ.
    `non_finite` counts those of them that are not finite in A or in B. These are None if the values
    were not compared. Two NaN in one place are equal.
    """

    a: str | None
    b: str | None
    status: WeightsStatus
    shapes: tuple[Shape | None, Shape | None]
    dtypes: tuple[str | None, str | None]
    part: Literal["weights", "optimizer"]
    numel: Size
    relative: Number | None = None
    largest: Number | None = None
    difference: Number | None = None
    norm: Number | None = None
    differing: Size | None = None
    non_finite: Size | None = None
    why: str | None = absent()  # it is a field()


@dataclass(frozen=True, slots=True)
class WeightsGroup:
    """The tensors of one layer: those below `name`, whose values were compared.

    `relative` is the 2-norm of all their differences divided by that of all their values in A, and
    `largest` the largest absolute difference of an element.
    """

    name: str
    tensors: Count
    changed: Count
    relative: Number | None
    largest: Number | None


@dataclass(frozen=True, slots=True)
class WeightsDiffTotals:
    """How many tensors have each status, and the difference of all that were compared.

    `other_dtype` counts the tensors of both that have another dtype in B.
    """

    same: Count
    close: Count
    changed: Count
    renamed: Count
    reshaped: Count
    added: Count
    removed: Count
    unknown: Count
    other_dtype: Count
    relative: Number | None
    largest: Number | None


@dataclass(frozen=True, slots=True)
class WeightsDiff:
    """The comparison of two files of weights. `rows` have the largest relative change first.

    `tolerance` has pairs of a glob on names and the largest relative difference that is close.

    `verdict` is "same" if each tensor is the same, close, or renamed, and none was added, removed,
    reshaped or unread.
    """

    schema: Literal["hookcli.weights_diff/1"]
    environment: Environment
    a: WeightsSide
    b: WeightsSide
    tolerance: tuple[tuple[str, Number], ...]
    verdict: Literal["same", "different"]
    totals: WeightsDiffTotals
    groups: tuple[WeightsGroup, ...]
    rows: tuple[WeightsChange, ...]
    warnings: tuple[str, ...] = ()
