"""The child's side: guards itself against the model, runs one job, answers, and ends."""

from __future__ import annotations

import atexit
import faulthandler
import os
import signal
import sys
import traceback
from dataclasses import replace
from typing import TYPE_CHECKING, NoReturn, cast

from hookcli.errors import (
    BugError,
    HookcliError,
    LeftDebugger,
    ModelError,
    QuitError,
    is_own,
    trace_of,
)
from hookcli.sentences import BUG_HINT, hookcli_failed
from hookcli.spec.request import Terminal
from hookcli.worker.child import guard
from hookcli.worker.last_event import LastEvent, LastEventWriter, is_ours, user_line
from hookcli.worker.protocol import (
    PIPE_LOST,
    FailureMessage,
    Job,
    ReportMessage,
    receive_job,
    send_answer,
)

if TYPE_CHECKING:
    from hookcli.report.recording import CallNote


class _Progress:
    """Writes each event to the black box, and keeps it for an error that nobody else caught."""

    def __init__(self, box: LastEventWriter, outlet: guard.Outlet) -> None:
        self._box = box
        self._outlet = outlet
        self.last = LastEvent("start", None, None, None)

    def __call__(self, phase: str, note: CallNote | None, step: int | None = None) -> None:
        if self._outlet.is_fork:  # the box tells of the process that answers
            return
        step = self.last.step if step is None else step
        if note is None:
            guard.room_to_work()
            if phase == "inputs":
                guard.collect_as_usual()
            self.last = LastEvent(phase, None, None, None, step)
        else:
            name = f"<{note.type}>" if note.name is None else note.name
            self.last = LastEvent(phase, name, note.index, note.place, step)
        self._box.write(self.last)

    def doing(self, text: str) -> None:
        """Note what is done within the phase."""
        if not self._outlet.is_fork:
            self.last = replace(self.last, doing=text)
            self._box.write(self.last)


def _imports() -> BaseException | None:
    """Import torch and what runs a model, the longest part of many runs; what it raised."""
    try:
        import hookcli.run.attempt  # noqa: F401
    except BaseException as error:  # noqa: BLE001  # told as the job's own failure
        return error
    return None


def _work(job: Job, progress: _Progress) -> ReportMessage:
    from hookcli.report.encode import to_json
    from hookcli.run.attempt import Session

    outcome = Session(job.spec, job.attempt, progress, progress.doing).run()
    text = to_json(outcome.report)
    return ReportMessage(
        text,
        outcome.declaration,
        outcome.inferred,
        outcome.trials,
        outcome.report.error is not None,
        outcome.others(text),
    )


def main(job_fd: int, answer_fd: int, box_fd: int, dump_fd: int) -> NoReturn:
    """Run one job. Never returns."""
    job_fd, answer_fd, box_fd, dump_fd = (
        guard.out_of_reach(fd) for fd in (job_fd, answer_fd, box_fd, dump_fd)
    )
    guard.collect_rarely()
    faulthandler.enable(file=dump_fd, all_threads=False)
    faulthandler.register(signal.SIGUSR1, file=dump_fd, all_threads=False)
    outlet = guard.Outlet(answer_fd)
    failed = _imports()
    # Leave no litter beside the user's files, from processes that the model starts either.
    sys.dont_write_bytecode = True
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
    try:
        job = receive_job(job_fd)
    except EOFError:  # the parent is gone already
        guard.leave(0)
    guard.end_with_parent(job_fd)
    job = _with_terminal_out_of_reach(job)
    sys.argv = [job.spec.model.source]
    progress = _Progress(LastEventWriter(box_fd), outlet)
    message: ReportMessage | FailureMessage
    try:
        if failed is not None:
            raise failed
        message = _work(job, progress)
    except BaseException as error:  # noqa: BLE001  # the last resort
        guard.room_to_work()
        message = FailureMessage(progress.last.phase, _as_ours(error, progress.last, job))
    _answer(outlet, message)


def _with_terminal_out_of_reach(job: Job) -> Job:
    terminal = job.spec.terminal
    if terminal is None:
        return job
    moved = Terminal(*map(guard.out_of_reach, (terminal.screen, terminal.prompt)))
    return replace(job, spec=replace(job.spec, terminal=moved))


def _as_ours(error: BaseException, last: LastEvent, job: Job) -> HookcliError:
    """What came out of the run: an error that was said already, the model's, or our bug.

    The user's code is also called where nobody expects it to raise: a `train` of its own, a
    property. And hookcli itself never raises what is no `Exception`.
    """
    if is_own(error):
        return cast(HookcliError, error)
    if type(error) is LeftDebugger:
        return QuitError(
            f"the run was ended from the debugger, {last.sentence()}",
            place=error.place,
            hint="leave the debugger with c to let the run go on",
        )
    from hookcli.models.failures import failure_of

    failure = failure_of(error, last.phase)
    frames = _frames(error)
    place = user_line(reversed(frames))
    before = vars(BaseException)["__context__"].__get__(error)
    if place is None and before is not None and not (frames and is_ours(frames[-1][0])):
        place = user_line(reversed(_frames(before)))  # one that Python's own code cannot handle
    # What the user named may be code of Python's own: builtins:breakpoint, as a model, is built.
    theirs = last.phase == "build" and bool(frames) and not is_ours(frames[-1][0])
    if place is None and issubclass(type(error), Exception) and not theirs:
        file, line = frames[-1] if frames else (__file__, 0)
        return BugError(
            hookcli_failed(f"{failure.type}: {' '.join(failure.message.split())}"),
            place=f"{os.path.basename(file)}:{line}",  # noqa: PTH119
            hint=BUG_HINT,
            details=failure.details,
        )
    return ModelError(
        f"{failure.type} {last.sentence()}: {' '.join(failure.message.split())}",
        place=place or job.spec.model.source,
        hint="run with -v for the traceback",
        details=failure.details,
    )


def _frames(error: BaseException) -> list[tuple[str, int]]:
    """Files and lines, outermost first."""
    return [(f.f_code.co_filename, line) for f, line in traceback.walk_tb(trace_of(error))]


def _answer(outlet: guard.Outlet, message: ReportMessage | FailureMessage) -> NoReturn:
    """Send the message, run the model's exit handlers, and end."""
    guard.flush()
    if outlet.is_fork:
        guard.leave(0)
    try:
        if not outlet.is_open:
            guard.leave(PIPE_LOST)
        send_answer(outlet.fd, message)
    except OSError:
        guard.leave(PIPE_LOST)
    try:
        atexit._run_exitfuncs()
        guard.flush()
        guard.flush_c()
    finally:
        guard.leave(0)
