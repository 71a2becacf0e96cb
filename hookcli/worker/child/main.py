"""The worker's main function: runs one job, sends the answer, and ends."""

from __future__ import annotations

import atexit
import faulthandler
import gc
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
from hookcli.refusals import is_short_of, refusal
from hookcli.sentences import BUG_HINT, hookcli_failed
from hookcli.spec.request import Terminal, script_argv
from hookcli.text import join_names
from hookcli.worker.child import guard, overrides
from hookcli.worker.child.lost_streams import forgive_lost_streams
from hookcli.worker.child.process_state import ProcessState
from hookcli.worker.child.torch_import import import_torch, placed
from hookcli.worker.child.user_warnings import show_places_of_user
from hookcli.worker.last_event import LastEvent, LastEventWriter, is_ours, user_line
from hookcli.worker.protocol import (
    PIPE_LOST,
    FailureMessage,
    Job,
    ReportMessage,
    receive_job,
    send_answer,
)
from hookcli.worker.watched import opened_files

if TYPE_CHECKING:
    from hookcli.report.recording import CallNote


_ANY = BaseException  # a model may remove the name from the builtins


class _Progress:
    """Writes each event where the parent can read it, and keeps the last one for error messages."""

    def __init__(
        self, writer: LastEventWriter, answer_pipe: guard.AnswerPipe, state: ProcessState
    ) -> None:
        self._writer = writer
        self._state = state
        self._answer_pipe = answer_pipe
        self.last = LastEvent("start", None, None, None)
        self._has_run = self._is_probed = False

    def __call__(self, phase: str, note: CallNote | None, step: int | None = None) -> None:
        if self._answer_pipe.is_fork:  # the parent reads the events of the process that answers
            return
        step = self.last.step if step is None else step
        if note is None:
            guard.raise_recursion_limit()
            if phase == "inputs":
                guard.collect_garbage_normally()
                self._state.leave_mark()
            elif phase == "forward":
                if not self._has_run:  # not before each step: a collection takes time
                    self._has_run = True
                    self._set_records_aside()
            elif phase == "report":
                guard.collect_no_garbage()
            self.last = LastEvent(phase, None, None, None, step)
        else:
            name = f"<{note.type}>" if note.name is None else note.name
            self.last = LastEvent(phase, name, note.index, note.place, step)
        self._writer.write(self.last)

    def doing(self, text: str) -> None:
        """Record the work that is done within the phase."""
        if not self._answer_pipe.is_fork:
            if self._has_run and not self._is_probed:
                self._is_probed = True
                self._set_records_aside()
            self.last = replace(self.last, doing=text)
            self._writer.write(self.last)

    def _set_records_aside(self) -> None:
        guard.set_aside_records()
        self._state.leave_mark()


def import_run() -> BaseException | None:
    """Import torch and hookcli.engine, which takes most of many runs; return the error, if any."""
    gc.disable()  # to collect garbage would take a tenth of the time
    try:
        import_torch()
        import hookcli.engine.attempt  # noqa: F401
    except BaseException as error:  # noqa: BLE001  # reported as the job's failure
        return error
    finally:
        gc.freeze()  # nothing that is imported is garbage: no collection needs to look at it
        gc.enable()
    return None


def _run_job(job: Job, progress: _Progress) -> ReportMessage:
    from hookcli.engine.attempt import Session
    from hookcli.models.fake import lazy_compiler
    from hookcli.report.encode import to_json

    # Process groups ask the compiler to clear its caches.
    compiles = job.spec.compiled is not None or job.spec.run.compiled is not None
    if job.attempt.rank is None and not compiles:
        lazy_compiler.install(fake=job.attempt.tensors == "fake")
    if job.spec.parallel is not None and job.spec.parallel.role != "reference":
        from hookcli.engine.parallel.run import run_parallel  # only for a plan

        outcome = run_parallel(job.spec, job.attempt, job.spec.parallel, progress)
    elif job.spec.compiled is not None:
        from hookcli.engine.compiled.session import CompiledSession  # only to compile

        outcome = CompiledSession(job.spec, job.attempt, job.spec.compiled, progress).run()
    else:
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


