"""What a run records, before it becomes a report: plain data without tensors.

Identities (`key`, `own`, `below`) are those of live objects during the run; none is in the report.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, TypeAlias

from hookcli.report.distributed import Distributed
from hookcli.report.edges import EdgeRow
from hookcli.report.findings import HookFault, Measurement
from hookcli.report.measured.compiler import CompilerAccount
from hookcli.report.memory import CallMemory, TrainingMemory
from hookcli.report.values import Shape, Tree

LeafNote: TypeAlias = tuple[str, Shape, str, bool]  # path, shape, dtype, found on an attribute
Sort: TypeAlias = tuple[Shape, str]  # shape, dtype


NO_GRAD = "ran under no_grad: it gets no gradient"  # a note on a call
# The same for one of a checkpoint that is not recomputed.
NO_GRAD_INPUT = "ran in a reentrant checkpoint without an input that requires grad"
NO_OUTPUT = "returned None"  # a note on the call of the model


@dataclass(frozen=True, slots=True)
class ModuleInfo:
    """A registered module. `name` is its first qualified name, "" for the root."""

    key: int
    name: str
    aliases: tuple[str, ...]
    type: str
    original_name: str | None
    callable: bool  # has a forward; a ModuleList does not
    place: str | None  # its constructor's line, or its class's
    own: tuple[int, ...]  # keys of its direct parameters
    below: tuple[int, ...]  # keys of all distinct parameters at and below it


@dataclass(frozen=True, slots=True)
class ParameterInfo:
    """A distinct parameter. `numel` is None while it is uninitialised."""

    key: int
    name: str
    aliases: tuple[str, ...]
    module_type: str
    shape: Shape
    dtype: str
    numel: int | None
    nbytes: int | None
    requires_grad: bool


@dataclass(frozen=True, slots=True)
class BufferInfo:
    """A distinct buffer."""

    name: str
    shape: Shape
    dtype: str
    numel: int
    nbytes: int
    changed: bool | None


def _counts() -> dict[str, int]:
    return defaultdict(int)  # one for each call: creating a Counter takes ten times as long


@dataclass(slots=True)
class CallNote:
    """One call of one module, recorded while it ran."""

    order: int
    key: int
    name: str | None
    type: str
    original_name: str | None
    index: int
    parent: int | None
    depth: int
    training: bool
    place: str | None
    recomputed: bool
    inputs: list[LeafNote]
    sizes: tuple[int, int, int] | None = None  # own, all, trainable: if not registered
    outputs: list[LeafNote] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    flops: int = 0  # of the operators in this call, without calls below it
    unknown: dict[str, int] = field(default_factory=_counts)  # operators without a formula
    activation_bytes: int | None = None
    counted: bool = True  # whether FLOPs were counted


@dataclass(slots=True)
class BackwardNote:
    """The cost of the backward of one call: of its own nodes, without calls below it."""

    flops: int = 0
    unknown: dict[str, int] = field(default_factory=_counts)


Ledger: TypeAlias = CallNote | BackwardNote


class ChangeNote(NamedTuple):
    """One tensor that a hook changed: its statistics, and its shape and dtype, before and after.

    `sort_before` is None if there was no tensor at this path, `sort_after` if there is none now.
    """

    path: str
    before: dict[str, Any] | None
    after: dict[str, Any] | None
    sort_before: Sort | None
    sort_after: Sort | None


class EventNote(NamedTuple):
    """One event. `order` is the order of its call, if it has one.

    At the input or output of a module, `part` is which of the two, and `path` which tensor of it.
    `stats` are the statistics of `values`, if they were computed. `changes` are the tensors that
    the hook changed.
    """

    seq: int
    step: int
    phase: str
    kind: str
    target: str
    call: int | None
    order: int | None
    node: str | None
    hook: int | None  # None: a result of torch.autograd.grad
    values: tuple[LeafNote, ...]
    part: str | None = None
    path: str = ""
    stats: list[dict[str, Any] | None] | None = None
    changed: float | None = None
    recomputed: bool = False
    changes: list[ChangeNote] | None = None


@dataclass(slots=True)
class HookFinding:
    """A hook that was misused or did not fire as expected.

    `problem` names what is wrong, whatever the message says: baselines know a finding by it.
    """

    rule: str
    target: str
    problem: str
    message: str
    place: str
    severity: Literal["error", "warning"] = "error"


@dataclass(slots=True)
class Failure:
    """An exception, and the call in which it was raised."""

    phase: str
    type: str
    message: str
    place: str | None
    call: CallNote | None = None
    details: str = ""  # the traceback
    hook: HookFault | None = None  # of the hook from which the error follows
    unblamed: tuple[str, str | None] | None = None  # message and place without the hook
    hint: str | None = None


@dataclass(frozen=True, slots=True)
class ParameterStep:
    """A parameter in one step: figures of its gradient, and of its values before the step."""

    grad: dict[str, Any] | None
    weight: dict[str, Any] | None
    status: Literal["ok", "none", "zero", "non_finite", "frozen"] | None


@dataclass(frozen=True, slots=True)
class Training:
    """The memory of a training step in addition to parameters and buffers, in bytes."""

    saved_bytes: int  # saved by autograd for backward, each distinct storage once
    gradient_bytes: int


@dataclass(slots=True)
class MemoryNote:
    """The memory of the first step, in bytes. `trained` are the parameters that have gradients."""

    forward_peak: int = 0
    backward_peak: int | None = None
    input_bytes: int = 0
    gradient_bytes: int = 0
    batch: int | None = None
    unsized: int = 0  # tensors whose bytes are not known
    workspaces: tuple[str, ...] = ()  # operators whose workspace is not known
    trained: tuple[tuple[tuple[int, ...], Any], ...] = ()  # shape and dtype
    calls: dict[int, CallMemory] = field(default_factory=dict)  # by order of the call
    training: tuple[TrainingMemory, ...] = ()


@dataclass(slots=True)
class Recording:
    """Everything that a run records."""

    calls: list[CallNote] = field(default_factory=list)
    edges: list[EdgeRow] = field(default_factory=list)  # between the calls
    modules: tuple[ModuleInfo, ...] = ()
    parameters: tuple[ParameterInfo, ...] = ()
    buffers: tuple[BufferInfo, ...] = ()
    events: list[EventNote] = field(default_factory=list)
    streamed: tuple[str, int, int] | None = None  # file, count, dropped
    gradients: list[dict[int, ParameterStep]] = field(default_factory=list)  # by key, a step each
    gradient_steps: list[int] | None = None  # the numbers of these steps, if some are missing
    loss: str | None = None  # how the loss was computed, if it was
    loss_place: str | None = None  # the line of the user's function that computed it
    made_target: Tree | None = None  # the target, if it was made up
    losses: list[float] = field(default_factory=list)
    training: Training | None = None
    memory: MemoryNote | None = None
    compiler: CompilerAccount | None = None  # what torch.compile did, if the model ran compiled
    backward: dict[int | None, BackwardNote] = field(default_factory=dict)  # by order of the call
    timings: dict[str, Any] | None = None
    digests: dict[str, str] = field(default_factory=dict)  # of the state after each step, by name
    measured: list[Measurement] = field(default_factory=list)  # by probes
    distributed: Distributed | None = None
    findings: list[HookFinding] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    failure: Failure | None = None
    error: BaseException | None = None  # the exception of `failure`, until the run has ended
