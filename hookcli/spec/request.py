"""The whole request as plain data. The command line creates it, and the worker executes it."""

from __future__ import annotations

import os
import re
import shlex
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from hookcli.errors import RequestError
from hookcli.spec.checks import CheckSpec, ProbeRequest, Suppression
from hookcli.spec.compared.compiled import CompiledRun
from hookcli.spec.compared.parallel import ParallelRun
from hookcli.spec.hooks import BackwardSpec, HookSpec, OptimizerSpec, PackagePattern
from hookcli.spec.inferred import Hypothesis
from hookcli.spec.inputs import InputSpec
from hookcli.spec.what_if import WhatIf

Mode: TypeAlias = Literal["train", "eval", "as-is"]
TensorsOption: TypeAlias = Literal["auto", "fake", "real"]
Command: TypeAlias = Literal["inspect", "grads", "trace", "check"]
CompiledLayers: TypeAlias = Literal["layers", "statistics"]
DEVICES = ("cpu", "cuda", "mps", "xpu")
_INDEX = re.compile("[0-9]{1,3}")  # of a device: torch stores it in 8 bits
MOST = 1e9  # seconds of a timeout, gigabytes of memory


def is_device(text: str) -> bool:
    """Return whether a string is a name of a device, such as "cuda:1". It may not be available."""
    kind, colon, index = text.partition(":")
    return kind in DEVICES and (not colon or _INDEX.fullmatch(index) is not None)


@dataclass(frozen=True, slots=True)
class Argument:
    """One constructor argument: positional if `name` is None. `text` is as it was typed.

    `origin` is its place in a configuration: "hooks.yaml:3: model.args.depth".
    """

    name: str | None
    value: Any
    text: str
    origin: str = ""

    @property
    def place(self) -> str:
        """The place for errors."""
        return self.origin or f"--arg {self.text}"


@dataclass(frozen=True, slots=True)
class ModelSpec:
    """The model: its source, its constructor arguments, its weights.

    With `trust`, files that run code when they are opened may be opened. `argv` are the arguments
    in `sys.argv` while the source is imported and run. `method` is the method that runs in place of
    `forward`.
    """

    source: str
    args: tuple[Argument, ...] = ()
    weights: str | None = None
    trust: bool = False
    argv: tuple[str, ...] = ()
    method: str | None = None


Parallel: TypeAlias = Literal["ddp", "fsdp"]


@dataclass(frozen=True, slots=True)
class DistributedSpec:
    """The number of local ranks, and what wraps the model. The names are torch's own.

    None means torch's default; for `find_unused_parameters` it depends on the graphs of the ranks.
    `wrap` contains globs of the modules that FSDP shards one by one; by default those in a
    ModuleList.
    """

    nproc: int = 1
    parallel: Parallel = "ddp"
    backend: str | None = None
    bucket_cap_mb: float | None = None
    find_unused_parameters: bool | None = None
    static_graph: bool = False
    gradient_as_bucket_view: bool = False
    broadcast_buffers: bool = True
    wrap: tuple[str, ...] = ()
    reshard_after_forward: bool | None = None
    place: str = field(default="--nproc", compare=False)  # for errors


@dataclass(frozen=True, slots=True)
class Rank:
    """One of the processes that run a model together.

    `store` is the path of the file through which local ranks connect; None for ranks of torchrun,
    which has set the environment. `local` is the number on this machine. `timeout` is in seconds.
    """

    number: int
    world: int
    local: int
    local_world: int
    store: str | None
    timeout: float


@dataclass(frozen=True, slots=True)
class Interpreter:
    """The Python that runs the model.

    `path` is an absolute path once the interpreter has been found, and what the user typed before.
    `source` tells what named it: "--python", "HOOKCLI_PYTHON", "run.python", "VIRTUAL_ENV",
    "CONDA_PREFIX" or ".venv"; "own" is the interpreter that hookcli itself runs in. `place` is for
    errors.
    """

    path: str
    source: str
    place: str = field(compare=False)


@dataclass(frozen=True, slots=True)
class RunSpec:
    """How to run a model. `timeout` is for the whole command in seconds, `max_memory` in bytes."""

    tensors: TensorsOption = "auto"
    mode: Mode | None = None  # None: the command's own
    device: str = "cpu"
    dtype: str | None = None
    seed: int = 0
    batch_size: int = 2  # of an inferred batch
    grad: bool = True
    timeout: float = 600.0
    max_memory: int | None = None
    loss: str = "probe"  # see hookcli.spec.losses
    targets: tuple[InputSpec, ...] = ()  # the parts of the target
    steps: int = 1
    optimizer: OptimizerSpec | None = None
    backward: BackwardSpec = field(default_factory=BackwardSpec)
    flops: bool = False  # count them even if the command does not do so by default
    verify_neutral: bool = False
    per_sample: bool = False  # measure the loss and the gradient of each sample
    memory: bool = False  # measure the memory of each call and of training
    what_if: tuple[WhatIf, ...] = ()  # training steps whose memory is asked for
    distributed: DistributedSpec | None = None
    rank: int = 0  # added to the seed of inputs
    package: tuple[PackagePattern, ...] = ()
    python: Interpreter | None = None  # None: the run is in this process
    compiled: CompiledLayers | None = None  # run as torch.compile compiled it; None: eagerly


