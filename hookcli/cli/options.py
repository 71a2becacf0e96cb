"""The flags that several commands have, once: what typer reads of them.

None is "not given": the configuration decides then, and the default that the help tells last.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

import typer

from hookcli.catalogue.kind import Phase as PhaseName
from hookcli.console import ColorOption
from hookcli.formats.names import columns_of
from hookcli.formats.registry import FORMATS
from hookcli.rules.verdict import FailOn as FailOnLevel
from hookcli.spec.request import Mode as ModeName, Parallel as ParallelName, TensorsOption


def _help(text: str, default: str) -> str:
    """A flag's help, where typer cannot know the default: it is None here."""
    return f"{text}  [default: {default}]"


# What rows can be sorted by, as hookcli.formats.names.sorts_of has it.
LayerSort: TypeAlias = Literal["order", "params", "own", "macs", "flops"]
GradSort: TypeAlias = Literal["order", "name", "norm", "ratio", "status", "params"]
EventSort: TypeAlias = Literal["order", "changed"]
AnySort: TypeAlias = Literal[LayerSort, GradSort, EventSort]

# What to run
Model = Annotated[
    str | None,
    typer.Argument(
        metavar="MODEL",
        help=_help("path.py, path.py:Net, package.module:Net or a file.pt.", "the configuration's"),
    ),
]
Config = Annotated[
    str | None,
    typer.Option("-c", "--config", metavar="FILE", help="A configuration; flags override it."),
]
Arguments = Annotated[
    list[str] | None,
    typer.Option("--arg", metavar="[K=]V", help="A constructor argument, as YAML; repeat."),
]
Weights = Annotated[
    str | None,
    typer.Option("--weights", metavar="FILE", help="A state dict: .safetensors, .pt."),
]
Trust = Annotated[
    bool,
    typer.Option(
        "--trust", help="Open a file that can run code: a package, a pickled module, some .pt2."
    ),
]
DataOnly = Annotated[
    bool,
    typer.Option(
        "--data-only",
        help="Refuse a configuration that names code of its own or writes outside this folder.",
    ),
]
Inputs = Annotated[
    list[str] | None,
    typer.Option(
        "-i",
        "--input",
        metavar="SPEC",
        help="2x3x224x224, 2x16:int64:0..50257, name=SPEC, value:true, batch.pt, "
        "batch.py:function; repeat for several arguments.",
    ),
]
BatchSize = Annotated[
    int | None,
    typer.Option(
        "--batch-size", min=1, metavar="N", help=_help("Samples in an inferred batch.", "2")
    ),
]
Device = Annotated[str | None, typer.Option("--device", help=_help("Where to run.", "cpu"))]
Dtype = Annotated[str | None, typer.Option("--dtype", help="Cast the model to a floating dtype.")]

