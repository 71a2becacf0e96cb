"""`hookcli snapshot`: a configuration of checks that a model passes today."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from hookcli.cli.errors import reporting
from hookcli.cli.execute import need_model, report_status, run_in_worker
from hookcli.cli.flags.options import ConsoleFlags, OutputFlags, RequestFlags, ViewFlags, new_file
from hookcli.cli.flags.signatures import changes, lacks, option
from hookcli.console import Console
from hookcli.errors import Status

if TYPE_CHECKING:
    from hookcli.cli.output import Target
    from hookcli.report.report import Report
    from hookcli.snapshot.snapshot import Snapshot
    from hookcli.spec.request import Spec


@dataclass(frozen=True, slots=True, kw_only=True)
class FileFlags:
    """Which layers to describe, and the file."""

    depth: int | None = option(
        "--depth",
        least=0,
        metavar="N",
        text="Describe modules down to this depth.",
        section="Checks",
        default="as deep as about forty checks of layers allow",
    )
    output: str | None = new_file()
    force: bool = option(
        "--force", text="Overwrite FILE if it exists.", section="Output", unset=False
    )


EXAMPLES = (
    (
        "write checks of shapes, order, size and cost",
        "hookcli snapshot model.py -o checks.yaml",
    ),
    ("later: which of them fail, and what changed", "hookcli check -c checks.yaml"),
    ("accept the changes", "hookcli snapshot model.py -o checks.yaml --force"),
)


def snapshot(
    flags: Annotated[
        RequestFlags,
        lacks("tensors", "hooks", "cost", "compiler", "memory", "gate", "samples"),
        changes("mode", default="train"),
    ],
    file: FileFlags,
    messages: ConsoleFlags,
) -> int:
    """Write checks that a model passes today.

    They cover shapes, dtypes, the order of calls, size, cost, which parameters learn and how
    gradients flow. Of a file of weights they cover the tensors.
    `hookcli check -c FILE` later reports what changed.
    """
    console = messages.console()
    return reporting(console, lambda: _run(flags, file, console))


def _run(flags: RequestFlags, written: FileFlags, console: Console) -> int:
    need_model(flags.model)
    from hookcli.cli.weights.weights_request import weights_of_check

    source = weights_of_check(flags)
    if source is not None:
        return _of_weights(source, flags, written, console)
    from hookcli.cli.requests import request_of
    from hookcli.cli.snapshot_request import kept_request, with_run

    file = _file(written)
    request = request_of(
        "check",
        flags,
        view=ViewFlags(),
        output=OutputFlags(formats=("table",), output=written.output),
        console=console,
    )
    kept = kept_request(flags, Path() if file is None else file.parent)  # before a long run
    report = _report(request.spec, console, request.targets)
    if report.error is not None:
        return report_status(report, "never", console)
    from hookcli.report.files import with_saved
    from hookcli.snapshot.snapshot import snapshot as make_snapshot
    from hookcli.snapshot.yaml_text import text

    base = tuple(with_saved(check) for check in request.spec.checks if check.place)
    result = make_snapshot(report, base, request.spec.suppressions, depth=written.depth)
    lines = text(result, _head(report, file, trust=flags.model.trust), with_run(kept, report))
    _deliver(lines, result, file, console)
    return Status.FINE


def _deliver(lines: str, result: Snapshot, file: Path | None, console: Console) -> None:
    if file is None:
        console.out(lines)
    else:
        from hookcli.cli.output import write_file

        write_file(file, lines)
    _print_notes(result, file, console)


def _of_weights(source: str, flags: RequestFlags, written: FileFlags, console: Console) -> int:
    """Describe a file of weights. No model runs."""
    from hookcli.cli.requests import config_of
    from hookcli.cli.snapshot_request import kept_request
    from hookcli.cli.weights.weights_request import check_flags, read_report
    from hookcli.console import escape
    from hookcli.report.files import with_saved
    from hookcli.report.weights.checked_weights import as_report
    from hookcli.snapshot.weights import weights_snapshot
    from hookcli.snapshot.yaml_text import text

    check_flags(flags, allowed=("config",))
    check_flags(written, allowed=("output", "force"))
    file = _file(written)
    kept = kept_request(flags, Path() if file is None else file.parent)
    config = config_of(flags.model)
    base = tuple(with_saved(check) for check in config.checks)
    report = as_report(read_report(source, values=True, console=console))
    result = weights_snapshot(report, base, config.suppress)
    shown = "THIS_FILE" if file is None else escape(file.name)
    head = [
        f"Checks that {escape(Path(source).name)} passes. `hookcli check -c {shown}` reports what "
        "has changed.",
        "If a change is intended, update the line here in the same commit.",
    ]
    _deliver(text(result, head, kept), result, file, console)
    return Status.FINE


def _file(flags: FileFlags) -> Path | None:
    """Return the file to write; None is stdout.

    Raises
    ------
    RequestError : the file cannot be written, or exists and --force is not given.

    """
    output = flags.output
    if output is None or output == "-":
        return None
    from hookcli.cli.output import check_new, check_writable, file_of

    file = file_of(output)
    if flags.force:
        check_writable(file)
    else:
        check_new(file, "choose another file, or add `--force` to overwrite this one")
    return file


def _report(spec: Spec, console: Console, targets: Sequence[Target]) -> Report:
    """Return the report of a run as for `check`, with the additional probes of a snapshot."""
    from hookcli.snapshot.snapshot import OF_GRADIENTS, PROBES

    more = [probe for probe in PROBES if spec.run.grad or probe not in OF_GRADIENTS]
    spec = dataclasses.replace(spec, probes=tuple(dict.fromkeys((*spec.probes, *more))))
    return run_in_worker(spec, console, targets).report


def _head(report: Report, file: Path | None, *, trust: bool) -> list[str]:
    """Return the first lines of the file: what it is, how to use it, and the batch of the run."""
    from hookcli.console import escape
    from hookcli.formats.parts.summary import batch

    name = escape(" ".join((report.model.type or "a model").split()))
    flag = " --trust" if trust else ""
    shown = "THIS_FILE" if file is None else escape(file.name)
    given_to = "" if report.inputs is None else " ".join(batch(report.inputs).split())
    return [
        f"Checks that {name} passes. `hookcli check -c {shown}{flag}` reports what has changed.",
        "If a change is intended, update the line here in the same commit.",
        f"Batch: {given_to}",
    ]


def _print_notes(result: Snapshot, file: Path | None, console: Console) -> None:
    from hookcli.formats.check.rows import sentence, target
    from hookcli.text import counted

    count = sum(len(section.checks) for section in result.sections)
    where = "the snapshot" if file is None else str(file)
    suppressed = counted(len(result.found), "finding")
    console.note(f"{where} contains {counted(count, 'check')} and suppresses {suppressed}")
    for row in result.found:
        if row.severity == "error" and row.rule in {"finite", "deterministic"}:
            message = f"{row.rule}, {target(row)}: {sentence(row)}"
            console.note(f"a check fails today and is suppressed in the file: {message}")
