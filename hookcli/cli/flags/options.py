"""The option table: what may be given to the commands, a field of a group of flags each.

Where the help tells a default, None is "not given": the configuration decides then. An option
reaches the commands that have its group and do not say that they lack it.
"""

# ruff: noqa: RUF009  # option() makes a field of a dataclass, as dataclasses.field() does

from __future__ import annotations

import operator
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from hookcli.catalogue.kind import Phase
from hookcli.cli.flags import values as flag_values
from hookcli.cli.flags.signatures import Variation, changes, option, run_option, run_options
from hookcli.cli.flags.values import gigabytes, parse_device, parse_dtype, parse_loss, seconds
from hookcli.console import ColorOption, Console
from hookcli.formats.names import SORTS, columns_of, sorts_of
from hookcli.formats.registry import FORMATS
from hookcli.rules.verdict import FailOn
from hookcli.spec.request import Mode, Parallel, TensorsOption


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFlags:
    """What to run."""

    model: str | None = option(
        text="path.py, path.py:Net, package.module:Net or a file.pt.",
        metavar="MODEL",
        default="the configuration's",
    )
    config: str | None = option(
        "-c", "--config", metavar="FILE", text="A configuration; flags override it."
    )
    arg: tuple[str, ...] = option(
        "--arg", metavar="[K=]V", text="A constructor argument, as YAML; repeat.", unset=()
    )
    weights: str | None = option(
        "--weights", metavar="FILE", text="A state dict: .safetensors, .pt."
    )
    trust: bool = option(
        "--trust",
        text="Open a file that can run code: a package, a pickled module, some .pt2.",
        unset=False,
    )
    data_only: bool = option(
        "--data-only",
        text="Refuse a configuration that names code of its own or writes outside this folder.",
        unset=False,
    )
    inputs: tuple[str, ...] = option(
        "-i",
        "--input",
        metavar="SPEC",
        text="2x3x224x224, 2x16:int64:0..50257, name=SPEC, value:true, batch.pt, "
        "batch.py:function; repeat for several arguments.",
        unset=(),
    )
    batch_size: int | None = run_option(
        "--batch-size",
        least=1,
        metavar="N",
        text="Samples in an inferred batch.",
        default="2",
        parse=flag_values.batch_size,
    )
    device: str | None = run_option(
        "--device", text="Where to run.", default="cpu", parse=parse_device
    )
    dtype: str | None = run_option(
        "--dtype", text="Cast the model to a floating dtype.", parse=parse_dtype
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFlags:
    """How to run it."""

    tensors: TensorsOption | None = run_option(
        "--tensors",
        text="fake: shapes without numbers; auto: real where it fails.",
        default="auto",
    )
    mode: Mode | None = run_option("--mode", text="The mode to run in.")
    seed: int | None = run_option(
        "--seed", least=0, most=2**63 - 1, text="Of torch, random and numpy.", default="0"
    )
    loss: str | None = run_option(
        "--loss",
        metavar="L",
        text="What to go backward from: probe, sum, mean, output:PATH, file.py:function.",
        default="probe, or the output named loss",
        parse=parse_loss,
    )
    steps: int | None = run_option(
        "--steps",
        least=1,
        metavar="N",
        text="Forwards, backwards and optimizer steps (SGD, or run.optimizer).",
        default="1",
        parse=flag_values.steps,
    )
    no_grad: bool | None = run_option(
        "--no-grad", text="Run without autograd.", sets="grad", parse=operator.not_
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitFlags:
    """How long it may take, and how much memory."""

    timeout: float | None = run_option(
        "--timeout",
        metavar="S",
        text="Seconds for the whole command.",
        default="600",
        parse=seconds,
    )
    max_memory: float | None = run_option(
        "--max-memory",
        metavar="GB",
        text="Most memory of the model's processes.",
        parse=gigabytes,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class HookFlags:
    """What to trace."""

    kinds: str | None = option(
        "--kinds", metavar="K,K|all", text="Hook kinds: see hookcli list hooks."
    )
    stream: str | None = option(
        "--stream", metavar="FILE", text="Write events there as they happen."
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class CostFlags:
    """What to find out beside, at a cost."""

    flops: bool | None = run_option("--flops", text="Count the operators' cost.")
    verify_neutral: bool | None = run_option(
        "--verify-neutral", text="Run without hooks too, and compare bit by bit."
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class RankFlags:
    """How many processes run the model together, and what wraps it."""

    nproc: int | None = option(
        "--nproc",
        least=1,
        most=1024,
        metavar="N",
        text="Local ranks that run the model together.",
        default="1",
    )
    parallel: Parallel | None = option(
        "--parallel",
        text="What wraps the model: DistributedDataParallel, or FSDP2.",
        default="ddp",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class GateFlags:
    """What makes the command fail."""

    fail_on: FailOn | None = option(
        "--fail-on", text="The findings that make the status 1.", default="never"
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestFlags:
    """All flags of a command that runs a model, but for those of what is shown."""

    model: ModelFlags = field(default_factory=ModelFlags)
    run: RunFlags = field(default_factory=RunFlags)
    limits: LimitFlags = field(default_factory=LimitFlags)
    hooks: HookFlags = field(default_factory=HookFlags)
    cost: CostFlags = field(default_factory=CostFlags)
    ranks: RankFlags = field(default_factory=RankFlags)
    gate: GateFlags = field(default_factory=GateFlags)

    def run_fields(self) -> dict[str, Any]:
        """The fields of RunSpec that the flags set.

        Raises
        ------
        RequestError : a value is wrong; the place is the flag as it was typed.
        """
        return {
            target.name or name: value if target.parse is None else target.parse(value)
            for name, target, value in run_options(self)
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewFlags:
    """What to show."""

    phase: Phase | None = option("--phase", text="Show only events of this phase.")
    depth: int | None = option(
        "--depth", least=0, metavar="N", text="Show calls down to this depth."
    )
    only: str | None = option(
        "--only", metavar="GLOB", text="Show only modules whose name matches."
    )
    columns: str | None = option(
        "--columns", metavar="A,B", text="Columns, those of the command that ran."
    )
    sort: str | None = option("--sort", text="As the command that ran has it.", choices=SORTS)


def rows_of(command: str, *, sort: str) -> Variation:
    """The columns and the sorts of a command's own rows; `sort` is the help of --sort."""
    return changes("columns", text=f"Columns: {', '.join(columns_of(command))}.") | changes(
        "sort", text=sort, choices=sorts_of(command)
    )


def _formats_text(names: Iterable[str]) -> str:
    return f"{', '.join(names)}; may be repeated, with files."


def formats_of(names: Iterable[str]) -> Variation:
    """A command that has these formats only."""
    return changes("formats", text=_formats_text(names))


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputFlags:
    """Where to."""

    formats: tuple[str, ...] = option(
        "-f",
        "--format",
        metavar="FORMAT[=FILE]",
        text=_formats_text(FORMATS),
        unset=(),
    )
    output: str | None = option(
        "-o", "--output", metavar="FILE", text="Write the single format to this file."
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsoleFlags:
    """What is said beside."""

    quiet: bool = option("-q", "--quiet", text="No notes on stderr.", unset=False)
    verbose: bool = option("-v", "--verbose", text="Add tracebacks to errors.", unset=False)
    color: ColorOption = option(
        "--color", text="Colour: auto is on a terminal without NO_COLOR.", unset="auto"
    )

    def console(self) -> Console:
        """The console that they ask for."""
        return Console(color=self.color, quiet=self.quiet, verbose=self.verbose)


def new_file() -> Any:
    """The option of a file that is written only if it is not there yet."""
    return option("-o", "--output", metavar="FILE", text="Write it there; nothing is replaced.")