@dataclass(frozen=True, slots=True)
class WeightPart:
    """A tensor of a model, transposed if `turned`, and of that the rows from start to stop."""

    name: str
    turned: bool = False
    rows: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class MadeTensor:
    """A tensor of a model, and those of another that make it, joined along their first dimension.

    What they make is transposed if `turned`. The result has the shape of the target, in which its
    elements stay in their order.
    """

    target: str
    parts: tuple[WeightPart, ...]
    turned: bool = False


@dataclass(frozen=True, slots=True)
class SideSpec:
    """One of two runs that are compared. They exchange the batch and weights in `folder`.

    With `weights`, the weights of the first side are loaded into the second. `keep` lists calls by
    their order; their tensors are stored in `folder` too, and nothing is measured. The second side
    then compares them. With `ordered`, a run is repeated with the same batch, and its sketches tell
    equal values in another order. `made` tells what tensors of the first side make those of the
    second, if not those of equal names.
    """

    name: Literal["a", "b"]
    folder: str
    weights: bool
    keep: tuple[int, ...] = ()
    ordered: bool = False
    made: tuple[MadeTensor, ...] | None = None


@dataclass(frozen=True, slots=True)
class Terminal:
    """The user's terminal, for actions in another process that ask the user: two descriptors.

    `screen` is that of the terminal. `prompt` is that of a file whose first byte is 1 while an
    action asks.
    """

    screen: int
    prompt: int

    def asks(self) -> bool:
        """Return whether a debugger waits for a command, or executes one."""
        return os.pread(self.prompt, 1, 0) == b"\1"


@dataclass(frozen=True, slots=True)
class Spec:
    """One request."""

    command: Command
    model: ModelSpec
    inputs: tuple[InputSpec, ...] = ()
    run: RunSpec = field(default_factory=RunSpec)
    hooks: tuple[HookSpec, ...] = ()  # those of the configuration, then the preset's
    libraries: tuple[str, ...] = ()  # absolute paths of compiled operators
    stream: str | None = None  # a file that events are written to as they happen
    timings: bool = False  # record the time of each event and each call
    checks: tuple[CheckSpec, ...] = ()
    suppressions: tuple[Suppression, ...] = ()
    probes: tuple[ProbeRequest, ...] = ()  # what the checks need of the run
    side: SideSpec | None = None  # this run is one of two that are compared
    parallel: ParallelRun | None = None  # this process compares a plan with the model itself
    compiled: CompiledRun | None = None  # this process compares a compiled model with the eager one
    data_only: bool = False  # of unknown origin: write only below the working folder
    terminal: Terminal | None = None  # the worker's parent sets it if an action asks the user


@dataclass(frozen=True, slots=True)
class Attempt:
    """One attempt at a request, in its own process.

    `fallback` tells why an earlier attempt with fake tensors was discarded. `declaration` names the
    declared batch that it chose, and `inferred` is the batch that it inferred. With `for_batch`, a
    fake run only infers a batch. With `meta_import`, the model's file is imported on the meta
    device.
    """

    tensors: Literal["fake", "real"]
    fallback: str | None = None
    declaration: str | None = None
    inferred: Hypothesis | None = None
    for_batch: bool = False
    meta_import: bool = False
    rank: Rank | None = None  # one of several that run together


def parse_argv(text: str, place: str) -> tuple[str, ...]:
    """Split arguments as a POSIX shell does: `--lr 0.1 --name 'a b'`.

    Raises
    ------
    RequestError : a quotation is not closed, or the text ends in a backslash.
    """
    try:
        return tuple(shlex.split(text))
    except ValueError as error:
        raise RequestError(
            f"cannot split the arguments of the script: {str(error).lower()}",
            place=place,
            hint="close each quotation, as in `--argv \"--name 'a b'\"`",
        ) from None


def parse_method(text: str, place: str) -> str:
    """Return the name of a method.

    Raises
    ------
    RequestError : it is not a name.
    """
    if text.isidentifier():
        return text
    raise RequestError(
        f"method must be the name of a method, got '{text}'",
        place=place,
        hint="pass a name, as in `--method encode`",
    )


def script_argv(model: ModelSpec) -> list[str]:
    """Return `sys.argv` as `python FILE ARGS` has it: the file without `:Net`, the arguments."""
    source = model.source
    file, colon, _ = source.rpartition(":")
    return [file if colon and file.endswith(".py") else source, *model.argv]