# How to run it
Tensors = Annotated[
    TensorsOption | None,
    typer.Option(
        "--tensors",
        help=_help("fake: shapes without numbers; auto: real where it fails.", "auto"),
    ),
]
EvalMode = Annotated[
    ModeName | None, typer.Option("--mode", help=_help("The mode to run in.", "eval"))
]
AnyMode = Annotated[
    ModeName | None,
    typer.Option(
        "--mode", help=_help("The mode to run in.", "train where it goes backward, else eval")
    ),
]
TrainMode = Annotated[
    ModeName | None, typer.Option("--mode", help=_help("The mode to run in.", "train"))
]
Seed = Annotated[
    int | None,
    typer.Option("--seed", min=0, max=2**63 - 1, help=_help("Of torch, random and numpy.", "0")),
]
Loss = Annotated[
    str | None,
    typer.Option(
        "--loss",
        metavar="L",
        help=_help(
            "What to go backward from: probe, sum, mean, output:PATH, file.py:function.",
            "probe, or the output named loss",
        ),
    ),
]
Steps = Annotated[
    int | None,
    typer.Option(
        "--steps",
        min=1,
        metavar="N",
        help=_help("Forwards, backwards and optimizer steps (SGD, or run.optimizer).", "1"),
    ),
]
NoGrad = Annotated[bool | None, typer.Option("--no-grad", help="Run without autograd.")]
Timeout = Annotated[
    float | None,
    typer.Option("--timeout", metavar="S", help=_help("Seconds for the whole command.", "600")),
]
MaxMemory = Annotated[
    float | None,
    typer.Option("--max-memory", metavar="GB", help="Most memory of the model's processes."),
]
Flops = Annotated[bool | None, typer.Option("--flops", help="Count the operators' cost.")]
VerifyNeutral = Annotated[
    bool | None,
    typer.Option("--verify-neutral", help="Run without hooks too, and compare bit by bit."),
]
Nproc = Annotated[
    int | None,
    typer.Option(
        "--nproc",
        min=1,
        max=1024,
        metavar="N",
        help=_help("Local ranks that run the model together.", "1"),
    ),
]
Parallel = Annotated[
    ParallelName | None,
    typer.Option(
        "--parallel",
        help=_help("What wraps the model: DistributedDataParallel, or FSDP2.", "ddp"),
    ),
]
FailOn = Annotated[
    FailOnLevel | None,
    typer.Option("--fail-on", help=_help("The findings that make the status 1.", "never")),
]
CheckFailOn = Annotated[
    FailOnLevel | None,
    typer.Option("--fail-on", help=_help("The findings that make the status 1.", "error")),
]

# What to trace
Kinds = Annotated[
    str | None,
    typer.Option("--kinds", metavar="K,K|all", help="Hook kinds: see hookcli list hooks."),
]
Stream = Annotated[
    str | None,
    typer.Option("--stream", metavar="FILE", help="Write events there as they happen."),
]

# What to show
ShownKinds = Annotated[
    str | None,
    typer.Option("--kinds", metavar="K,K|all", help="Show only events of these kinds of hooks."),
]
Phase = Annotated[PhaseName | None, typer.Option("--phase", help="Show only events of this phase.")]
Depth = Annotated[
    int | None, typer.Option("--depth", min=0, metavar="N", help="Show calls down to this depth.")
]
Only = Annotated[
    str | None,
    typer.Option("--only", metavar="GLOB", help="Show only modules whose name matches."),
]


def _columns(command: str) -> Any:
    return typer.Option(
        "--columns", metavar="A,B", help=f"Columns: {', '.join(columns_of(command))}."
    )


Columns = Annotated[str | None, _columns("inspect")]
GradColumns = Annotated[str | None, _columns("grads")]
EventColumns = Annotated[str | None, _columns("trace")]
AnyColumns = Annotated[
    str | None,
    typer.Option("--columns", metavar="A,B", help="Columns, those of the command that ran."),
]

_LARGEST = "Show rows by themselves, the largest first."
Sort = Annotated[LayerSort | None, typer.Option("--sort", help=_LARGEST)]
GradSorted = Annotated[GradSort | None, typer.Option("--sort", help="How to order the rows.")]
EventSorted = Annotated[EventSort | None, typer.Option("--sort", help="How to order the rows.")]
AnySorted = Annotated[
    AnySort | None, typer.Option("--sort", help="As the command that ran has it.")
]

# Where to
Formats = Annotated[
    list[str] | None,
    typer.Option(
        "-f",
        "--format",
        metavar="FORMAT[=FILE]",
        help=f"{', '.join(FORMATS)}; may be repeated, with files.",
    ),
]
Output = Annotated[
    str | None,
    typer.Option("-o", "--output", metavar="FILE", help="Write the single format to this file."),
]
Quiet = Annotated[bool, typer.Option("-q", "--quiet", help="No notes on stderr.")]
Verbose = Annotated[bool, typer.Option("-v", "--verbose", help="Add tracebacks to errors.")]
Color = Annotated[
    ColorOption, typer.Option("--color", help="Colour: auto is on a terminal without NO_COLOR.")
]
