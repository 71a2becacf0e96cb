"""The differences of two runs as plain data: `hookcli.diff/1`. JSON keys have the order of fields.

"same" is bitwise equal; "close" is within the limit; "unknown" could not be compared. A figure that
is not known is None, never 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from hookcli.report.measured.compared import Weights
from hookcli.report.measured.compiler import CompilerAccount
from hookcli.report.report import Environment, Inputs, RunInfo
from hookcli.report.values import Count, Index, Number, Real, Shape, Size, absent

SCHEMA: Literal["hookcli.diff/1"] = "hookcli.diff/1"

Status: TypeAlias = Literal["same", "close", "different", "unknown"]
How: TypeAlias = Literal[
    "bits", "exact", "sketch", "norm", "values", "shape", "dtype", "structure", "nonfinite"
]
RowStatus: TypeAlias = Literal["same", "close", "different", "unknown", "only_a", "only_b"]
Fault: TypeAlias = Literal["output", "code", "inputs", "parameter", "gradient", "model"]


@dataclass(frozen=True, slots=True)
class SideInfo:
    """The model of A or B, and how it was run.

    `settings` are those that were typed for this side alone, such as "dtype=bfloat16".
    """

    source: str
    type: str | None
    parameters: Size | None
    calls: Count
    run: RunInfo
    environment: Environment | None = None
    settings: tuple[str, ...] | None = absent()


@dataclass(frozen=True, slots=True)
class Names:
    """The prefix of all names in A or in B that the other does not have; "" if there is none."""

    prefix_a: str
    prefix_b: str


@dataclass(frozen=True, slots=True)
class TensorDiff:
    """One tensor in A and B. Values of a missing tensor are None.

    `relative` is the norm of the difference divided by A's norm; `how` tells whether it is exact,
    estimated from sketches, or a lower bound from norms, or from sorted values ("values") if the
    layouts differ. `limit` is the largest allowed value.
    `shapes` and `dtypes` contain A's, then B's, also if they are equal.
    """

    path: str | None
    other_path: str | None
    shapes: tuple[Shape | None, Shape | None]
    dtypes: tuple[str | None, str | None]
    relative: Number | None
    limit: Real | None
    how: How | None
    status: Status


@dataclass(frozen=True, slots=True)
class CallRef:
    """One call in A or B."""

    order: Index
    name: str | None
    call: Index
    type: str
    place: str | None


@dataclass(frozen=True, slots=True)
class CallDiff:
    """A call in A and its counterpart in B; one of the two may be None.

    `at_input` and `at_output` are the worst status of the tensors; `fault`: the inputs agree and
    the output differs.
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
    """A parameter or buffer in A and its counterpart in B; `gradient` may be None."""

    kind: Literal["parameter", "buffer"]
    a: str | None
    b: str | None
    status: RowStatus
    value: TensorDiff | None = None
    gradient: TensorDiff | None = None


@dataclass(frozen=True, slots=True)
class OrderDiff:
    """The first difference in the order of calls: A calls `a`, B calls `b`."""

    a: CallRef
    b: CallRef


@dataclass(frozen=True, slots=True)
class ExactDiff:
    """One tensor of the first differing call, compared element by element.

    `at` is the index of the largest difference, `a` and `b` are the values there.
    """

    path: str
    other_path: str
    numel: Size
    differ: Size
    max_abs: Number
    relative: Number
    at: tuple[Size, ...] | None = None
    a: Number | str | None = None
    b: Number | str | None = None


def exact_diff(values: Mapping[str, Any]) -> ExactDiff:
    """Return the row of a measurement by `run.diff.capture.compare_tensors`."""
    at = values["at"]
    return ExactDiff(**{**values, "at": None if at is None else tuple(at)})


@dataclass(frozen=True, slots=True)
class First:
    """The first difference, in the order in which A computes values.

    `fault` is "output" if the inputs of the call agree and its output differs: the cause is in this
    call. "code": all earlier calls agree, but the inputs of this call differ: the cause is in the
    own code of the caller, `within`, after the call `after`. "inputs": the batch differs.
    "gradient", "parameter": the forward agrees. "model": the calls agree, but not the outputs of
    the models.
    """

    fault: Fault
    a: CallRef | None
    b: CallRef | None
    within: CallRef | None
    after: CallRef | None
    sentence: str
    relative: Number | None = None
    limit: Real | None = None
    skipped: tuple[str, ...] = ()
    inputs: tuple[ExactDiff, ...] | None = None
    outputs: tuple[ExactDiff, ...] | None = None


@dataclass(frozen=True, slots=True)
class Counts:
    """The numbers of calls, parameters or buffers of each status."""

    same: Count = 0
    close: Count = 0
    different: Count = 0
    unknown: Count = 0
    only_a: Count = 0
    only_b: Count = 0


@dataclass(frozen=True, slots=True)
class RankLayout:
    """How the ranks have an output of a call: "shard(1) along tp", "partial along tp"."""

    name: str
    call: Index
    path: str
    layout: str


@dataclass(frozen=True, slots=True)
class ParallelInfo:
    """The parallel plan of B. `named` are the modules or parameters that differ first.

    `mesh` has the names and sizes of its dimensions, and `gradients` is the number of gradients
    that were compared. Outputs that every rank has whole have no row in `layouts`.
    """

    plan: str
    mesh: tuple[tuple[str, Count], ...]
    ranks: Count
    named: tuple[str, ...]
    gradients: Count
    layouts: tuple[RankLayout, ...] = ()


@dataclass(frozen=True, slots=True)
class CompiledInfo:
    """How B was compiled. `named` are the modules, parameters or buffers that differ first.

    `gradients` is the number of gradients that were compared. `noise_runs` and `float64` tell by
    which eager runs rounding was measured; none were needed if all differences are within limits.
    """

    backend: str
    mode: str | None
    dynamic: bool | None
    fullgraph: bool
    named: tuple[str, ...]
    gradients: Count
    noise_runs: Count
    float64: bool
    compiler: CompilerAccount | None


@dataclass(frozen=True, slots=True)
class PortMatch:
    """Calls of A and of B that are counterparts, by their orders.

    `how` tells what showed it: equal names, weights of one origin, equal values of the outputs, the
    calls inside, or the place between matched calls. One side has several calls if the other has
    fused them.
    """

    a: tuple[Index, ...]
    b: tuple[Index, ...]
    how: Literal["weights", "names", "values", "contents", "place"]


@dataclass(frozen=True, slots=True)
class PortInfo:
    """How two implementations with other names were matched.

    `weights` tells whether A's were loaded into B through a map, "given" or "inferred", or stayed
    B's "own". `map` has the lines of that map: what of A makes each module or tensor of B.
    `unused` and `missing` are the tensors of A and of B that it does not have. `stretch` is the
    code in which the first difference arises: the lines of A, then of B, from and to.
    """

    matches: tuple[PortMatch, ...]
    weights: Literal["given", "inferred", "own"]
    map: dict[str, str | list[str]]
    unused: tuple[str, ...]
    missing: tuple[str, ...]
    stretch: tuple[tuple[str | None, str | None], tuple[str | None, str | None]] | None = None


@dataclass(frozen=True, slots=True)
class Diff:
    """The comparison of two runs."""

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
    parallel: ParallelInfo | None = absent()  # noqa: RUF009  # it is a field()
    compiled: CompiledInfo | None = absent()  # noqa: RUF009
    port: PortInfo | None = absent()  # noqa: RUF009  # it is a field()
