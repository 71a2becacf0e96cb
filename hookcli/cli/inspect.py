"""`hookcli inspect`: every module's forward, observed."""

from __future__ import annotations

from typing import Annotated

import typer

from hookcli.cli import options
from hookcli.cli.options import near, parse_columns, reporting, watch_stdout
from hookcli.cli.output import deliver, load_renderers, parse_targets
from hookcli.config.spec import Mode, ModelSpec, RunSpec, Spec, TensorsOption
from hookcli.console import Console
from hookcli.errors import RequestError, Status
from hookcli.inputs.grammar import (
    FLOATING,
    FileSpec,
    FunctionSpec,
    InputSpec,
    canonical_dtype,
    parse_inputs,
)
from hookcli.models.kinds import parse_source

_MOST = 1e9  # seconds or gigabytes
_DEVICES = ("cpu", "cuda", "mps", "xpu")


def inspect(
    model: Annotated[
        str, typer.Argument(metavar="MODEL", help="path.py, path.py:Net or package.module:Net.")
    ],
    arg: Annotated[
        list[str] | None,
        typer.Option("--arg", metavar="[K=]V", help="A constructor argument, as YAML; repeat."),
    ] = None,
    weights: Annotated[
        str | None,
        typer.Option("--weights", metavar="FILE", help="A state dict: .safetensors, .pt."),
    ] = None,
    inputs: Annotated[
        list[str] | None,
        typer.Option(
            "-i",
            "--input",
            metavar="SPEC",
            help="2x3x224x224, 2x16:int64:0..50257, name=SPEC, value:true, batch.pt, "
            "batch.py:function; repeat for several arguments.",
        ),
    ] = None,
    batch_size: Annotated[
        int, typer.Option("--batch-size", min=1, metavar="N", help="Samples in an inferred batch.")
    ] = 2,
    device: Annotated[str, typer.Option("--device", help="Where to run.")] = "cpu",
    dtype: Annotated[
        str | None, typer.Option("--dtype", help="Cast the model to a floating dtype.")
    ] = None,
    tensors: Annotated[
        TensorsOption,
        typer.Option("--tensors", help="fake: shapes without numbers; auto: real where it fails."),
    ] = "auto",
    mode: Annotated[Mode, typer.Option("--mode", help="The mode to run in.")] = "eval",
    seed: Annotated[
        int, typer.Option("--seed", min=0, max=2**63 - 1, help="Of torch, random and numpy.")
    ] = 0,
    no_grad: Annotated[bool, typer.Option("--no-grad", help="Run without autograd.")] = False,
    timeout: Annotated[
        float, typer.Option("--timeout", metavar="S", help="Seconds for the whole command.")
    ] = 600.0,
    max_memory: Annotated[
        float | None,
        typer.Option("--max-memory", metavar="GB", help="Most memory of the model's processes."),
    ] = None,
    depth: options.Depth = None,
    only: options.Only = None,
    columns: options.Columns = None,
    sort: options.Sort = None,
    formats: options.Formats = None,
    output: options.Output = None,
    quiet: options.Quiet = False,
    verbose: options.Verbose = False,
    color: options.Color = "auto",
) -> int:
    """Show every layer: shapes, parameters, order, who called whom.

    The model is built and run once, forward only, in a process of its own.
    """
    console = Console(color=color, quiet=quiet, verbose=verbose)

    def command() -> int:
        from hookcli.config.arguments import parse_arguments

        specs = parse_inputs(tuple(inputs or ()))
        targets = parse_targets(formats, output, read=_read(model, weights, specs))
        shown = parse_columns(columns)
        parse_source(model)
        spec = Spec(
            command="inspect",
            model=ModelSpec(model, parse_arguments(tuple(arg or ())), weights),
            inputs=specs,
            run=RunSpec(
                tensors=tensors,
                mode=mode,
                device=_device(device),
                dtype=_dtype(dtype),
                seed=seed,
                batch_size=batch_size,
                grad=not no_grad,
                timeout=_positive(timeout, "--timeout"),
                max_memory=None
                if max_memory is None
                else int(_positive(max_memory, "--max-memory") * 1e9),
            ),
        )
        from hookcli.worker.fallback import run

        to_stdout = any(target.file is None for target in targets)
        with console.fenced():
            ran = run(spec, watch_stdout if to_stdout else lambda: None, load_renderers)
        report = ran.report
        if verbose:
            for line in ran.trials:
                console.note(line)
        from hookcli.formats.view import View

        view = View(
            width=console.width(),
            unicode=console.unicode(),
            color=console.colored(),
            depth=depth,
            only=only,
            columns=shown,
            sort=sort,
        )
        deliver(report, targets, view, console)
        if report.error is None:
            return Status.FINE
        from hookcli.cli.failure import run_error

        error = run_error(report)
        console.error(error)
        return error.status

    return reporting(console, command)


def _read(model: str, weights: str | None, inputs: tuple[InputSpec, ...]) -> list[str]:
    """The files that a run reads."""
    found = [model, model.rpartition(":")[0], weights or ""]
    found += [one.spec.path for one in inputs if isinstance(one.spec, FileSpec)]
    found += [one.spec.source for one in inputs if isinstance(one.spec, FunctionSpec)]
    return [name for name in found if name]


def _positive(value: float, flag: str) -> float:
    if not 0 < value <= _MOST:
        raise RequestError(
            f"{flag} must be above 0 and at most {_MOST:g}",
            place=f"{flag} {value:g}",
            hint=f"write {flag} 60",
        )
    return value


def _device(text: str) -> str:
    kind, _, index = text.partition(":")
    if kind not in _DEVICES or (index and not index.isdigit()):
        guess = near(kind, _DEVICES)
        raise RequestError(
            f"'{text}' is no device",
            place=f"--device {text}",
            hint=f"did you mean {guess}?"
            if guess
            else f"devices are {', '.join(_DEVICES)}, cuda:1",
        )
    return text


def _dtype(text: str | None) -> str | None:
    if text is None:
        return None
    found = canonical_dtype(text)
    if found not in FLOATING:
        guess = near(text, FLOATING)
        raise RequestError(
            f"'{text}' is no floating dtype",
            place=f"--dtype {text}",
            hint=f"did you mean {guess}?" if guess else "dtypes are float32, float16, bfloat16",
        )
    return found
