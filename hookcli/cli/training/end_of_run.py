"""The end of `hookcli run`: the report is judged, rendered and written, outside of the script.

The process that waits for the script does it. Where none can wait, the script's starts another one.
"""

from __future__ import annotations

import contextlib
import dataclasses
import gc
import os
import pickle
import signal
import sys
import tempfile
from collections.abc import Sequence
from typing import IO, TYPE_CHECKING

from hookcli.cli.ci import source_root
from hookcli.cli.errors import reporting
from hookcli.cli.execute import note_findings
from hookcli.cli.output import deliver, has_stdout
from hookcli.cli.rank_files import write_own, write_rank
from hookcli.cli.training.journal_start import remove_journal
from hookcli.diagnosis.training import with_training_verdict
from hookcli.errors import InterruptedRun, RequestError, Status
from hookcli.formats.training.summary import render as summary
from hookcli.formats.view import View
from hookcli.report.journal.journal_reader import is_journal, read_journal
from hookcli.report.schema import training_from_json
from hookcli.rules.catalogue import with_training_set
from hookcli.rules.judge_training import all_checks, judge_training
from hookcli.rules.verdict import is_counted
from hookcli.sentences import cannot_write
from hookcli.system.process_end import (
    fill_standard_streams,
    flush_streams,
    leave,
    signals_raised,
    status_of,
)
from hookcli.system.signals import ending_delayed
from hookcli.text import counted
from hookcli.training.script.verdict import FOUND, send_verdict

if TYPE_CHECKING:
    from typing import NoReturn

    from hookcli.cli.training.script_request import EndRequest
    from hookcli.report.findings import CheckRow
    from hookcli.report.training import TrainingReport


def main() -> NoReturn:
    """Run the process at the end of a script. The only argument is the descriptor of the verdict.

    Ctrl-C and the end of the terminal do not reach it: the script has ended, and its report would
    be lost. Another signal that ends it removes the files that it has begun.
    """
    fill_standard_streams()
    for name in ("SIGINT", "SIGHUP"):
        if hasattr(signal, name):  # not on Windows
            signal.signal(getattr(signal, name), signal.SIG_IGN)
    try:
        with signals_raised():
            status = end_of_run()
    except InterruptedRun as interruption:
        leave(status_of(interruption))
    flush_streams()
    if os.name != "nt":
        send_verdict(int(sys.argv[1]), status)
    leave(status)


def end_of_run() -> int:
    """Read the request and the report from stdin. Return `FOUND` if --fail-on counts a finding.

    Nothing is done if the script's process is killed before it has written all.
    """
    gc.disable()  # the process is short
    request, text = (_part(sys.stdin.buffer) for _ in range(2))
    if request is None or text is None:
        return Status.FINE
    others = [other for _ in range(_count(sys.stdin.buffer)) if (other := _part(sys.stdin.buffer))]
    return judged_and_written(pickle.loads(request), text, others)


def judged_and_written(end: EndRequest, text: bytes, others: Sequence[bytes]) -> int:
    """Judge a report, write it, and remove the journal. Return `FOUND` as `end_of_run` does.

    A report that cannot be written is kept in a temporary file.

    Raises
    ------
    InterruptedRun : a signal arrived, or stdout was closed.
    """
    status = reporting(end.console, lambda: finish(end, text, others))
    if status not in {Status.FINE, FOUND}:
        if not end.rank:
            reporting(end.console, lambda: keep(end, text))
    elif end.journal is not None:
        remove_journal(end.journal)
    return status


def _count(stream: IO[bytes]) -> int:
    """Read the number of the reports of other ranks and processes that follow."""
    return int(_part(stream) or 0)


def _part(stream: IO[bytes]) -> bytes | None:
    """Read the length of a part, and the part. None if the stream ends before.

    The end of the stream is not waited for: a process that the script forks may have it open too.
    """
    size = int.from_bytes(stream.read(8), "little")
    data = stream.read(size)
    return data if data and len(data) == size else None


def _reports_of(texts: Sequence[bytes]) -> list[TrainingReport]:
    """Return the reports of other processes; of one that was killed, what its journal has."""
    reports = []
    for text in texts:
        if not is_journal(text):
            reports.append(training_from_json(text))
            continue
        with contextlib.suppress(RequestError):  # nothing was observed, or it is cut
            report = read_journal("a process of the script", text, living=False)
            reports += [report] if report.records else []
    return reports


