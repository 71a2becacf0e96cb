"""The option table: each option of the commands is a field of a group of flags.

If the help names a default, None means "not given": the configuration decides then. A command has
an option if it has the option's group and does not list the option in `lacks`.
"""

# ruff: noqa: RUF009  # option() makes a field of a dataclass, as dataclasses.field() does

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from hookcli.catalogue.kind import Phase
from hookcli.cli.flags import completions, values as flag_values
from hookcli.cli.flags.signatures import (
    Variation,
    changes,
    option,
    run_input,
    run_option,
    run_options,
)
from hookcli.cli.flags.values import parse_python
from hookcli.console import ColorOption, Console
from hookcli.formats.names import columns_of, common, sorts_of
from hookcli.formats.registry import FORMATS, SUFFIXES
from hookcli.rules.verdict import FailOn
from hookcli.spec.request import CompiledLayers, Mode, Parallel, TensorsOption


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFlags:
    """The model and its batch."""

    model: str | None = option(
        text="A model: path.py, path.py:Net, package.module:Net, file.pt, hf:FOLDER, timm:NAME.",
        metavar="MODEL",
        default="the model of --config",
        complete=completions.models,
    )
    config: str | None = option(
        "-c",
        "--config",
        metavar="FILE",
        text="Read the configuration from FILE; flags override it.",
        section="Model",
    )
    arg: tuple[str, ...] = option(
        "--arg",
        metavar="[K=]V",
        text="Pass an argument to the model's constructor. V is YAML; repeatable.",
        section="Model",
        unset=(),
    )
    argv: str | None = option(
        "--argv",
        metavar="ARGS",
        text="Arguments of the script that defines the model, in one string: its sys.argv while it "
        "is imported.",
        section="Model",
    )
    method: str | None = option(
        "--method",
        metavar="NAME",
        text="Run this method of the model in place of forward, such as encode.",
        section="Model",
    )
    weights: str | None = option(
        "--weights",
        metavar="FILE",
        text="Load a state dict: a .safetensors or .pt file, an index, or a folder with one.",
        section="Model",
    )
    trust: bool = option(
        "--trust",
        text="Open a model file even if that can run code: a torch.package archive, a pickled "
        "module, some .pt2.",
        section="Model",
        unset=False,
    )
    data_only: bool = option(
        "--data-only",
        text="Refuse a configuration that names its own code or writes outside the current folder.",
        section="Model",
        unset=False,
    )
    python: str | None = run_option("python", parse=parse_python)
    inputs: tuple[str, ...] = option(
        "-i",
        "--input",
        metavar="SPEC",
        text="One input of the model: 2x3x224x224, 2x16:int64:0..50257, name=SPEC, value:true, "
        "{key: SPEC}, batch.pt, or data.py:NAME (a function or a DataLoader); repeatable.",
        section="Batch",
        unset=(),
    )
    batch_size: int | None = run_option("batch_size")
    device: str | None = run_option("device", complete=completions.devices)
    dtype: str | None = run_option("dtype", complete=completions.dtypes)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFlags:
    """How the model runs."""

    tensors: TensorsOption | None = run_option("tensors")
    mode: Mode | None = run_option("mode")
    seed: int | None = run_option("seed")
    loss: str | None = run_option("loss", complete=completions.losses)
    targets: tuple[str, ...] = run_input(
        "--target",
        metavar="SPEC",
        text="The target of the loss, in the form of --input: 2:int64:0..10, name=SPEC, "
        "targets.pt or data.py:function; repeatable.",
        section="Batch",
        unset=(),
        parse=flag_values.targets,
    )
    steps: int | None = run_option("steps")
    no_grad: bool | None = run_option("no_grad")


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitFlags:
    """Limits of time and memory."""

    timeout: float | None = run_option("timeout")
    max_memory: float | None = run_option("max_memory")


