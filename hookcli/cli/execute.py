"""What all commands that run a model do, once their flags are read."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import typer

from hookcli.cli.errors import exit_status, reporting, watch_stdout
from hookcli.cli.output import TIMED, Target, deliver, load_renderers
from hookcli.cli.rank_files import only_this_rank, write_others
from hookcli.console import Console
from hookcli.errors import Status
from hookcli.rules.verdict import is_counted, verdict_of
from hookcli.spec.request import Command

if TYPE_CHECKING:
    from hookcli.report.report import Report
    from hookcli.rules.verdict import FailOn


def run_and_report(context: typer.Context, command: Command) -> int:
    """The exit status of a command, whose parameters stand in its context under their names."""
    given: Mapping[str, Any] = context.params
    if given["model"] is None and given["config"] is None:
        context.fail("missing argument 'MODEL'")
    console = Console(color=given["color"], quiet=given["quiet"], verbose=given["verbose"])
    return reporting(console, functools.partial(_run, command, given, console))


def _run(command: Command, given: Mapping[str, Any], console: Console) -> int:
    from hookcli.cli.requests import request_of

    request = request_of(command, given, console)
    from hookcli.worker.attempts import run

    to_stdout = any(target.file is None for target in request.targets)
    with console.fenced():
        ran = run(request.spec, watch_stdout if to_stdout else lambda: None, load_renderers)
    if console.verbose:
        for line in ran.trials:
            console.note(line)
    if ran.rank:
        return only_this_rank(ran, request.targets, console)
    write_others(ran, request.targets)
    targets = _possible(ran.report, request.targets, console)
    view = dataclasses.replace(request.view, fail_on=request.fail_on)
    deliver(ran.report, targets, view, console)
    return _status(ran.report, request.fail_on, console)


def _possible(report: Report, targets: tuple[Target, ...], console: Console) -> tuple[Target, ...]:
    """The targets that there is something for: a run that crashed has no timings to show."""
    if report.error is None or report.timings is not None:
        return targets
    possible = tuple(target for target in targets if target.format not in TIMED)
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
