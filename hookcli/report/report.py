"""The report: the results of one run as plain data. JSON keys have the order of fields.

`hookcli.report.rows` makes these from a `Recording`, `hookcli.report.encode` writes them. A figure
that is not known is None, never 0. `order` and `call` count from 0.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from hookcli.report.distributed import Distributed, LocalPart, MeshPlace
from hookcli.report.edges import EdgeRow
from hookcli.report.events import EventRow, Streamed
from hookcli.report.existing_hook import ExistingHook
from hookcli.report.findings import CheckRow, Diagnosis, HookFault, Measurement, Unexamined
from hookcli.report.measured.compiler import CompilerAccount
from hookcli.report.memory import CallMemory, Memory
from hookcli.report.steps import TrainingInfo
from hookcli.report.values import (
    Count,
    Index,
    Leaf,
    Number,
    Seconds,
    Seed,
    Shape,
    Size,
    Tree,
    absent,
)

if TYPE_CHECKING:
    from hookcli.spec.request import RunSpec

SCHEMA: Literal["hookcli.report/1"] = "hookcli.report/1"

Origin: TypeAlias = Literal["given", "declared", "inferred"]
TargetOrigin: TypeAlias = Literal["given", "batch", "made"]
Format: TypeAlias = Literal["python", "torchscript", "exported", "package", "weights"]
Tensors: TypeAlias = Literal["fake", "real"]


@dataclass(frozen=True, slots=True)
class Environment:
    """The versions, the platform and the duration; they differ between runs of the same model.

    `python` is the version of the Python that ran the model, and `python_executable` its path, from
    the working folder if it is below it. `python_source` tells what named it: "own" is the
    interpreter that hookcli itself runs in.
    """

    hookcli: str
    torch: str | None
    python: str
    platform: str
    seconds: Seconds
    python_executable: str | None = None
    python_source: str | None = None


@dataclass(frozen=True, slots=True)
class ModelInfo:
    """The constructed model. Shared and tied parameters count once.

    `parameters`, `trainable_parameters` and `buffers` are numbers of elements.
    """

    source: str
    format: Format
    type: str | None = None
    place: str | None = None
    parameters: Size | None = None
    trainable_parameters: Size | None = None
    parameter_bytes: Size | None = None
    buffers: Size | None = None
    buffer_bytes: Size | None = None


@dataclass(frozen=True, slots=True)
class RunInfo:
    """How the model was run. `fallback` is the reason why a fake run became a real one.

    `loss` is what backward started from, and `loss_place` the line of the function that computes
    it, if it is the user's. `losses` are its values by step. `compiled` is how layers inside of
    compiled code were observed, if the model ran compiled, and `compiler` what torch.compile did.
    `method` is the method that ran in place of forward.
    """

    tensors: Tensors
    fallback: str | None
    mode: Literal["train", "eval", "as-is"]
    device: str
    seed: Seed
    loss: str | None = None
    losses: tuple[Number, ...] = ()
    steps: Count = 1
    world_size: Count = 1
    peak_memory: Size | None = None
    loss_place: str | None = absent()  # it is a field()
    compiled: Literal["layers", "statistics"] | None = absent()
    compiler: CompilerAccount | None = absent()  # noqa: RUF009  # it is a field()
    method: str | None = absent()  # it is a field()

    @classmethod
    def of(cls, run: RunSpec, **found: Any) -> RunInfo:
        """Return how a model was run: its settings of the same names, and what was found."""
        own = {field.name for field in fields(cls)}
        settings = {f.name: getattr(run, f.name) for f in fields(run) if f.name in own}
        return cls(**{**settings, **found})


@dataclass(frozen=True, slots=True)
class Inputs:
    """The batch: its structure and its origin.

    `target` is that of the loss. Its origin is "given" (by `--target` or `run.targets`), "batch"
    (the second part of the batch) or "made" (made up to fit the output).
    """

    origin: Origin
    args: tuple[Tree, ...]
    kwargs: dict[str, Tree]
    target: Tree | None = absent()  # noqa: RUF009  # it is a field()
    target_origin: TargetOrigin | None = absent()  # noqa: RUF009  # it is a field()


@dataclass(frozen=True, slots=True)
class LayerRow:
    """One call of one module.

    `name` is the qualified name, "" for the root, None for a module that is not registered.
    `parent` is the `order` of the calling row. `own_parameters` counts the elements of the module's
    direct parameters, `parameters` those of all parameters at and below it, each once.
    `shared_with` contains the names of parameters of other modules that are the same objects.
    """

    order: Index
    name: str | None
    registered: bool
    aliases: tuple[str, ...]
    type: str
    original_name: str | None
    call: Index
    parent: Index | None
    depth: Index
    training: bool
    place: str | None
    inputs: tuple[Leaf, ...]
    outputs: tuple[Leaf, ...]
    own_parameters: Size | None
    parameters: Size | None
    trainable_parameters: Size | None
    shared_with: tuple[str, ...] = ()
    macs: Size | None = None
    flops: Size | None = None
    activation_bytes: Size | None = None
    output_grad: dict[str, Any] | None = None
    input_grad: dict[str, Any] | None = None
    stats: dict[str, Any] | None = None
    recomputed: bool = False
    notes: tuple[str, ...] = ()
    memory: CallMemory | None = absent()  # noqa: RUF009  # it is a field()


@dataclass(frozen=True, slots=True)
class UncalledRow:
    """A registered module with a forward that never ran."""

    name: str
    type: str
    place: str | None


@dataclass(frozen=True, slots=True)
class ParameterRow:
    """One distinct parameter under its first qualified name; other names are in `shared_with`.

    A DTensor has `placements` and `mesh`, and `local` is the part of it that the rank has. If
    `whole`, the figures are those of the whole tensor, joined from the files of all ranks, else of
    the part. `grad_placements` are those of the gradient, if they differ: the sum of a gradient
    that is Partial is pending, so that nothing is known of the whole.
    """

    name: str
    module_type: str
    shape: Shape
    dtype: str
    numel: Size | None
    requires_grad: bool
    shared_with: tuple[str, ...] = ()
    stats: dict[str, Any] | None = None
    grad: dict[str, Any] | None = None
    grad_to_weight: Number | None = None
    steps: tuple[dict[str, Any], ...] = ()
    status: Literal["ok", "none", "zero", "non_finite", "frozen"] | None = None
    placements: tuple[str, ...] | None = absent()  # it is a field()
    mesh: MeshPlace | None = absent()  # noqa: RUF009  # it is a field()
    local: LocalPart | None = absent()  # noqa: RUF009  # it is a field()
    whole: bool | None = absent()  # it is a field()
    grad_placements: tuple[str, ...] | None = absent()  # it is a field()

    def numbered_steps(self) -> list[dict[str, Any]]:
        """Return `steps`, each with a number and a gradient: a saved report may lack them."""
        return [{"step": i, "grad": None, **entry} for i, entry in enumerate(self.steps)]


@dataclass(frozen=True, slots=True)
class BufferRow:
    """One distinct buffer. `changed`: the run wrote to it (None if that is not known)."""

    name: str
    shape: Shape
    dtype: str
    changed: bool | None


@dataclass(frozen=True, slots=True)
class Totals:
    """Totals of the run. `layers` counts the modules that ran, `calls` their calls."""

    layers: Count
    calls: Count
    parameters: Size | None
    macs: Size | None = None
    flops: Size | None = None
    activation_bytes: Size | None = None
    grad_norm: Number | None = None


@dataclass(frozen=True, slots=True)
class ErrorInfo:
    """Why the report is partial: where the run stopped, what was raised, and what to do.

    `hook` is present if the error follows from what a hook did.
    """

    phase: str
    layer: str | None
    call: Index | None
    inputs: tuple[Leaf, ...]
    type: str
    message: str
    place: str | None
    hint: str | None = absent()  # it is a field()
    hook: HookFault | None = absent()  # noqa: RUF009  # it is a field()


@dataclass(frozen=True, slots=True)
class Report:
    """One run of one model, complete or up to an error.

    `existing_hooks` are those that the model had when it was loaded; they are None in the reports
    of versions that did not list them, as `edges` are. `diagnoses` tell what is wrong with the
    model, the worst first; `examined` are the rules that looked for it, and `unexamined` those
    that did not. They are None if nothing was judged. `training` is present in a record of
    `hookcli run`.
    """

    schema: Literal["hookcli.report/1"]
    command: str
    status: Literal["complete", "partial"]
    environment: Environment
    model: ModelInfo
    run: RunInfo
    inputs: Inputs | None
    totals: Totals
    timings: dict[str, Any] | None = absent()  # noqa: RUF009  # it is a field()
    layers: tuple[LayerRow, ...] = ()
    edges: tuple[EdgeRow, ...] | None = absent()  # it is a field()
    uncalled: tuple[UncalledRow, ...] = ()
    parameters: tuple[ParameterRow, ...] = ()
    buffers: tuple[BufferRow, ...] = ()
    existing_hooks: tuple[ExistingHook, ...] | None = absent()  # it is a field()
    events: tuple[EventRow, ...] | Streamed = ()
    measurements: tuple[Measurement, ...] = ()
    checks: tuple[CheckRow, ...] = ()
    distributed: Distributed | None = None
    memory: Memory | None = absent()  # noqa: RUF009  # it is a field()
    training: TrainingInfo | None = absent()  # noqa: RUF009  # it is a field()
    diagnoses: tuple[Diagnosis, ...] | None = absent()  # it is a field()
    examined: tuple[str, ...] | None = absent()  # it is a field()
    unexamined: tuple[Unexamined, ...] | None = absent()  # it is a field()
    warnings: tuple[str, ...] = ()
    error: ErrorInfo | None = None