def finish(end: EndRequest, text: bytes, others: Sequence[bytes] = ()) -> int:
    """Judge and show a report, on rank 0 joined with those of `others`.

    Raises
    ------
    HookcliError : a file cannot be written, or the report does not support a format.
    """
    own = training_from_json(text)
    report = own
    rank = end.rank or own.tracking.rank  # torchrun's, else that of the process group
    if own.tracking.world_size > 1 and not rank and own.records:
        report = _joined(own, _reports_of(others))
        write_own(_judged(own, end), end.targets)
    elif left := _reports_of(others):
        report = _with_children(own, left, end)
    report = _judged(report, end)
    root, start = source_root()
    view = View(
        width=end.console.width(),
        unicode=end.console.unicode(),
        color=end.console.colored(),
        fail_on=end.fail_on,
        root=root,
        start=start,
    )
    count = sum(is_counted(row, end.fail_on) for row in all_checks(report))
    if rank:
        write_rank(report, rank, end.targets)
        return FOUND if count else Status.FINE
    deliver(report, end.targets, view, end.console)
    if not has_stdout(end.targets) and not end.console.quiet:
        view = dataclasses.replace(view, color=end.console.colored(sys.__stderr__))
        end.console.begin_line()
        end.console.err(summary(report, view).rstrip("\n"))
    if count and not report.script.status:
        note_findings(count, end.fail_on, end.console)
    return FOUND if count else Status.FINE


def _joined(own: TrainingReport, others: Sequence[TrainingReport]) -> TrainingReport:
    """Return the report of all ranks; that of rank 0 alone if they cannot be joined."""
    from hookcli.report.ranks.join_trainings import join_trainings

    try:
        return join_trainings([own, *others])
    except Exception as error:  # noqa: BLE001  # no report may be lost, whatever the ranks left
        why = f"the ranks are not joined: {type(error).__name__}: {error}"
        return dataclasses.replace(own, warnings=(*own.warnings, why))


def _with_children(
    own: TrainingReport, children: Sequence[TrainingReport], end: EndRequest
) -> TrainingReport:
    """Return the report of the processes that the script started, which are ranks or trainings.

    Each has a file, such as run.rank1.json. If the script's own process trained something too, its
    report stays what it is.
    """
    ordered = sorted(children, key=lambda report: report.tracking.rank)
    for number, child in enumerate(ordered):
        judged = _judged(child, end)
        rank = child.tracking.rank if child.tracking.world_size > 1 else number
        write_own(judged, end.targets) if not rank else write_rank(judged, rank, end.targets)
    if own.records:
        many = counted(len(ordered), "process", "processes")
        why = f"{many} that the script started trained too: their reports are beside this one"
        return dataclasses.replace(own, warnings=(*own.warnings, why))
    first, *others = ordered
    if first.tracking.world_size > 1:
        first = _joined(first, others)
    elif others:
        why = f"this is one of {counted(len(ordered), 'process', 'processes')} that trained alone"
        first = dataclasses.replace(first, warnings=(*first.warnings, why))
    whole = all(report.status == "complete" for report in (own, first, *children))
    return dataclasses.replace(first, script=own.script, status="complete" if whole else "partial")


def _judged(report: TrainingReport, end: EndRequest) -> TrainingReport:
    """Return the report with the findings of rules and comparisons, and their causes."""
    compared: tuple[CheckRow, ...] = ()
    if end.earlier:
        from hookcli.cli.training.against import compared_rows

        compared = compared_rows(report, end.earlier, end.rank)
    if end.plain is not None:
        from hookcli.cli.training.neutral_steps import neutral_row

        compared = (*compared, neutral_row(report, end.plain))
    checks = with_training_set(end.spec.checks)
    judged = judge_training(report, checks, end.spec.suppressions, compared=compared)
    return with_training_verdict(judged)


def keep(end: EndRequest, text: bytes) -> int:
    """Write the report of a long training somewhere, if it cannot be written where it should be.

    Raises
    ------
    RequestError : the folder for temporary files cannot be written either.
    """
    name = None
    try:
        with ending_delayed():
            handle, name = tempfile.mkstemp(prefix="hookcli-run-", suffix=".json")
        with os.fdopen(handle, "wb") as file:
            file.write(text)
    except BaseException as error:
        if name is not None:
            os.unlink(name)  # noqa: PTH108
        if not isinstance(error, OSError):
            raise
        raise RequestError(
            f"the report is lost: {cannot_write(name or 'TMPDIR', error.strerror)}",
            place=f"TMPDIR={os.environ.get('TMPDIR', '')}",
            hint="set TMPDIR to a folder that has space for the report",
        ) from None
    end.console.note(f"the report is in {name}: show it with `hookcli render`")
    return Status.FINE