@dataclass(frozen=True, slots=True, kw_only=True)
class HookFlags:
    """Which hooks to attach."""

    kinds: str | None = option(
        "--kinds",
        metavar="K,K|all",
        text="Kinds of hooks to attach; `hookcli list hooks` lists them.",
        section="Hooks",
        complete=completions.kinds,
    )
    stream: str | None = option(
        "--stream",
        metavar="FILE",
        text="Write each event to FILE when it happens, as a line of JSON.",
        section="Output",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class CostFlags:
    """Additional measurements, which take time."""

    flops: bool | None = run_option("flops")
    verify_neutral: bool | None = run_option("verify_neutral")


@dataclass(frozen=True, slots=True, kw_only=True)
class CompilerFlags:
    """A model that runs compiled."""

    compiled: CompiledLayers | None = run_option("compiled")


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleFlags:
    """The samples of the batch."""

    per_sample: bool | None = run_option("per_sample")


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryFlags:
    """The memory of layers and of training."""

    memory: bool | None = run_option("memory")
    what_if: tuple[str, ...] = run_option("what_if", complete=completions.what_ifs)


@dataclass(frozen=True, slots=True, kw_only=True)
class RankFlags:
    """The ranks of a distributed run."""

    nproc: int | None = option(
        "--nproc",
        least=1,
        most=1024,
        metavar="N",
        text="Number of local ranks that run the model together.",
        section="Distributed",
        default="1",
    )
    parallel: Parallel | None = option(
        "--parallel",
        text="Wrapper of the model: DistributedDataParallel or FSDP2.",
        section="Distributed",
        default="ddp",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class GateFlags:
    """Which findings make the command fail."""

    fail_on: FailOn | None = option(
        "--fail-on",
        text="Exit with status 1 if there is a finding of this severity or above.",
        section="Checks",
        default="never",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestFlags:
    """All flags of a command that runs a model, except those of its output."""

    model: ModelFlags = field(default_factory=ModelFlags)
    run: RunFlags = field(default_factory=RunFlags)
    limits: LimitFlags = field(default_factory=LimitFlags)
    hooks: HookFlags = field(default_factory=HookFlags)
    cost: CostFlags = field(default_factory=CostFlags)
    compiler: CompilerFlags = field(default_factory=CompilerFlags)
    samples: SampleFlags = field(default_factory=SampleFlags)
    memory: MemoryFlags = field(default_factory=MemoryFlags)
    ranks: RankFlags = field(default_factory=RankFlags)
    gate: GateFlags = field(default_factory=GateFlags)

    def run_fields(self) -> dict[str, Any]:
        """Return the fields of RunSpec that the flags set.

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
    """Which rows to show, and how."""

    phase: Phase | None = option(
        "--phase", text="Show only events of this phase.", section="Output"
    )
    depth: int | None = option(
        "--depth",
        least=0,
        metavar="N",
        text="Show modules down to this depth.",
        section="Output",
    )
    only: str | None = option(
        "--only",
        metavar="GLOB",
        text="Show only modules whose name matches GLOB.",
        section="Output",
    )
    columns: str | None = option(
        "--columns",
        metavar="A,B",
        text="Columns to show; see --help of the command that wrote the report.",
        section="Output",
        complete=completions.columns(None),
    )
    sort: str | None = option(
        "--sort",
        metavar="[-]KEY",
        text="Order of the rows; see --help of the command that wrote the report.",
        section="Output",
        complete=completions.sorts(None),
    )


def rows_of(command: str, *, sort: str = "Order of the rows.") -> Variation:
    """Return the variation for the columns and sorts of a command; `sort` is the help of --sort."""
    columns, sorts = common(columns_of(command)), common(sorts_of(command))
    more = "" if columns == tuple(columns_of(command)) else " `hookcli explain columns` lists all."
    return changes(
        "columns",
        text=f"Columns to show: {', '.join(columns)}.{more}",
        complete=completions.columns(command),
    ) | changes(
        "sort",
        text=f"{sort} KEY is one of {', '.join(sorts)}; -KEY reverses the order.",
        complete=completions.sorts(command),
    )


def _formats_text(names: Iterable[str]) -> str:
    return f"Output format: {', '.join(names)}; repeatable if each has a FILE."


def output_text(names: Iterable[str], default: str = "") -> str:
    """Return the help of -o of a command that has these formats; `default` is of other suffixes."""
    suffixes = ", ".join(row.suffix for row in SUFFIXES.values() if row.name in names)
    rest = f", others mean {default}" if default else ""
    return f"Write the report to FILE. Without -f a suffix chooses the format: {suffixes}{rest}."


def only_formats(names: Iterable[str]) -> Variation:
    """Return the variation for a command that has only these formats."""
    names = tuple(names)
    formats = changes("formats", text=_formats_text(names), complete=completions.formats(names))
    return formats | changes("output", text=output_text(names))


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputFlags:
    """In which formats to write, and where."""

    formats: tuple[str, ...] = option(
        "-f",
        "--format",
        metavar="FORMAT[=FILE]",
        text=_formats_text(FORMATS),
        section="Output",
        unset=(),
        complete=completions.formats(FORMATS),
    )
    output: str | None = option(
        "-o",
        "--output",
        metavar="FILE",
        text=output_text(FORMATS),
        section="Output",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsoleFlags:
    """What is printed in addition to the report."""

    quiet: bool = option(
        "-q", "--quiet", text="Print no notes on stderr.", section="General", unset=False
    )
    verbose: bool = option(
        "-v", "--verbose", text="Print tracebacks with errors.", section="General", unset=False
    )
    color: ColorOption = option(
        "--color",
        text="Use colour. auto: on a terminal, unless NO_COLOR is set; FORCE_COLOR is respected.",
        section="General",
        unset="auto",
    )

    def console(self) -> Console:
        """Return the console for these flags."""
        return Console(color=self.color, quiet=self.quiet, verbose=self.verbose)


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchFlags:
    """Whether the command runs again when a file changes."""

    watch: bool = option(
        "--watch",
        text="Run again whenever the model's file or another file that the run read changes.",
        section="General",
        unset=False,
    )


def new_file() -> Any:
    """Return the option of a file that must not exist yet."""
    return option(
        "-o",
        "--output",
        metavar="FILE",
        text="Write to FILE, which must not exist, instead of stdout.",
        section="Output",
    )
