"""The types of what the two runs of a diff exchange."""

from __future__ import annotations

from typing_extensions import NotRequired, TypedDict

from hookcli.report.values import Count, Index, Number, Size


class TensorSketch(TypedDict):
    """A summary of a tensor in a few numbers.

    `sums` are those of x, |x| and x²; `ordered` are projections of the sorted elements.
    """

    digest: str
    norm: Number
    nonfinite: Size
    projections: list[Number]
    sums: NotRequired[list[Number]]
    ordered: NotRequired[list[Number]]


class CallSketch(TypedDict):
    """The tensors of one call, the line that makes it, and the settings of the module."""

    order: Index
    inputs: list[TensorSketch | None]
    outputs: list[TensorSketch | None]
    line: NotRequired[str | None]
    settings: NotRequired[str | None]


class ShapeMisfit(TypedDict):
    """A weight that has different shapes in A and B."""

    name: str
    a_shape: list[Size | None]
    b_shape: list[Size | None]


class Weights(TypedDict):
    """A's weights in B: the number loaded, those with other values in B, and those not loaded."""

    loaded: Count
    differed: list[str]
    misfits: list[ShapeMisfit]
    only_a: list[str]
    only_b: list[str]


SKETCH = TensorSketch | None
WEIGHTS = Weights | None
