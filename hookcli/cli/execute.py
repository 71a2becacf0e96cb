"""Running a model and showing its report, for all commands that do so."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeVar

from hookcli.cli.errors import exit_status, watch_stdout
from hookcli.cli.help.next_command import missing_model
from hookcli.cli.output import Target, deliver, has_stdout
from hookcli.cli.rank_files import only_this_rank, write_others
from hookcli.cli.watch.watching import run_command
from hookcli.console import Console
from hookcli.errors import Status
from hookcli.formats.registry import FORMATS
from hookcli.rules.compile_equal import RUN as COMPILED
from hookcli.rules.parallel_equal import RUN as PARALLEL
from hookcli.rules.verdict import is_counted, verdict_of
from hookcli.spec.request import Command
from hookcli.text import counted
from hookcli.worker.progress.screen import shown

if TYPE_CHECKING:
    from hookcli.cli.flags.options import (
        ModelFlags,
        OutputFlags,
        RequestFlags,
        ViewFlags,
        WatchFlags,
    )
    from hookcli.cli.requests import Request
    from hookcli.report.report import Report
    from hookcli.rules.verdict import FailOn
    from hookcli.spec.request import Spec
    from hookcli.worker.attempts import WorkerResult

_Result = TypeVar("_Result")


def need_model(flags: ModelFlags) -> None:
    """Check that a model or a configuration is given.

    Raises
    ------
    RequestError : neither is.
    """
    if flags.model is None and flags.config is None:
        raise missing_model()


def run_and_report(
    command: Command,
    flags: RequestFlags,
    *,
    view: ViewFlags,
    output: OutputFlags,
    watch: WatchFlags,
    console: Console,
) -> int:
    """Run a model, show its report and return the exit status."""

    def run() -> int:
        need_model(flags.model)
        from hookcli.cli.requests import request_of

        request = request_of(command, flags, view=view, output=output, console=console)
        return _run(request, console)

    return run_command(watch, output, console, run)


def _run(request: Request, console: Console) -> int:
    ran = run_in_worker(request.spec, console, request.targets)
    if ran.rank:
        return only_this_rank(ran, request.targets, console)
    write_others(ran, request.targets)
    from hookcli.diagnosis.diagnose import with_verdict

    report = with_verdict(ran.report)
    targets = _possible(report, request.targets, console)
    view = dataclasses.replace(request.view, fail_on=request.fail_on)
    deliver(report, targets, view, console)
    if not has_stdout(targets):
        note_verdict(report, request.fail_on, console)
    return _status(report, request.fail_on, console)


def note_verdict(report: Report, fail_on: FailOn, console: Console) -> None:
    """Print the verdict in short, for a command whose formats are all written to files."""
    from hookcli.formats.check.rows import verdict
    from hookcli.formats.parts.verdict import nothing_found, shown

    for item in shown(report):
        console.note(f"{item.severity}: {item.sentence}")
    if good := nothing_found(report):
        console.note(good)
    if report.command == "check":
        console.note(verdict(report, fail_on))


def _carrier(spec: Spec) -> Callable[..., WorkerResult]:
    """Return what carries out a request; few of them need more processes."""
    if any(request.name in {PARALLEL.probe, COMPILED.probe} for request in spec.probes):
        from hookcli.worker.compared.checks import run_with_others

        return run_with_others
    from hookcli.worker.attempts import run

    return run


def run_in_worker(
    spec: Spec,
    console: Console,
    targets: Sequence[Target],
) -> WorkerResult:
    """Run a request in a separate process. With -v, print the trials to infer a batch as notes.

    While the process starts, the renderers of the formats in `targets` are imported.

    Raises
    ------
    HookcliError : the model could not run.
    InterruptedRun : a signal arrived, or stdout is a target and was closed.

    """
    run = _carrier(spec)
    ran = while_watched(
        functools.partial(run, spec),
        console,
        targets,
        lambda: load_renderers(targets, spec.command),
    )
    for line in ran.trials if console.verbose else ():
        console.note(line)
    return ran


def load_renderers(targets: Sequence[Target], name: str) -> None:
    """Import what renders the targets of a command, or of a kind of result, which takes time."""
    for target in targets:
        FORMATS[target.format].load(name)


def while_watched(
    run: Callable[[Callable[[], None], Callable[[], None]], _Result],
    console: Console,
    targets: Sequence[Target],
    meanwhile: Callable[[], None],
) -> _Result:
    """Return `run(check, meanwhile)`; CI commands that the model prints are not executed.

    `check` ends the run after stdout was closed, if that is a target; `meanwhile` is called while
    the worker starts.
    """
    with console.fenced(), shown(quiet=console.quiet):
        return run(watch_stdout if has_stdout(targets) else lambda: None, meanwhile)


def _possible(report: Report, targets: tuple[Target, ...], console: Console) -> tuple[Target, ...]:
    """Return the targets that can be written: a run that crashed has no timings."""
    if report.error is None or report.timings is not None:
        return targets
    possible = tuple(target for target in targets if not FORMATS[target.format].needs_timings)
    if possible != targets:
        console.note("the run ended without timings: the timeline is not written")
    return possible


def _status(report: Report, fail_on: FailOn, console: Console) -> int:
    """Return the exit status of a run, and print why it is 1."""
    status = report_status(report, fail_on, console)
    if status is Status.FINDINGS:
        note_findings(sum(is_counted(row, fail_on) for row in report.checks), fail_on, console)
    return status


def note_findings(count: int, fail_on: FailOn, console: Console) -> None:
    """Print why the exit status is 1: so many findings count."""
    console.note(f"exit status 1: {counted(count, 'finding')} with --fail-on {fail_on}")


def report_status(report: Report, fail_on: FailOn, console: Console) -> Status:
    """Return the exit status of a report, and print the error if the model failed."""
    if report.error is not None:
        from hookcli.cli.run_error import run_error

        console.error(run_error(report))
    return exit_status(verdict_of(report, fail_on))
