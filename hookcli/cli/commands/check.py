"""`hookcli check`: rules judge a run, or a saved report; the status says how it went."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hookcli.cli import options
from hookcli.cli.baseline import known, write_baseline
from hookcli.cli.errors import reporting
from hookcli.cli.execute import report_status, run_in_worker
from hookcli.cli.flag_values import view_of
from hookcli.cli.output import Target, deliver, parse_targets
from hookcli.cli.rank_files import only_this_rank, write_others
from hookcli.console import Console
from hookcli.errors import RequestError
from hookcli.report.files import read_report, with_saved
from hookcli.rules.verdict import FailOn

if TYPE_CHECKING:
    from hookcli.cli.requests import Request
    from hookcli.report.report import Report
    from hookcli.spec.checks import CheckSpec, Suppression
    from hookcli.worker.attempts import Outcome


def check(
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
    flops: options.Flops = None,
    verify_neutral: options.VerifyNeutral = None,
    nproc: options.Nproc = None,
    parallel: options.Parallel = None,
    fail_on: options.CheckFailOn = None,
    baseline: Annotated[
        str | None,
        typer.Option("--baseline", metavar="FILE", help="Findings listed there do not count."),
    ] = None,
    update_baseline: Annotated[
        bool,
        typer.Option("--update-baseline", help="Write today's findings to the baseline."),
    ] = False,
    against: Annotated[
        str | None,
        typer.Option(
            "--against",
            metavar="REPORT",
            help="A saved report that the run must be the same as; without MODEL, the report "
            "that is judged.",
        ),
    ] = None,
    only: options.Only = None,
    formats: options.Formats = None,
    output: options.Output = None,
    quiet: options.Quiet = False,
    verbose: options.Verbose = False,
    color: options.Color = "auto",
) -> int:
    """Judge a model by rules: a gate for CI.

    Without a configuration the safe set is judged: hookcli list rules shows it. The status is 1
    where a rule failed.
    """
    given: Mapping[str, Any] = {**context.params, "depth": None, "columns": None, "sort": None}
    if model is None and config is None and against is None:
        context.fail("missing argument 'MODEL'")
    console = Console(color=color, quiet=quiet, verbose=verbose)
    return reporting(console, functools.partial(_run, given, console))


def _run(given: Mapping[str, Any], console: Console) -> int:
    file, update = given["baseline"], given["update_baseline"]
    if update and file is None:
        raise RequestError(
            "there is no baseline to update",
            place="--update-baseline",
            hint="name its file: --baseline known.json --update-baseline",
        )
    accepted = frozenset() if file is None or update else known(file)
    asked = _of_report(given, console) if _names_no_model(given) else _of_run(given, console)
    if asked.ran is not None and asked.ran.rank:
        return only_this_rank(asked.ran, asked.targets, console)
    from hookcli.rules.judge import judge_report

    checks = tuple(with_saved(one) for one in asked.checks)
    report = judge_report(asked.report, checks, asked.suppressions, accepted)
    if console.verbose:
        from hookcli.formats.check.table import performed

        console.note(performed(report))
    view = dataclasses.replace(asked.view, fail_on=asked.fail_on)
    deliver(report, asked.targets, view, console)
    if update:
        write_baseline(file, report)
        console.note(f"{file} holds today's findings: they do not count from now on")
        return report_status(report, "never", console)
    return report_status(report, asked.fail_on, console)


@dataclasses.dataclass(frozen=True, slots=True)
class _Asked:
    """A report, by what to judge it, and where that goes."""

    report: Report
    checks: tuple[CheckSpec, ...]
    suppressions: tuple[Suppression, ...]
    targets: tuple[Target, ...]
    view: Any
    fail_on: FailOn
    ran: Outcome | None = None


def _names_no_model(given: Mapping[str, Any]) -> bool:
    """Whether a saved report alone is named, perhaps with a configuration without a model."""
    if given["model"] is not None or given["against"] is None:
        return False
    if given["config"] is None:
        return True
    from hookcli.cli.requests import config_of

    return config_of(given).model is None


def _of_report(given: Mapping[str, Any], console: Console) -> _Asked:
    """A saved report, judged again. Nothing is run."""
    from hookcli.cli.requests import config_of
    from hookcli.rules.catalogue import with_safe_set

    config = config_of(given)
    read = [name for name in (given["against"], given["config"], given["baseline"]) if name]
    targets = parse_targets(given["formats"], given["output"], read=read)
    report = read_report(given["against"])
    return _Asked(
        report,
        with_safe_set(config.checks, together=report.run.world_size > 1),
        config.suppress,
        targets,
        view_of("check", given, console),
        given["fail_on"] or config.fail_on or "error",
    )


def _of_run(given: Mapping[str, Any], console: Console) -> _Asked:
    from hookcli.cli.requests import request_of

    request: Request = request_of("check", given, console)
    spec = request.spec
    from hookcli.spec.checks import CheckSpec

    checks = spec.checks
    if given["against"] is not None:
        checks = (*checks, CheckSpec("same_as", {"report": given["against"]}, "--against"))
    checks = tuple(with_saved(one) for one in checks)  # before the run, which may take long
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
