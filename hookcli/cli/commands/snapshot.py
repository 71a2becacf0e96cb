"""`hookcli snapshot`: what a model is today, as checks that it passes."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hookcli.cli.errors import reporting
from hookcli.cli.execute import need_model, report_status, run_in_worker
from hookcli.cli.flags.options import ConsoleFlags, OutputFlags, RequestFlags, ViewFlags, new_file
from hookcli.cli.flags.signatures import changes, lacks, option
from hookcli.console import Console
from hookcli.errors import RequestError, Status

if TYPE_CHECKING:
    from hookcli.cli.output import Target
    from hookcli.report.report import Report
    from hookcli.snapshot.snapshot import Snapshot
    from hookcli.spec.request import Spec


@dataclass(frozen=True, slots=True, kw_only=True)
class FileFlags:
    """What to write, and where."""

    depth: int | None = option(
        "--depth",
        least=0,
        metavar="N",
        text="Layers down to this depth.",
        default="as deep as some forty lines go",
    )
    output: str | None = new_file()
    force: bool = option("--force", text="Replace FILE, if it is there.", unset=False)


def snapshot(
    context: typer.Context,
    flags: Annotated[
        RequestFlags, lacks("tensors", "hooks", "cost", "gate"), changes("mode", default="train")
    ],
    file: FileFlags,
    messages: ConsoleFlags,
) -> int:
    """Write a file of checks that a model passes today.

    Shapes, dtypes, the order of calls, size and cost, what learns. hookcli check -c FILE judges
    the model by it later, and says what changed, from what to what.
    """
    need_model(context, flags.model)
    console = messages.console()
    return reporting(console, lambda: _run(flags, file, console))


def _run(flags: RequestFlags, written: FileFlags, console: Console) -> int:
    from hookcli.cli.requests import request_of
    from hookcli.cli.snapshot_request import as_run, kept

    file = _file(written)
    request = request_of(
        "check",
        flags,
        view=ViewFlags(),
        output=OutputFlags(output=written.output),
        console=console,
    )
    asked = kept(flags, Path() if file is None else file.parent)  # the run may take long
    report = _report(request.spec, console, request.targets)
    if report.error is not None:
        return report_status(report, "never", console)
    from hookcli.report.files import with_saved
    from hookcli.snapshot.snapshot import snapshot as made
    from hookcli.snapshot.yaml_text import text

    base = tuple(with_saved(check) for check in request.spec.checks if check.place)
    result = made(report, base, request.spec.suppressions, depth=written.depth)
    lines = text(result, _head(report, file, trust=flags.model.trust), as_run(asked, report))
    if file is None:
        console.out(lines)
    else:
        from hookcli.cli.output import write_file

        write_file(file, lines)
    _tell(result, file, console)
    return Status.FINE


def _file(flags: FileFlags) -> Path | None:
    """Where to write; None is stdout.

    Raises
    ------
    RequestError : it cannot be written, or is there already and --force is not given.

    """
    output = flags.output
    if output is None or output == "-":
        return None
    from hookcli.cli.output import check_writable

    file = Path(output)
    check_writable(file)
    if not flags.force and (file.is_file() or file.is_symlink()):
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


def _head(report: Report, file: Path | None, *, trust: bool) -> list[str]:
    """The first lines: what this is, how it is used, and with which batch it was made."""
    from hookcli.console import escape
    from hookcli.formats.parts.summary import batch

    name = escape(" ".join((report.model.type or "a model").split()))
    flag = " --trust" if trust else ""
    shown = "THIS_FILE" if file is None else escape(file.name)
    given_to = "" if report.inputs is None else " ".join(batch(report.inputs).split())
    return [
        f"What {name} is today. hookcli check -c {shown}{flag} tells what changed since.",
        "Where a change is meant, change the line here with it, and both are reviewed together.",
        f"The batch: {given_to}",
    ]


def _tell(result: Snapshot, file: Path | None, console: Console) -> None:
    from hookcli.formats.check.rows import sentence, target
    from hookcli.text import counted

    count = sum(len(section.checks) for section in result.sections)
    where = "the snapshot" if file is None else str(file)
    suppressed = counted(len(result.found), "finding")
    console.note(f"{where} holds {counted(count, 'check')}, and suppresses {suppressed}")
    for row in result.found:
        if row.severity == "error" and row.rule in {"finite", "deterministic"}:
            message = f"{row.rule}, {target(row)}: {sentence(row)}"
            console.note(f"this fails today, and is suppressed there: {message}")
