"""The end of `hookcli run`: the report is judged, rendered and written, in a process of its own."""

from __future__ import annotations

import dataclasses
import gc
import pickle
import sys
from typing import TYPE_CHECKING, Any

from hookcli.cli.ci import source_root
from hookcli.cli.errors import reporting
from hookcli.cli.output import deliver, write_file
from hookcli.diagnosis.training import with_training_verdict
from hookcli.errors import Status
from hookcli.formats.registry import FORMATS
from hookcli.formats.run.summary import render as summary
from hookcli.formats.view import View
from hookcli.report.schema import training_from_json
from hookcli.rules.judge_training import judge_training
from hookcli.rules.verdict import is_counted
from hookcli.spec.ranks import with_rank
from hookcli.text import counted

if TYPE_CHECKING:
    from hookcli.cli.script_run.script_request import EndRequest
    from hookcli.report.findings import CheckRow
    from hookcli.report.training import TrainingReport


def end_of_run() -> int:
    """Read the request and the report from stdin, and return the status for --fail-on."""
    gc.disable()  # the process is short
    stream = sys.stdin.buffer
    end: EndRequest = pickle.loads(stream.read(int.from_bytes(stream.read(8), "little")))
    text = stream.read()
    return reporting(end.console, lambda: finish(end, text))


def finish(end: EndRequest, text: bytes) -> int:
    """Judge and show a report. Return the exit status."""
    report = _judged(training_from_json(text), end)
    count = sum(is_counted(row, end.fail_on) for row in _checks(report))
    status = Status.FINDINGS if count else Status.FINE
    root, start = source_root()
    view = View(
        width=end.console.width(),
        unicode=end.console.unicode(),
        color=end.console.colored(),
        fail_on=end.fail_on,
        exit_status=int(status),
        root=root,
        start=start,
    )
    if end.rank:
        _write_rank(end, report, view)
        return status
    deliver(report, end.targets, view, end.console)
    if not any(target.file is None for target in end.targets) and not end.console.quiet:
        _summary(end, report, view)
    if count:
        end.console.note(f"exit status 1: {counted(count, 'finding')} with --fail-on {end.fail_on}")
    return status


def _judged(report: TrainingReport, end: EndRequest) -> TrainingReport:
    """Return the report with the findings of rules and comparisons, and their causes."""
    compared: tuple[CheckRow, ...] = ()
    if end.earlier:
        from hookcli.cli.script_run.against import compared_rows

        compared = compared_rows(report, end.earlier, end.rank)
    checks, suppressions = end.spec.checks, end.spec.suppressions
    return with_training_verdict(judge_training(report, checks, suppressions, compared=compared))


def _checks(report: TrainingReport) -> list[Any]:
    return [*report.checks, *(row for record in report.records for row in record.checks)]


def _write_rank(end: EndRequest, report: TrainingReport, view: View) -> None:
    for target in end.targets:
        if FORMATS[target.format].has_rank_files and target.file is not None:
            file = target.file.with_name(with_rank(target.file.name, end.rank))
            write_file(file, FORMATS[target.format].render_training(report, view))


def _summary(end: EndRequest, report: TrainingReport, view: View) -> None:
    view = dataclasses.replace(view, color=end.console.colored(sys.__stderr__))
    end.console.err(summary(report, view).rstrip("\n"))
