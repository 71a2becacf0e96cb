"""What all commands that run a model do, once their flags are read."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeVar

import typer

from hookcli.cli.errors import exit_status, reporting, watch_stdout
from hookcli.cli.output import Target, deliver, has_stdout
from hookcli.cli.rank_files import only_this_rank, write_others
from hookcli.console import Console
from hookcli.errors import Status
from hookcli.formats.registry import FORMATS
from hookcli.rules.verdict import is_counted, verdict_of
from hookcli.spec.request import Command

if TYPE_CHECKING:
    from hookcli.cli.flags.options import ModelFlags, OutputFlags, RequestFlags, ViewFlags
    from hookcli.cli.requests import Request
    from hookcli.report.report import Report
    from hookcli.rules.verdict import FailOn
    from hookcli.spec.request import Spec
    from hookcli.worker.attempts import WorkerResult

_Result = TypeVar("_Result")


def need_model(context: typer.Context, flags: ModelFlags) -> None:
    """End with a usage error where neither a model nor a configuration is named."""
    if flags.model is None and flags.config is None:
        context.fail("missing argument 'MODEL'")


def run_and_report(
    context: typer.Context,
    command: Command,
    flags: RequestFlags,
    *,
    view: ViewFlags,
    output: OutputFlags,
    console: Console,
) -> int:
    """The exit status of a command that runs a model and shows its report."""
    need_model(context, flags.model)

    def run() -> int:
        from hookcli.cli.requests import request_of

        request = request_of(command, flags, view=view, output=output, console=console)
        return _run(request, console)

    return reporting(console, run)


def _run(request: Request, console: Console) -> int:
    ran = run_in_worker(request.spec, console, request.targets)
    if ran.rank:
        return only_this_rank(ran, request.targets, console)
    write_others(ran, request.targets)
    targets = _possible(ran.report, request.targets, console)
    view = dataclasses.replace(request.view, fail_on=request.fail_on)
    deliver(ran.report, targets, view, console)
    return _status(ran.report, request.fail_on, console)


def run_in_worker(
    spec: Spec,
    console: Console,
    targets: Sequence[Target],
) -> WorkerResult:
    """Run a request in a process of its own; under -v the tries to infer a batch are noted.

    While it starts, what renders the formats of `targets` is imported.

    Raises
    ------
    HookcliError : nothing could be run.
    InterruptedRun : a signal came, or nobody reads the stdout that is a target.

    """
    from hookcli.worker.attempts import run

    def load_renderers() -> None:
        for target in targets:
            FORMATS[target.format].load(spec.command)

    ran = while_watched(functools.partial(run, spec), console, targets, load_renderers)
    for line in ran.trials if console.verbose else ():
        console.note(line)
    return ran


def while_watched(
    run: Callable[[Callable[[], None], Callable[[], None]], _Result],
    console: Console,
    targets: Sequence[Target],
    meanwhile: Callable[[], None],
) -> _Result:
    """What `run(check, meanwhile)` returns, with what the model prints fenced off.

    `check` ends the run once nobody reads stdout, where that is a target; `meanwhile` is what can
    be done while the worker starts.
    """
    with console.fenced():
        return run(watch_stdout if has_stdout(targets) else lambda: None, meanwhile)


def _possible(report: Report, targets: tuple[Target, ...], console: Console) -> tuple[Target, ...]:
    """The targets that there is something for: a run that crashed has no timings to show."""
    if report.error is None or report.timings is not None:
        return targets
    possible = tuple(target for target in targets if not FORMATS[target.format].needs_timings)
    if possible != targets:
        console.note("the run ended without its timings: there is no timeline")
    return possible


def _status(report: Report, fail_on: FailOn, console: Console) -> int:
    """The exit status of a run, with what made it so."""
    status = report_status(report, fail_on, console)
    if status is Status.FINDINGS:
        count = sum(is_counted(row, fail_on) for row in report.checks)
        noun = "finding" if count == 1 else "findings"
        console.note(f"status 1 for {count} {noun}, as --fail-on {fail_on} asks")
    return status


def report_status(report: Report, fail_on: FailOn, console: Console) -> Status:
    """The exit status of a report; the error of a model that failed is printed."""
    if report.error is not None:
        from hookcli.cli.run_error import run_error

        console.error(run_error(report))
    return exit_status(verdict_of(report, fail_on))
