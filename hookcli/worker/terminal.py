"""The user's terminal for a debugger in the worker, which has no terminal of its own.

The worker leads a session without a controlling terminal: what the user types, and the signals of
Ctrl-C and Ctrl-Z, come to this process. The terminal is handed over as a descriptor, and signals
are passed on while the debugger asks.
"""

from __future__ import annotations

import contextlib
import os
import signal
import termios
import threading
from collections.abc import Iterator
from types import FrameType

from hookcli.errors import RequestError
from hookcli.spec.hooks import ActionSpec
from hookcli.spec.request import Terminal
from hookcli.worker.process import end_unused, shared_memory


@contextlib.contextmanager
def user_terminal(action: ActionSpec, *, several_ranks: bool) -> Iterator[Terminal]:
    """The user's terminal, for an action that asks there.

    The terminal's settings are afterwards as they were.

    Raises
    ------
    RequestError : there is no terminal to ask at, or several ranks would ask at once.

    """
    if several_ranks:
        raise RequestError(
            f"{action.name} needs the terminal, which several ranks cannot share",
            place=action.place,
            hint="omit `--nproc` to run one process",
        )
    terminal = Terminal(_open(action), shared_memory())
    end_unused()  # it was started without the terminal
    settings = termios.tcgetattr(terminal.screen)
    try:
        yield terminal
    finally:
        with contextlib.suppress(termios.error, OSError):  # it was closed
            if termios.tcgetattr(terminal.screen) != settings:
                termios.tcsetattr(terminal.screen, termios.TCSADRAIN, settings)
        os.close(terminal.screen)
        os.close(terminal.prompt)


def _open(action: ActionSpec) -> int:
    """A descriptor of this process's terminal, in the foreground of which it is."""
    background = False
    for path in _paths():
        try:
            fd = os.open(path, os.O_RDWR | os.O_NOCTTY)
        except OSError:
            continue
        with contextlib.suppress(OSError):  # the terminal of another session
            if os.tcgetpgrp(fd) == os.getpgrp():
                return fd
            background = True
        os.close(fd)
    problem = "hookcli runs in the background of it" if background else "none is available"
    raise RequestError(
        f"{action.name} needs a terminal, but {problem}",
        place=action.place,
        hint="run hookcli in the foreground of a terminal, or use the action `print` or `save`",
    )


def _paths() -> Iterator[str]:
    """The terminal by its own name, which another session can use everywhere; else as Linux can."""
    for fd in range(3):
        with contextlib.suppress(OSError):
            yield os.ttyname(fd)
    yield "/dev/tty"


@contextlib.contextmanager
def signals_passed_on(child: int, terminal: Terminal) -> Iterator[None]:
    """Have Ctrl-C end the debugger's command, not the run; and Ctrl-Z stop the child too.

    A Ctrl-C while the model runs does what it did before.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    ends, stops = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTSTP)

    def interrupt(number: int, frame: FrameType | None) -> None:
        if terminal.asks():
            with contextlib.suppress(ProcessLookupError):
                os.kill(child, signal.SIGINT)
        elif callable(ends):
            ends(number, frame)

    def stop(_number: int, _frame: FrameType | None) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(child, signal.SIGSTOP)  # or it would read what is typed to the shell
        os.kill(os.getpid(), signal.SIGSTOP)
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(child, signal.SIGCONT)

    if callable(ends):  # not where it is ignored
        signal.signal(signal.SIGINT, interrupt)
    if stops is signal.SIG_DFL:
        signal.signal(signal.SIGTSTP, stop)
    try:
        yield
    finally:
        for number, ours, before in (
            (signal.SIGINT, interrupt, ends),
            (signal.SIGTSTP, stop, stops),
        ):
            if signal.getsignal(number) is ours:  # an interruption has set another
                signal.signal(number, before)
