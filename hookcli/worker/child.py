"""The child's side: guards itself against the model, runs one job, answers, and ends."""

from __future__ import annotations

import faulthandler
import os
import signal
import sys
import threading
import traceback
from typing import TYPE_CHECKING

from hookcli.errors import BugError, HookcliError
from hookcli.worker.blackbox import Writer
from hookcli.worker.protocol import FailureMessage, Job, ReportMessage, receive_job, send_answer

if TYPE_CHECKING:
    from hookcli.report.recording import CallNote


def _end_with(job_fd: int) -> None:
    """End the process group when the parent is gone: it holds the other end of the job's pipe."""
    try:
        while os.read(job_fd, 1):
            pass
    except OSError:  # the model closed it: nothing can be told from it any more
        return
    os.killpg(os.getpgrp(), signal.SIGKILL)


class _Progress:
    """Writes each event to the black box."""

    def __init__(self, box: Writer) -> None:
        self._box = box
        self.phase = "start"

    def __call__(self, phase: str, note: CallNote | None) -> None:
        self.phase = phase
        if note is None:
            self._box.write(phase, None, 0, None)
        else:
            name = f"<{note.type}>" if note.name is None else note.name
            self._box.write(phase, name, note.index, note.place)


def _work(job: Job, progress: _Progress, answer_fd: int) -> None:
    from hookcli.report.encode import to_json
    from hookcli.run.session import Session

    report, declaration = Session(job.spec, job.attempt, progress).run()
    message = ReportMessage(to_json(report), declaration)
    _flush()
    send_answer(answer_fd, message)


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError, AttributeError):  # the model closed or replaced it
            continue


def main(job_fd: int, answer_fd: int, box_fd: int, dump_fd: int) -> None:
    """Run one job. Never returns."""
    faulthandler.enable(file=dump_fd, all_threads=False)
    faulthandler.register(signal.SIGUSR1, file=dump_fd, all_threads=False)
    for fd in (job_fd, answer_fd, box_fd, dump_fd):
        os.set_inheritable(fd, False)
    sys.dont_write_bytecode = True  # leave no litter beside the user's files
    progress = _Progress(Writer(box_fd))
    job = receive_job(job_fd)
    threading.Thread(target=_end_with, args=(job_fd,), daemon=True).start()
    sys.argv = [job.spec.model.source]
    try:
        _work(job, progress, answer_fd)
    except HookcliError as error:
        _flush()
        send_answer(answer_fd, FailureMessage(progress.phase, error))
    except BaseException as error:  # noqa: BLE001  # the last resort: it is our bug
        _flush()
        send_answer(answer_fd, FailureMessage(progress.phase, _bug(error)))
    _leave()


def _bug(error: BaseException) -> HookcliError:
    last = traceback.extract_tb(error.__traceback__)[-1]
    return BugError(
        f"hookcli failed: {type(error).__name__}: {' '.join(str(error).split())}",
        place=f"{os.path.basename(last.filename)}:{last.lineno}",  # noqa: PTH119
        hint="this is a bug in hookcli: please report it with the output of -v",
        details="".join(traceback.format_exception(error)),
    )


def _leave() -> None:
    """Run the model's exit handlers and end, without taking torch apart piece by piece."""
    import atexit

    atexit._run_exitfuncs()
    _flush()
    os._exit(0)
