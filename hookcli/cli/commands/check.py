"""`hookcli check`: rules applied to a run or a saved report; the exit status is the verdict."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from hookcli.cli.baseline import baseline, known as known_findings
from hookcli.cli.execute import need_model, note_verdict, report_status, run_in_worker
from hookcli.cli.flags import completions
from hookcli.cli.flags.options import (
    ConsoleFlags,
    OutputFlags,
    RequestFlags,
    ViewFlags,
    WatchFlags,
)
from hookcli.cli.flags.signatures import changes, lacks, option
from hookcli.cli.flags.view import view_of
from hookcli.cli.output import (
    Target,
    check_separate,
    check_writable,
    deliver,
    has_stdout,
    parse_targets,
)
from hookcli.cli.rank_files import only_this_rank, write_others
from hookcli.cli.watch.watching import run_command
from hookcli.console import Console
from hookcli.errors import RequestError
from hookcli.formats.check.merged import merged
from hookcli.formats.results import REPORTS
from hookcli.report.files import read_saved, with_saved
from hookcli.report.training import TrainingReport
from hookcli.report.weights.weights_report import WeightsReport
from hookcli.text import counted

if TYPE_CHECKING:
    from hookcli.formats.view import View
    from hookcli.report.report import Report
    from hookcli.rules.verdict import FailOn
    from hookcli.spec.checks import CheckSpec, Suppression
    from hookcli.worker.attempts import WorkerResult


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownFlags:
    """The rules to check, known findings, and a saved report."""

    rule: tuple[str, ...] = option(
        "--rule",
        metavar="NAME",
        text="Check only this rule, with its options in the configuration or the default ones; "
        "repeatable.",
        section="Checks",
        unset=(),
        complete=completions.rules,
    )
    baseline: str | None = option(
        "--baseline",
        metavar="FILE",
        text="Ignore the findings that FILE lists.",
        section="Checks",
    )
    update_baseline: bool = option(
        "--update-baseline",
        text="Write the findings of this run to the file of --baseline.",
        section="Checks",
        unset=False,
    )
    against: str | None = option(
        "--against",
        metavar="REPORT",
        text="Compare the run with a saved report (rule same_as). Without MODEL, check the saved "
        "report itself.",
        section="Checks",
    )

    @property
    def read(self) -> str | None:
        """The baseline, if the command reads it."""
        return None if self.update_baseline else self.baseline

    @property
    def written(self) -> str | None:
        """The baseline, if the command writes it."""
        return self.baseline if self.update_baseline else None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Flags:
    """All flags of the command except those of the console."""

    request: RequestFlags
    known: KnownFlags
    view: ViewFlags
    output: OutputFlags


EXAMPLES = (
    ("the default rules; `hookcli list rules` lists all", "hookcli check model.py"),
    (
        "the findings as tests, for CI",
        "hookcli check model.py -f table -f junit=hookcli.xml",
    ),
    (
        "accept today's findings, and fail only on new ones",
        "hookcli check model.py --baseline known.json --update-baseline\n"
        "hookcli check model.py --baseline known.json",
    ),
)


def check(
    flags: Annotated[
        RequestFlags,
        lacks("tensors", "hooks", "memory", "samples"),
        changes("mode", default="train"),
        changes("fail_on", default="error"),
    ],
    known: KnownFlags,
    view: Annotated[ViewFlags, lacks("phase", "depth", "columns", "sort")],
    output: OutputFlags,
    watch: WatchFlags,
    messages: ConsoleFlags,
) -> int:
    """Check a model against rules, for CI.

    Without a configuration the default rules (the safe set) apply; `hookcli list rules` shows
    them. The exit status is 1 if a rule of severity error fails, or a warning with
    `--fail-on warning`.
    """
    console = messages.console()
    all_flags = _Flags(request=flags, known=known, view=view, output=output)
    return run_command(watch, output, console, lambda: _run(all_flags, console))


def _run(flags: _Flags, console: Console) -> int:
    if flags.known.against is None:
        need_model(flags.request.model)
    file, update = flags.known.baseline, flags.known.update_baseline
    if update and file is None:
        raise RequestError(
            "--update-baseline requires --baseline",
            place="--update-baseline",
            hint="add the file to write, as in `--baseline known.json`",
        )
    if file is not None and update:
        check_writable(Path(file))  # before a long run
    accepted = frozenset() if file is None or update else known_findings(file)
    against = _report_alone(flags)
    inputs = _inputs(against, flags, console)
    if inputs.ran is not None and inputs.ran.rank:
        return only_this_rank(inputs.ran, inputs.targets, console)
    level: FailOn = "never" if update else inputs.fail_on
    view = dataclasses.replace(inputs.view, fail_on=level)
    result: Report | TrainingReport
    if isinstance(inputs.report, TrainingReport):
        view = dataclasses.replace(view, only_findings=True)
        result = _judged_training(inputs.report, inputs, accepted)
        report = merged(result)
    else:
        result = _judged(inputs.report, inputs, accepted, chosen=bool(flags.known.rule))
        report = result
    if console.verbose:
        from hookcli.formats.check.document import performed

        console.note(performed(report))
    beside, written = [], None
    if update and file is not None:
        text, written = baseline(report)
        beside = [(Path(file), text)]
    deliver(result, inputs.targets, view, console, beside)
    if not has_stdout(inputs.targets):
        note_verdict(report, level, console)
    if written is not None:
        count = counted(written, "finding")
        console.note(f"wrote {count} to {file}, which later checks with `--baseline {file}` ignore")
    return report_status(report, level, console)


def _inputs(against: str | None, flags: _Flags, console: Console) -> _CheckInput:
    """Return what to judge: a saved report, a file of weights, or a run."""
    if against is not None:
        return _of_report(against, flags, console)
    from hookcli.cli.weights.weights_request import weights_of_check

    source = weights_of_check(flags.request)
    return _of_run(flags, console) if source is None else _of_weights(source, flags, console)


def _of_weights(source: str, flags: _Flags, console: Console) -> _CheckInput:
    """Return a file of weights to check. No model runs."""
    from hookcli.cli.requests import config_of
    from hookcli.cli.weights.weights_request import check_flags, read_report
    from hookcli.report.weights.checked_weights import as_report
    from hookcli.rules.judge_weights import with_finite
    from hookcli.spec.checks import CheckSpec

    check_flags(flags.request, allowed=("config", "fail_on"))
    config, known = config_of(flags.request.model), flags.known
    read = [
        name for name in (source, flags.request.model.config, known.read, known.against) if name
    ]
    targets = parse_targets(flags.output, read=read, console=console, kinds=REPORTS)
    if known.written is not None:
        check_separate(known.written, targets, read)
    checks, suppressions = with_finite(config.checks), config.suppress
    if known.rule:
        from hookcli.config.chosen_rules import checks_of

        checks, suppressions = checks_of(checks, suppressions, known.rule, "--rule")
    if known.against is not None:
        checks = (*checks, CheckSpec("same_as", {"report": known.against}, "--against"))
    checks = tuple(with_saved(check_spec) for check_spec in checks)  # before a long file
    return _CheckInput(
        as_report(read_report(source, values=True, console=console)),
        checks,
        suppressions,
        targets,
        view_of("check", flags.view, console),
        flags.request.gate.fail_on or config.fail_on or "error",
    )


def _judged(
    report: Report, inputs: _CheckInput, accepted: frozenset[str], *, chosen: bool
) -> Report:
    """Return the report with the results of the checks, and with its verdict."""
    from hookcli.diagnosis.diagnose import with_verdict
    from hookcli.rules.judge import judge_report
    from hookcli.rules.judge_weights import is_weights, judge_weights

    checks = tuple(with_saved(check_spec) for check_spec in inputs.checks)
    if is_weights(report):
        return judge_weights(report, checks, inputs.suppressions, accepted)
    report = judge_report(report, checks, inputs.suppressions, accepted)
    if chosen:  # without what the run itself found for other rules
        named = {check_spec.rule for check_spec in checks}
        rows = tuple(row for row in report.checks if row.rule in named)
        report = dataclasses.replace(report, checks=rows)
    return with_verdict(report)


def _judged_training(
    report: TrainingReport, inputs: _CheckInput, accepted: frozenset[str]
) -> TrainingReport:
    """Return the report of a training script with the results of the checks, and its verdict."""
    from hookcli.diagnosis.training import with_training_verdict
    from hookcli.rules.judge_training import judge_training

    checks = tuple(with_saved(check_spec) for check_spec in inputs.checks)
    return with_training_verdict(judge_training(report, checks, inputs.suppressions, accepted))


@dataclass(frozen=True, slots=True)
class _CheckInput:
    """A report, the checks to apply to it, and where the result is written."""

    report: Report | TrainingReport
    checks: tuple[CheckSpec, ...]
    suppressions: tuple[Suppression, ...]
    targets: tuple[Target, ...]
    view: View
    fail_on: FailOn
    ran: WorkerResult | None = None


def _report_alone(flags: _Flags) -> str | None:
    """Return the report of --against if no model is named, not even in the configuration."""
    if flags.request.model.model is not None or flags.known.against is None:
        return None
    config = flags.request.model.config
    if config is not None:
        from hookcli.cli.requests import config_of

        if config_of(flags.request.model).model is not None:
            return None
    return flags.known.against


def _of_report(against: str, flags: _Flags, console: Console) -> _CheckInput:
    """Return a saved report to check again. No model runs."""
    from hookcli.cli.requests import config_of
    from hookcli.report.weights.checked_weights import as_report
    from hookcli.rules.catalogue import with_safe_set, with_training_set
    from hookcli.rules.judge_weights import is_weights, with_finite

    config, file = config_of(flags.request.model), flags.request.model.config
    read = [name for name in (against, file, flags.known.read) if name]
    targets = parse_targets(flags.output, read=read, console=console, kinds=REPORTS)
    if flags.known.written is not None:
        check_separate(flags.known.written, targets, read)
    report = read_saved(against)
    if isinstance(report, WeightsReport):
        report = as_report(report)
    if isinstance(report, TrainingReport):
        checks = with_training_set(config.checks)
    elif is_weights(report):
        checks = with_finite(config.checks)
    else:
        checks = with_safe_set(config.checks, together=report.run.world_size > 1)
    suppressions = config.suppress
    if flags.known.rule:
        from hookcli.config.chosen_rules import checks_of

        checks, suppressions = checks_of(checks, suppressions, flags.known.rule, "--rule")
    return _CheckInput(
        report,
        checks,
        suppressions,
        targets,
        view_of("check", flags.view, console),
        flags.request.gate.fail_on or config.fail_on or "error",
    )


def _of_run(flags: _Flags, console: Console) -> _CheckInput:
    from hookcli.cli.requests import request_of
    from hookcli.spec.checks import CheckSpec

    against = flags.known.against
    request = request_of(
        "check",
        flags.request,
        view=flags.view,
        output=flags.output,
        console=console,
        read=(flags.known.read, against),
        written=flags.known.written,
    )
    spec = request.spec
    if flags.known.rule:
        from hookcli.config.chosen_rules import only

        spec = only(spec, flags.known.rule, "--rule")
    checks = spec.checks
    if against is not None:
        from hookcli.rules.catalogue import probes_of

        compared = CheckSpec("same_as", {"report": against}, "--against")
        more = () if not spec.run.grad else probes_of((compared,))
        spec = dataclasses.replace(spec, probes=tuple(dict.fromkeys((*spec.probes, *more))))
        checks = (*checks, compared)
    checks = tuple(with_saved(check_spec) for check_spec in checks)  # before a long run
    ran = run_in_worker(spec, console, request.targets)
    write_others(ran, request.targets if not ran.rank else ())
    return _CheckInput(
        ran.report,
        checks,
        spec.suppressions,
        request.targets,
        request.view,
        request.fail_on,
        ran,
    )
