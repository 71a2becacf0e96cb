"""`hookcli snapshot`: what a model is today, as checks that it passes."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hookcli.cli import options
from hookcli.cli.errors import reporting
from hookcli.cli.execute import report_status, run_in_worker
from hookcli.console import Console
from hookcli.errors import RequestError, Status

if TYPE_CHECKING:
    from hookcli.cli.output import Target
    from hookcli.report.report import Report
    from hookcli.snapshot.snapshot import Snapshot
    from hookcli.spec.request import Spec

# What a run may be asked and this command does not ask.
_UNASKED: dict[str, Any] = dict.fromkeys(("formats", "fail_on", "only", "columns", "sort"))


def snapshot(
    context: typer.Context,
    model: options.Model = None,
    config: options.Config = None,
    arg: options.Arguments = None,
    weights: options.Weights = None,
    trust: options.Trust = False,
    data_only: options.DataOnly = False,
    inputs: options.Inputs = None,
    batch_size: options.BatchSize = None,
    device: options.Device = None,
    dtype: options.Dtype = None,
    mode: options.TrainMode = None,
    seed: options.Seed = None,
    loss: options.Loss = None,
    steps: options.Steps = None,
    no_grad: options.NoGrad = None,
    timeout: options.Timeout = None,
    max_memory: options.MaxMemory = None,
    nproc: options.Nproc = None,
    parallel: options.Parallel = None,
    depth: Annotated[
        int | None,
        typer.Option(
            "--depth",
            min=0,
            metavar="N",
            help="Layers down to this depth.  [default: as deep as some forty lines go]",
        ),
    ] = None,
    output: Annotated[
        str | None,
        typer.Option("-o", "--output", metavar="FILE", help="Write it there; nothing is replaced."),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace FILE, if it is there.")] = False,
    quiet: options.Quiet = False,
    verbose: options.Verbose = False,
    color: options.Color = "auto",
) -> int:
    """Write a file of checks that a model passes today.

    Shapes, dtypes, the order of calls, size and cost, what learns. hookcli check -c FILE judges
    the model by it later, and says what changed, from what to what.
    """
    given: Mapping[str, Any] = {**context.params, **_UNASKED}
    if model is None and config is None:
        context.fail("missing argument 'MODEL'")
    console = Console(color=color, quiet=quiet, verbose=verbose)
    return reporting(console, functools.partial(_run, given, console))


def _run(given: Mapping[str, Any], console: Console) -> int:
    from hookcli.cli.requests import request_of
    from hookcli.cli.snapshot_request import as_run, kept

    file = _file(given)
    request = request_of("check", {**given, "depth": None}, console)
    asked = kept(given, Path() if file is None else file.parent)  # the run may take long
    report = _report(request.spec, console, request.targets)
    if report.error is not None:
        return report_status(report, "never", console)
    from hookcli.report.files import with_saved
    from hookcli.snapshot.snapshot import snapshot as made
    from hookcli.snapshot.yaml_text import text

    base = tuple(with_saved(check) for check in request.spec.checks if check.place)
    found = made(report, base, request.spec.suppressions, depth=given["depth"])
    written = text(found, _head(report, given, file), as_run(asked, report))
    if file is None:
        console.out(written)
    else:
        from hookcli.cli.output import write_file

        write_file(file, written)
    _tell(found, file, console)
    return Status.FINE


def _file(given: Mapping[str, Any]) -> Path | None:
    """Where to write; None is stdout.

    Raises
    ------
    RequestError : it cannot be written, or is there already and --force is not given.

    """
    output = given["output"]
    if output is None or output == "-":
        return None
    from hookcli.cli.output import check_writable

    file = Path(output)
    check_writable(file)
    if not given["force"] and (file.is_file() or file.is_symlink()):
        raise RequestError(
            f"{file} is there already",
            place=f"-o {output}",
            hint="name another file, or add --force to replace it",
        )
    return file


def _report(spec: Spec, console: Console, targets: Sequence[Target]) -> Report:
    """The run that a check would make, with what a snapshot wants beside."""
    from hookcli.snapshot.snapshot import PROBES

    more = [probe for probe in PROBES if spec.run.grad or probe != "step"]
    spec = dataclasses.replace(spec, probes=tuple(dict.fromkeys((*spec.probes, *more))))
    return run_in_worker(spec, console, targets).report


def _head(report: Report, given: Mapping[str, Any], file: Path | None) -> list[str]:
    """The first lines: what this is, how it is used, and with which batch it was made."""
    from hookcli.console import escape
    from hookcli.formats.parts.summary import batch

    name = escape(" ".join((report.model.type or "a model").split()))
    trust = " --trust" if given["trust"] else ""
    shown = "THIS_FILE" if file is None else escape(file.name)
    given_to = "" if report.inputs is None else " ".join(batch(report.inputs).split())
    return [
        f"What {name} is today. hookcli check -c {shown}{trust} tells what changed since.",
        "Where a change is meant, change the line here with it, and both are reviewed together.",
        f"The batch: {given_to}",
    ]


def _tell(found: Snapshot, file: Path | None, console: Console) -> None:
    from hookcli.formats.check.rows import sentence, target
    from hookcli.text import counted

    count = sum(len(one.checks) for one in found.sections)
    where = "the snapshot" if file is None else str(file)
    suppressed = counted(len(found.found), "finding")
    console.note(f"{where} holds {counted(count, 'check')}, and suppresses {suppressed}")
    for row in found.found:
        if row.severity == "error" and row.rule in {"finite", "deterministic"}:
            said = f"{row.rule}, {target(row)}: {sentence(row)}"
            console.note(f"this fails today, and is suppressed there: {said}")
