"""`hookcli run` waits for the script's process, judges what it leaves, and ends as it has ended.

Nothing of the script runs in this process: its signals, timers, threads and limits end the script
only. A script that ends without a report, by a signal or `os._exit`, has one of its journal.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
import signal
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from hookcli.cli.training.journal_start import remove_journal
from hookcli.errors import HookcliError, InterruptedRun, Status
from hookcli.outputs.special_files import descriptor_of
from hookcli.report.encode import training_to_json
from hookcli.report.journal.journal_reader import JournalReader
from hookcli.report.schema import training_from_json
from hookcli.report.training import ScriptInfo
from hookcli.system.signals import ENDING, name_of
from hookcli.system.supervised_process import ProcessEnd, end_as
from hookcli.system.unnamed_file import UnnamedFile
from hookcli.training.script.handover import ENDED, REPORT, SETTLED, handed_over
from hookcli.training.script.held_signals import HeldSignals
from hookcli.training.script.say import say
from hookcli.training.script.verdict import FOUND

if TYPE_CHECKING:
    from hookcli.cli.training.script_request import EndRequest, TrainingRequest

_INTERRUPTED = 130  # the status that a report has for Ctrl-C
_AFTER_CTRL_C = 1  # that of Python instead, if any code ran by `exec` after it, as with torch


def settle(request: TrainingRequest, end: ProcessEnd, handover: UnnamedFile) -> int:
    """Judge and write the report of a script that has ended, and end as it has ended.

    Findings with --fail-on change an exit status of 0 to 1.
    """
    verdict: int = Status.FINE
    with _undisturbed(quiet=request.end.console.quiet):
        try:
            parts = handed_over(handover.read())
            ended = parts.get(ENDED)
            if REPORT in parts:
                own, *others = parts[REPORT]
                verdict = _judge(request.end, _with_status(own, ended, end), others)
            elif SETTLED not in parts:
                if ended is not None:  # it had ended, and was ended while its report was made
                    end = _as_told(ended)
                verdict = _judge_journal(request, _script_info(request, ended, end))
        except Exception as error:  # noqa: BLE001  # the status is the script's
            say(f"hookcli: the report is not written: {type(error).__name__}: {error}")
    if verdict == FOUND and end.status == 0:
        return Status.FINDINGS
    return end_as(end)


def kept(request: TrainingRequest, handover: UnnamedFile) -> set[int]:
    """Return the descriptors that this process needs at the end."""
    files = [target.file for target in request.end.targets if target.file is not None]
    named = [descriptor_of(file) for file in files]
    own = [int(name.rpartition("/")[2]) for name in map(str, named) if name[-1:].isdecimal()]
    journal = request.job.journal
    return {handover.handle, *own, *([] if journal is None else [journal.handle])}


@contextlib.contextmanager
def _undisturbed(*, quiet: bool) -> Iterator[None]:
    """Let no signal end this process, but SIGKILL and a second Ctrl-C.

    What would be lost is the report of a script that has ended.
    """
    held = HeldSignals(None if quiet else _tell)
    for number in ENDING - {signal.SIGINT}:
        with contextlib.suppress(OSError):  # reserved by the C library
            signal.signal(number, signal.SIG_IGN)
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        held.hold()
    signal.pthread_sigmask(signal.SIG_UNBLOCK, signal.valid_signals())
    try:
        yield
    except KeyboardInterrupt:
        say("hookcli: interrupted: the report is not written")


def _tell() -> None:
    say("hookcli: the report is being written: press Ctrl-C again to end without it")


def _judge(end: EndRequest, own: bytes, others: Sequence[bytes] = ()) -> int:
    from hookcli.cli.training.end_of_run import judged_and_written, keep

    try:
        return judged_and_written(end, own, others)
    except InterruptedRun:  # stdout was closed
        return keep(end, own)


def _with_status(own: bytes, ended: dict[str, Any] | None, end: ProcessEnd) -> bytes:
    """Return a report with the status of the process, which ended after it had been made.

    Python may end with another one than the script: 1 instead of SIGINT if code ran after Ctrl-C,
    or a signal if a library crashes when it is unloaded.
    """
    status = _status_of(end)
    if ended is None or ended["status"] == status:
        return own
    report = training_from_json(own)
    warnings = report.warnings
    if ended["ended"] != "interrupted" or status != _AFTER_CTRL_C:
        how = f"by {name_of(end.signum)}" if end.signum else f"with exit status {status}"
        why = f"after the script, which had exit status {ended['status']}, Python ended {how}"
        warnings = (*warnings, why)
    script = dataclasses.replace(report.script, status=status)
    return training_to_json(dataclasses.replace(report, script=script, warnings=warnings)).encode()


def _judge_journal(request: TrainingRequest, script: ScriptInfo) -> int:
    """Judge what the journal has of a script that could not report its end."""
    journal = request.job.journal
    if journal is None or not os.path.exists(journal.path):  # noqa: PTH110  # else it is settled
        return Status.FINE
    reader = JournalReader(journal.path)
    try:
        reader.update()
        if reader.is_empty():  # torch was not imported
            if request.end.journal is not None:
                remove_journal(request.end.journal)
            return Status.FINE
        report = reader.ended_report(script)
    except HookcliError as error:
        request.end.console.note(f"the report is not written: {error}")
        return Status.FINE
    return _judge(request.end, training_to_json(report).encode())


def _script_info(
    request: TrainingRequest, ended: dict[str, Any] | None, end: ProcessEnd
) -> ScriptInfo:
    """Return how the script has ended, as it has told, or as its process did."""
    script = request.job.script
    told: dict[str, Any] = ended or {"ended": "exit", "status": end.status}
    if ended is None and end.signum is not None:
        told = {"ended": "signal", "status": _status_of(end), "error": name_of(end.signum)}
    return ScriptInfo(
        name=script.name,
        arguments=tuple(script.arguments),
        is_module=script.is_module,
        **told,
    )


def _status_of(end: ProcessEnd) -> int | None:
    """Return the exit status as a shell shows it."""
    return end.status if end.signum is None else 128 + end.signum


def _as_told(ended: dict[str, Any]) -> ProcessEnd:
    status = int(ended["status"])
    if ended["ended"] == "interrupted" and status == _INTERRUPTED:
        return ProcessEnd(None, signal.SIGINT)
    return ProcessEnd(status, None)
