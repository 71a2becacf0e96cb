"""`hookcli check`: rules judge a run, or a saved report; the status says how it went."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from hookcli.cli.baseline import known as known_findings, write_baseline
from hookcli.cli.errors import reporting
from hookcli.cli.execute import need_model, report_status, run_in_worker
from hookcli.cli.flags.options import ConsoleFlags, OutputFlags, RequestFlags, ViewFlags
from hookcli.cli.flags.signatures import changes, lacks, option
from hookcli.cli.flags.values import view_of
from hookcli.cli.output import Target, deliver, parse_targets
from hookcli.cli.rank_files import only_this_rank, write_others
from hookcli.console import Console
from hookcli.errors import RequestError
from hookcli.report.files import read_report, with_saved

if TYPE_CHECKING:
    from hookcli.formats.view import View
    from hookcli.report.report import Report
    from hookcli.rules.verdict import FailOn
    from hookcli.spec.checks import CheckSpec, Suppression
    from hookcli.worker.attempts import WorkerResult


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownFlags:
    """What is known already: findings, and a report."""

    baseline: str | None = option(
        "--baseline", metavar="FILE", text="Findings listed there do not count."
    )
    update_baseline: bool = option(
        "--update-baseline", text="Write today's findings to the baseline.", unset=False
    )
    against: str | None = option(
        "--against",
        metavar="REPORT",
        text="A saved report that the run must be the same as; without MODEL, the report "
        "that is judged.",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Flags:
    """All flags of the command but the console's."""

    request: RequestFlags
    known: KnownFlags
    view: ViewFlags
    output: OutputFlags


def check(
    context: typer.Context,
    flags: Annotated[
        RequestFlags,
        lacks("tensors", "hooks"),
        changes("mode", default="train"),
        changes("fail_on", default="error"),
    ],
    known: KnownFlags,
    view: Annotated[ViewFlags, lacks("phase", "depth", "columns", "sort")],
    output: OutputFlags,
    messages: ConsoleFlags,
) -> int:
    """Judge a model by rules: a gate for CI.

    Without a configuration the safe set is judged: hookcli list rules shows it. The status is 1
    where a rule failed.
    """
    if known.against is None:
        need_model(context, flags.model)
    console = messages.console()
    every = _Flags(request=flags, known=known, view=view, output=output)
    return reporting(console, lambda: _run(every, console))


def _run(flags: _Flags, console: Console) -> int:
    file, update = flags.known.baseline, flags.known.update_baseline
    if update and file is None:
        raise RequestError(
            "there is no baseline to update",
            place="--update-baseline",
            hint="name its file: --baseline known.json --update-baseline",
        )
    accepted = frozenset() if file is None or update else known_findings(file)
    against = _report_alone(flags)
    asked = _of_run(flags, console) if against is None else _of_report(against, flags, console)
    if asked.ran is not None and asked.ran.rank:
        return only_this_rank(asked.ran, asked.targets, console)
    from hookcli.rules.judge import judge_report

    checks = tuple(with_saved(check_spec) for check_spec in asked.checks)
    report = judge_report(asked.report, checks, asked.suppressions, accepted)
    if console.verbose:
        from hookcli.formats.check.table import performed

        console.note(performed(report))
    view = dataclasses.replace(asked.view, fail_on=asked.fail_on)
    deliver(report, asked.targets, view, console)
    if update and file is not None:
        write_baseline(file, report)
        console.note(f"{file} holds today's findings: they do not count from now on")
        return report_status(report, "never", console)
    return report_status(report, asked.fail_on, console)


@dataclass(frozen=True, slots=True)
class _Asked:
    """A report, by what to judge it, and where that goes."""

    report: Report
    checks: tuple[CheckSpec, ...]
    suppressions: tuple[Suppression, ...]
    targets: tuple[Target, ...]
    view: View
    fail_on: FailOn
    ran: WorkerResult | None = None


def _report_alone(flags: _Flags) -> str | None:
    """The saved report where that alone is named, perhaps with a configuration without a model."""
    if flags.request.model.model is not None or flags.known.against is None:
        return None
    config = flags.request.model.config
    if config is not None:
        from hookcli.cli.requests import config_of

        if config_of(flags.request.model).model is not None:
            return None
    return flags.known.against


def _of_report(against: str, flags: _Flags, console: Console) -> _Asked:
    """A saved report, judged again. Nothing is run."""
    from hookcli.cli.requests import config_of
    from hookcli.rules.catalogue import with_safe_set

    config, file = config_of(flags.request.model), flags.request.model.config
    read = [name for name in (against, file, flags.known.baseline) if name]
    targets = parse_targets(flags.output, read=read)
    report = read_report(against)
    return _Asked(
        report,
        with_safe_set(config.checks, together=report.run.world_size > 1),
        config.suppress,
        targets,
        view_of("check", flags.view, console),
        flags.request.gate.fail_on or config.fail_on or "error",
    )


def _of_run(flags: _Flags, console: Console) -> _Asked:
    from hookcli.cli.requests import request_of
    from hookcli.spec.checks import CheckSpec

    against = flags.known.against
    request = request_of(
        "check",
        flags.request,
        view=flags.view,
        output=flags.output,
        console=console,
        read=(flags.known.baseline, against),
    )
    spec = request.spec
    checks = spec.checks
    if against is not None:
        checks = (*checks, CheckSpec("same_as", {"report": against}, "--against"))
    checks = tuple(
        with_saved(check_spec) for check_spec in checks
    )  # before the run, which may take long
    ran = run_in_worker(spec, console, request.targets)
    write_others(ran, request.targets if not ran.rank else ())
    return _Asked(
        ran.report,
        checks,
        spec.suppressions,
        request.targets,
        request.view,
        request.fail_on,
        ran,
    )
