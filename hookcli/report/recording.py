"""What a run noted, before it becomes a report: plain data, no tensors.

Identities (`key`, `own`, `below`) are those of live objects during the run; none is written out.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, TypeAlias

from hookcli.report.distributed import Distributed
from hookcli.report.findings import Measurement
from hookcli.report.values import Shape

LeafNote: TypeAlias = tuple[str, Shape, str, bool]  # path, shape, dtype, found on an attribute


@dataclass(frozen=True, slots=True)
class ModuleInfo:
    """A registered module. `name` is its first qualified name, "" for the root."""

    key: int
    name: str
    aliases: tuple[str, ...]
    type: str
    original_name: str | None
    callable: bool  # has a forward: a ModuleList has none
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
    return defaultdict(int)  # one for each call: a Counter takes ten times as long to make


@dataclass(slots=True)
class CallNote:
    """One call of one module, noted while it ran."""

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
    sizes: tuple[int, int, int] | None = None  # own, all, trainable: where not registered
    outputs: list[LeafNote] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    flops: int = 0  # of the operators that ran in this call and in no call below it
    unknown: dict[str, int] = field(default_factory=_counts)  # operators without a formula
    activation_bytes: int | None = None
    counted: bool = True  # whether FLOPs were asked for


def has_raised(note: CallNote) -> bool:
    """Whether the call ended in an exception."""
    return any(text.startswith("raised ") for text in note.notes)


@dataclass(slots=True)
class BackwardNote:
    """What the backward of one call cost: of the nodes that it made, not its children's."""

    flops: int = 0
    unknown: dict[str, int] = field(default_factory=_counts)


Ledger: TypeAlias = CallNote | BackwardNote


class EventNote(NamedTuple):
    """One firing of one hook. `order` is that of the call, where it belongs to one.

    At a module's input or output, `part` says which, and `path` which tensor of it. `stats` go
    with `values`, where they were asked for.
    """

    seq: int
    step: int
    phase: str
    kind: str
    target: str
    call: int | None
    order: int | None
    node: str | None
    hook: int | None  # None: what torch.autograd.grad was asked for
    values: tuple[LeafNote, ...]
    part: str | None = None
    path: str = ""
    stats: list[dict[str, Any] | None] | None = None
    changed: float | None = None
    recomputed: bool = False


@dataclass(slots=True)
class HookFinding:
    """A hook that was misused, or did not do what it was attached for."""

    rule: str
    target: str
    message: str
    place: str
    severity: Literal["error", "warning"] = "error"


@dataclass(slots=True)
class Failure:
    """What was raised, and in which call."""

    phase: str
    type: str
    message: str
    place: str | None
    call: CallNote | None = None
    details: str = ""  # the traceback
    hook: str | None = None  # the line of the hook that raised it


@dataclass(frozen=True, slots=True)
class ParameterStep:
    """What one step brought a parameter: figures of its gradient and of itself before the step."""

    grad: dict[str, Any] | None
    weight: dict[str, Any] | None
    status: Literal["ok", "none", "zero", "non_finite", "frozen"] | None


@dataclass(frozen=True, slots=True)
class Training:
    """What a training step would hold beside parameters and buffers, in bytes."""

    saved_bytes: int  # kept by autograd for backward, each distinct storage once
    gradient_bytes: int


@dataclass(slots=True)
class Recording:
    """Everything that a run noted."""

    calls: list[CallNote] = field(default_factory=list)
    modules: tuple[ModuleInfo, ...] = ()
    parameters: tuple[ParameterInfo, ...] = ()
    buffers: tuple[BufferInfo, ...] = ()
    events: list[EventNote] = field(default_factory=list)
    streamed: tuple[str, int, int] | None = None  # file, count, dropped
    gradients: list[dict[int, ParameterStep]] = field(default_factory=list)  # by key, a step each
    loss: str | None = None  # how it was computed, where it was
    losses: list[float] = field(default_factory=list)
    training: Training | None = None
    backward: dict[int | None, BackwardNote] = field(default_factory=dict)  # by order of the call
    timings: dict[str, Any] | None = None
    digests: dict[str, str] = field(default_factory=dict)  # of what each step left, by its name
    measured: list[Measurement] = field(default_factory=list)  # by what looked on beside
    distributed: Distributed | None = None
    findings: list[HookFinding] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    failure: Failure | None = None
    error: BaseException | None = None  # what `failure` describes, until the run has ended
