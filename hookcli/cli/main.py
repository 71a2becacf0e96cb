"""Signals and closed streams become exit statuses, in every phase of a command."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from types import FrameType

from hookcli.cli.app import run, will_run
from hookcli.errors import InterruptedRun, RequestError, Status, note_signal
from hookcli.worker.interpreter.choice import early_choice
from hookcli.worker.process import end_unused, start_ahead
from hookcli.worker.progress import screen

TYPE_CHECKING = False  # type checkers know this name; importing typing takes time
if TYPE_CHECKING:
    from typing import NoReturn

_STATUS = {signal.SIGINT: Status.INTERRUPTED, signal.SIGTERM: Status.TERMINATED}
if hasattr(signal, "SIGHUP"):  # not on Windows
    _STATUS[signal.SIGHUP] = Status.HUNG_UP
_WORDS = {Status.INTERRUPTED: "interrupted", Status.HUNG_UP: "the terminal was closed"}


def _stop(signum: int, _frame: FrameType | None) -> None:
    for signal_number in _STATUS:  # a second signal must not interrupt the clean-up
        signal.signal(signal_number, signal.SIG_IGN)
    interruption = InterruptedRun(_STATUS[signal.Signals(signum)])
    note_signal(interruption)
    raise interruption


def guarded(arguments: list[str]) -> int:
    """Return the command's exit status, whatever ends it."""
    note_signal(None)
    _fill_standard_streams()
    # If it is ignored, children have no status. A script gets it as it is.
    if hasattr(signal, "SIGCHLD") and arguments[:1] != ["run"]:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    for signal_number in _STATUS:
        if (
            signal.getsignal(signal_number) is not signal.SIG_IGN
        ):  # nohup, or a shell's background job
            signal.signal(signal_number, _stop)
    encoding = getattr(sys.stderr, "encoding", None)
    screen.allow(encoding, quiet=not {"-q", "--quiet"}.isdisjoint(arguments))
    try:
        if will_run(arguments):
            # The run itself reports it if no process can be started.
            with contextlib.suppress(OSError, RequestError):
                start_ahead(early_choice(arguments))
        return run(arguments)
    except BrokenPipeError:
        return _closed()
    except InterruptedRun as interruption:
        if interruption.status is Status.CLOSED_STDOUT:
            return _closed()
        _print_interruption(interruption)
        return interruption.status
    except Exception as error:  # noqa: BLE001  # outside of commands, such as in the help
        return _reported(error)
    finally:
        end_unused()
        screen.close()
        for signal_number in _STATUS:
            if (
                signal.getsignal(signal_number) is _stop
            ):  # the command has ended: nothing would catch the interruption
                signal.signal(signal_number, signal.SIG_IGN)


def leave(status: int) -> NoReturn:
    """Exit without Python's clean-up of modules, which takes as long as a short command."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError, AttributeError):
            stream.flush()
    os._exit(status)


def _fill_standard_streams() -> None:
    """Open /dev/null for closed standard streams, so that no pipe of ours gets their numbers."""
    for fd in range(3):
        try:
            os.fstat(fd)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # gets the lowest free number, which is fd


def _print_interruption(interruption: InterruptedRun) -> None:
    from hookcli.console import escape

    word = _WORDS.get(interruption.status, "terminated")
    where = f", {interruption.where}" if interruption.where else ""
    try:
        sys.stderr.write(f"{word}{escape(where)}\n")
        sys.stderr.flush()
    except (OSError, ValueError, AttributeError):
        return


def _reported(error: Exception) -> int:
    from hookcli.cli.errors import reported
    from hookcli.console import Console

    return reported(error, Console())


def _closed() -> int:
    """End silently. Buffered output is discarded, so that Python does not complain at exit."""
    with contextlib.suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    return Status.CLOSED_STDOUT
