"""How the processes of the command line end: by a signal, with a status, with whole streams."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from types import FrameType

from hookcli.errors import InterruptedRun, Status, note_signal
from hookcli.system.null_device import open_null
from hookcli.system.signals import ENDING, name_of

TYPE_CHECKING = False  # type checkers know this name; importing typing takes time
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import NoReturn

_STATUS: dict[int, Status] = {signal.SIGINT: Status.INTERRUPTED, signal.SIGTERM: Status.TERMINATED}
if hasattr(signal, "SIGHUP"):  # not on Windows
    _STATUS[signal.SIGHUP] = Status.HUNG_UP
_WORDS: dict[Status | None, str] = {
    Status.INTERRUPTED: "interrupted",
    Status.HUNG_UP: "the terminal was closed",
    Status.TERMINATED: "terminated",
}


def _stop(signum: int, _frame: FrameType | None) -> None:
    for number in ENDING:  # a second signal must not interrupt the clean-up
        signal.signal(number, signal.SIG_IGN)
    interruption = InterruptedRun(_STATUS.get(signum), signum)
    note_signal(interruption)
    raise interruption


@contextlib.contextmanager
def signals_raised() -> Iterator[None]:
    """Raise `InterruptedRun` when a signal would end the process, so that it cleans up.

    A signal that is ignored stays so, as under nohup and in a background job of a shell.
    """
    note_signal(None)
    for number in ENDING:
        if signal.getsignal(number) is not signal.SIG_IGN:
            with contextlib.suppress(OSError):  # reserved by the C library
                signal.signal(number, _stop)
    try:
        yield
    finally:
        for number in ENDING:
            if signal.getsignal(number) is _stop:
                # The command has ended: nothing would catch the interruption.
                signal.signal(number, signal.SIG_IGN)


def status_of(interruption: InterruptedRun) -> int:
    """Return the status of a command that was interrupted.

    A signal that has no status of its own ends the process here, as it does by default.
    """
    if interruption.status is not None:
        return interruption.status
    number = interruption.signum or signal.SIGTERM
    flush_streams()
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)
    return 128 + number  # it is blocked


def leave(status: int) -> NoReturn:
    """Exit without Python's clean-up of modules, which takes as long as a short command."""
    flush_streams()
    os._exit(status)


def flush_streams() -> None:
    """Write what is buffered. A stream that cannot be written is left alone."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError, AttributeError):
            stream.flush()


def fill_standard_streams() -> None:
    """Open /dev/null for closed standard streams, so that no pipe of ours gets their numbers."""
    for fd in range(3):
        try:
            os.fstat(fd)
        except OSError:
            open_null()  # gets the lowest free number, which is fd


def print_interruption(interruption: InterruptedRun) -> None:
    """Print what ended the command, and how far it was."""
    from hookcli.console import escape

    word = _WORDS.get(interruption.status) or f"ended by {name_of(interruption.signum or 0)}"
    where = f", {interruption.where}" if interruption.where else ""
    try:
        sys.stderr.write(f"{word}{escape(where)}\n")
        sys.stderr.flush()
    except (OSError, ValueError, AttributeError):
        return
