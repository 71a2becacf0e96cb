"""The whole request as plain data. The command line makes it; the worker carries it out."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from hookcli.spec.checks import CheckSpec, Suppression
from hookcli.spec.hooks import BackwardSpec, HookSpec, OptimizerSpec, PackagePattern
from hookcli.spec.inferred import Hypothesis
from hookcli.spec.inputs import InputSpec

Mode: TypeAlias = Literal["train", "eval", "as-is"]
TensorsOption: TypeAlias = Literal["auto", "fake", "real"]
Command: TypeAlias = Literal["inspect", "grads", "trace", "check"]
DEVICES = ("cpu", "cuda", "mps", "xpu")
_INDEX = re.compile("[0-9]{1,3}")  # of a device: torch's are of 8 bits
MOST = 1e9  # seconds of a timeout, gigabytes of memory
LOSSES = ("probe", "sum", "mean")  # beside output:PATH and functions
LOSS_HINT = "write probe, sum, mean, output:PATH or file.py:function"


def is_device(text: str) -> bool:
    """Whether a text names a device as torch does: "cpu", "cuda:1"; it may not be there."""
    kind, colon, index = text.partition(":")
    return kind in DEVICES and (not colon or _INDEX.fullmatch(index) is not None)


@dataclass(frozen=True, slots=True)
class Argument:
    """One constructor argument: positional where `name` is None. `text` is as it was typed.

    `origin` is where a configuration gives it: "hooks.yaml:3: model.args.depth".
    """

    name: str | None
    value: Any
    text: str
    origin: str = ""

    @property
    def place(self) -> str:
        """Where it was given, for errors."""
        return self.origin or f"--arg {self.text}"


@dataclass(frozen=True, slots=True)
class ModelSpec:
    """Which model: where it stands, what its constructor gets, which weights it takes.

    With `trust` a file that runs code when it is opened may be.
    """

    source: str
    args: tuple[Argument, ...] = ()
    weights: str | None = None
    trust: bool = False


Parallel: TypeAlias = Literal["ddp", "fsdp"]


@dataclass(frozen=True, slots=True)
class DistributedSpec:
    """How many local ranks, and what wraps the model. The names are torch's own.

    None leaves torch's default, of `find_unused_parameters` what the ranks' own graphs say. `wrap`
    are globs of the modules that FSDP shards one by one; without any, those in a ModuleList.
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

    `store` is the path of a file through which local ranks meet; None for those of torchrun, which
    has set the environment. `local` counts on this machine. `timeout` is in seconds.
    """

    number: int
    world: int
    local: int
    local_world: int
    store: str | None
    timeout: float


@dataclass(frozen=True, slots=True)
class RunSpec:
    """How to run it. `timeout` is in seconds for the whole command, `max_memory` in bytes."""

    tensors: TensorsOption = "auto"
    mode: Mode | None = None  # None: the command's own
    device: str = "cpu"
    dtype: str | None = None
    seed: int = 0
    batch_size: int = 2  # of an inferred batch
    grad: bool = True
    timeout: float = 600.0
    max_memory: int | None = None
    loss: str = "probe"  # sum, mean, output:PATH, file.py:function
    steps: int = 1
    optimizer: OptimizerSpec | None = None
    backward: BackwardSpec = field(default_factory=BackwardSpec)
    flops: bool = False  # count where the command does not by itself
    verify_neutral: bool = False
    distributed: DistributedSpec | None = None
    rank: int = 0  # added to the seed where inputs are made
    package: tuple[PackagePattern, ...] = ()


@dataclass(frozen=True, slots=True)
class SideSpec:
    """One of two runs that are compared. They exchange the batch and weights in `folder`.

    With `weights` the one side's go into the other. Of the calls in `keep`, by their order, the
    tensors are kept there too, and nothing is measured; the second side then compares them.
    """

    name: Literal["a", "b"]
    folder: str
    weights: bool
    keep: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Terminal:
    """The user's terminal, for actions that ask there in another process: two descriptors.

    `screen` is the terminal's; `prompt` that of a file whose first byte is 1 while one asks.
    """

    screen: int
    prompt: int

    def asks(self) -> bool:
        """Whether a debugger waits for a command there, or carries one out."""
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
    timings: bool = False  # note when each event and each call happened
    checks: tuple[CheckSpec, ...] = ()
    suppressions: tuple[Suppression, ...] = ()
    probes: tuple[str, ...] = ()  # what the checks need of the run
    side: SideSpec | None = None  # this run is one of two that are compared
    data_only: bool = False  # a stranger wrote the configuration: it writes below the start alone
    terminal: Terminal | None = None  # the worker's parent sets it, where an action asks there


@dataclass(frozen=True, slots=True)
class Attempt:
    """One try at a request, in a process of its own.

    `fallback` says why an earlier, fake one did not count; `declaration` names the declared batch
    that it settled on, `inferred` the batch that it inferred. With `for_batch` a fake run is there
    only to infer one; with `meta_import` the model's file is imported on the meta device.
    """

    tensors: Literal["fake", "real"]
    fallback: str | None = None
    declaration: str | None = None
    inferred: Hypothesis | None = None
    for_batch: bool = False
    meta_import: bool = False
    rank: Rank | None = None  # one of several that run together