def main(job_fd: int, answer_fd: int, event_fd: int, dump_fd: int, alive_fd: int) -> NoReturn:
    """Run one job and end the process.

    The arguments are descriptors: the pipe of the job, the pipe of the answer, the memory of the
    last event, the file for faulthandler's dump, and the pipe that the parent closes as it ends.
    """
    job_fd, answer_fd, event_fd, dump_fd, alive_fd = map(
        guard.move_high, (job_fd, answer_fd, event_fd, dump_fd, alive_fd)
    )
    forgive_lost_streams()
    guard.collect_garbage_rarely()
    faulthandler.enable(file=dump_fd, all_threads=False)
    faulthandler.register(signal.SIGUSR1, file=dump_fd, all_threads=False)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGUSR1})  # blocked by hookcli's caller
    answer_pipe = guard.AnswerPipe(answer_fd)
    import_error = import_run()
    # Write no bytecode next to the user's files, in processes that the model starts either.
    sys.dont_write_bytecode = True
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
    try:
        job = receive_job(job_fd)
    except EOFError:  # the parent has ended already
        guard.exit_now(0)
    os.close(job_fd)
    guard.end_with_parent(alive_fd)
    job = _with_terminal_moved(job)
    if job.opened is not None:
        opened_files.record(job.opened)
    sys.argv = script_argv(job.spec.model)
    state = ProcessState()
    progress = _Progress(LastEventWriter(event_fd), answer_pipe, state)
    show_places_of_user(lambda: progress.last.place or job.spec.model.source)
    message: ReportMessage | FailureMessage
    try:
        if import_error is not None:
            raise placed(import_error, job.spec.run.python)
        message = _run_job(job, progress)
    except _ANY as error:  # the last resort
        replaced = (*state.restore(), *state.changed_of_torch())
        guard.raise_recursion_limit()
        if state.is_cleared:
            found: HookcliError = _cleared(progress.last, job)
        else:
            found = _as_hookcli_error(error, progress.last, job, replaced)
        message = FailureMessage(progress.last.phase, found)
    else:
        state.restore()
        if state.is_cleared:
            message = FailureMessage(progress.last.phase, _cleared(progress.last, job))
    if job.opened is not None:
        opened_files.note_modules(job.opened)
    _answer(answer_pipe, message, job.token)


def _with_terminal_moved(job: Job) -> Job:
    terminal = job.spec.terminal
    if terminal is None:
        return job
    moved = Terminal(*map(guard.move_high, (terminal.screen, terminal.prompt)))
    return replace(job, spec=replace(job.spec, terminal=moved))


def _as_hookcli_error(
    error: BaseException, last: LastEvent, job: Job, replaced: tuple[str, ...]
) -> HookcliError:
    """Return the error that the run raised as an error of hookcli, of the model, or as a bug.

    It is the model's if the model `replaced` what hookcli needs. User code can also raise where
    hookcli does not expect it: in its own `train`, in a property. An error that is not an
    `Exception` is never hookcli's own.
    """
    if is_own(error):
        return cast(HookcliError, error)
    if type(error) is LeftDebugger:
        return QuitError(
            f"the run was ended from the debugger, {last.sentence()}",
            place=error.place,
            hint="leave the debugger with c to let the run go on",
        )
    from hookcli.models import places
    from hookcli.models.failures import failure_of

    failure = failure_of(error, last.phase)
    frames = _frames(error)
    place = user_line(reversed(frames))
    context = vars(BaseException)["__context__"].__get__(error)
    if place is None and context is not None and not (frames and is_ours(frames[-1][0])):
        place = user_line(reversed(_frames(context)))  # Python's own code failed to handle it
    # MODEL may name code of Python itself, such as builtins:breakpoint, which is built here.
    from_build = last.phase == "build" and bool(frames) and not is_ours(frames[-1][0])
    if place is None and issubclass(type(error), Exception) and not from_build:
        if replaced:
            return ModelError(
                f"the model replaced {join_names(replaced, 3)}, {last.sentence()}",
                place=job.spec.model.source,
                hint="remove the code that replaces it: hookcli needs it to observe the run",
                details=failure.details,
            )
        if is_short_of(error) and (refused := refusal(error)) is not None:
            return refused
        if override := overrides.behind(trace_of(error)):
            return ModelError(
                f"{override.sentence}, {last.sentence()}: {failure.type}",
                place=places.of_class(override.kind) or job.spec.model.source,
                hint="give it another name, or the behaviour that nn.Module documents",
                details=failure.details,
            )
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


def _cleared(last: LastEvent, job: Job) -> ModelError:
    return ModelError(
        f"the model changed dictionaries or lists of other code through `gc`, {last.sentence()}",
        place=job.spec.model.source,
        hint="remove the code that changes objects from `gc.get_objects()`",
    )


def _frames(error: BaseException) -> list[tuple[str, int]]:
    """The files and lines of an error's traceback, outermost first."""
    return [(f.f_code.co_filename, line) for f, line in traceback.walk_tb(trace_of(error))]


def _answer(
    answer_pipe: guard.AnswerPipe, message: ReportMessage | FailureMessage, token: bytes
) -> NoReturn:
    """Send the message, run the model's exit handlers, and end."""
    guard.flush()
    if answer_pipe.is_fork:
        guard.exit_now(0)
    try:
        if not answer_pipe.is_open:
            guard.exit_now(PIPE_LOST)
        send_answer(answer_pipe.fd, message, token)
    except OSError:
        guard.exit_now(PIPE_LOST)
    try:
        atexit._run_exitfuncs()
        guard.flush()
        guard.flush_c()
    finally:
        guard.exit_now(0)
