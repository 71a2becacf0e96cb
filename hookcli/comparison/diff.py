"""What two runs differ in, as plain data: `hookcli.diff/1`. Field order is that of the JSON keys.

"same" is bit for bit; "close" is within the limit; "unknown" could not be compared. A figure that
is not known is None, never 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from hookcli.report.report import Environment, Inputs, RunInfo
from hookcli.report.values import Number, Shape

SCHEMA: Literal["hookcli.diff/1"] = "hookcli.diff/1"

Status: TypeAlias = Literal["same", "close", "different", "unknown"]
How: TypeAlias = Literal[
    "bits", "exact", "sketch", "norm", "shape", "dtype", "structure", "nonfinite"
]
RowStatus: TypeAlias = Literal["same", "close", "different", "unknown", "only_a", "only_b"]
Fault: TypeAlias = Literal["output", "code", "inputs", "parameter", "gradient", "model"]


@dataclass(frozen=True, slots=True)
class SideInfo:
    """One side: what it was, and how it was run."""

    source: str
    type: str | None
    parameters: int | None
    calls: int
    run: RunInfo


@dataclass(frozen=True, slots=True)
class Names:
    """What the names of one side begin with, where the other's do not; "" for nothing."""

    prefix_a: str
    prefix_b: str


@dataclass(frozen=True, slots=True)
class ShapeMisfit:
    """A weight of A's that B has in another shape."""

    name: str
    a_shape: Shape
    b_shape: Shape


@dataclass(frozen=True, slots=True)
class Weights:
    """A's weights in B: how many went in, which B held otherwise before, and what did not fit."""

    loaded: int
    differed: tuple[str, ...]
    misfits: tuple[ShapeMisfit, ...]
    only_a: tuple[str, ...]
    only_b: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TensorDiff:
    """One tensor on both sides. What a side lacks is None.

    `relative` is the norm of the difference over A's norm: estimated from sketches, or taken from
    norms alone, which gives a lower bound, as `how` says. `limit` is what it was held against.
    `shapes` and `dtypes` tell A's, then B's, and are kept where they are equal too.
    """

    path: str | None
    other_path: str | None
    shapes: tuple[Shape | None, Shape | None]
    dtypes: tuple[str | None, str | None]
    relative: Number | None
    limit: float | None
    how: How | None
    status: Status


@dataclass(frozen=True, slots=True)
class CallRef:
    """One call on one side."""

    order: int
    name: str | None
    call: int
    type: str
    place: str | None


@dataclass(frozen=True, slots=True)
class CallDiff:
    """A call and its partner; one of the two is None where there is none.

    `at_input` and `at_output` sum up the tensors; `fault`: its inputs agree and its output differs.
    """

    a: CallRef | None
    b: CallRef | None
    status: RowStatus
    at_input: Status | None
    at_output: Status | None
    fault: bool
    inputs: tuple[TensorDiff, ...] = ()
    outputs: tuple[TensorDiff, ...] = ()


@dataclass(frozen=True, slots=True)
class StateDiff:
    """A parameter or buffer and its partner; `gradient` is None where there is none."""

    kind: Literal["parameter", "buffer"]
    a: str | None
    b: str | None
    status: RowStatus
    value: TensorDiff | None = None
    gradient: TensorDiff | None = None


@dataclass(frozen=True, slots=True)
class OrderDiff:
    """Where the order of calls parts: A calls `a` where B calls `b`."""

    a: CallRef
    b: CallRef


@dataclass(frozen=True, slots=True)
class ExactDiff:
    """One tensor of the first call that differs, compared element by element.

    `at` is where the difference is largest, `a` and `b` the values there.
    """

    path: str
    other_path: str
    numel: int
    differ: int
    max_abs: Number
    relative: Number
    at: tuple[int, ...] | None = None
    a: Number | str | None = None
    b: Number | str | None = None


def exact_diff(values: Mapping[str, Any]) -> ExactDiff:
    """The row of what `run.diff.capture.compare_tensors` measured, its `at` as a list or tuple."""
    at = values["at"]
    return ExactDiff(**{**values, "at": None if at is None else tuple(at)})


@dataclass(frozen=True, slots=True)
class First:
    """Where the two part first, in the order in which A's values come to be.

    `fault` "output": inputs agree and the output differs, so it is in this call. "code": all that
    ran before agrees, and this call is given other inputs, so it is in the caller's own code,
    `within`, after `after`. "inputs": the batch itself. "gradient", "parameter": forward agrees.
    "model": calls agree, and what the models return does not.
    """

    fault: Fault
    a: CallRef | None
    b: CallRef | None
    within: CallRef | None
    after: CallRef | None
    sentence: str
    relative: Number | None = None
    limit: float | None = None
    skipped: tuple[str, ...] = ()
    inputs: tuple[ExactDiff, ...] | None = None
    outputs: tuple[ExactDiff, ...] | None = None


@dataclass(frozen=True, slots=True)
class Counts:
    """How many calls, parameters and buffers are of each status."""

    same: int = 0
    close: int = 0
    different: int = 0
    unknown: int = 0
    only_a: int = 0
    only_b: int = 0


@dataclass(frozen=True, slots=True)
class Diff:
    """Two runs, compared."""

    schema: Literal["hookcli.diff/1"]
    verdict: Literal["same", "different"]
    reasons: tuple[str, ...]
    environment: Environment
    a: SideInfo
    b: SideInfo
    inputs: Inputs | None
    names: Names
    weights: Weights | None
    calls: Counts
    parameters: Counts
    buffers: Counts
    first: First | None
    first_inexact: CallRef | None
    order: OrderDiff | None
    output: tuple[TensorDiff, ...]
    rows: tuple[CallDiff, ...]
    state: tuple[StateDiff, ...]
    warnings: tuple[str, ...] = ()
