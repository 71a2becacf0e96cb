"""Give a debugger in the worker the user's terminal, because the worker has no terminal.

The worker leads a session without a controlling terminal: keyboard input and the signals of Ctrl-C
and Ctrl-Z come to this process. The terminal is passed on as a descriptor, and signals are passed
on while the debugger waits for input.
"""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from collections.abc import Iterator
from types import FrameType

from hookcli.errors import RequestError
from hookcli.spec.hooks import ActionSpec
from hookcli.spec.request import Terminal
from hookcli.worker.process import end_unused, shared_memory
from hookcli.worker.systems import check_workers


@contextlib.contextmanager
def user_terminal(action: ActionSpec, *, several_ranks: bool) -> Iterator[Terminal]:
    """Open the user's terminal for an interactive action.

    The terminal's settings are restored afterwards.

    Raises
    ------
    RequestError : there is no terminal, or several ranks would share it.

    """
    check_workers()
    import termios  # not on Windows

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
    """Return a descriptor of this process's terminal, if the process is in its foreground."""
    background = False
    for path in _paths():
        try:
            fd = os.open(path, os.O_RDWR | os.O_NOCTTY)
        except OSError:
            continue
        with contextlib.suppress(OSError):  # it belongs to another session
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
    """Yield the terminal's own name, which works in another session everywhere, then /dev/tty."""
    for fd in range(3):
        with contextlib.suppress(OSError):
            yield os.ttyname(fd)
    yield "/dev/tty"


@contextlib.contextmanager
def signals_passed_on(child: int, terminal: Terminal) -> Iterator[None]:
    """Make Ctrl-C end the debugger's command instead of the run, and Ctrl-Z stop the child too.

    While the model runs, Ctrl-C has its usual effect.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    on_interrupt, on_stop = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTSTP)

    def interrupt(number: int, frame: FrameType | None) -> None:
        if terminal.asks():
            with contextlib.suppress(ProcessLookupError):
                os.kill(child, signal.SIGINT)
        elif callable(on_interrupt):
            on_interrupt(number, frame)

    def stop(_number: int, _frame: FrameType | None) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(child, signal.SIGSTOP)  # otherwise it would read the input of the shell
        os.kill(os.getpid(), signal.SIGSTOP)
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(child, signal.SIGCONT)

    if callable(on_interrupt):  # not if the signal is ignored
        signal.signal(signal.SIGINT, interrupt)
    if on_stop is signal.SIG_DFL:
        signal.signal(signal.SIGTSTP, stop)
    try:
        yield
    finally:
        for number, ours, before in (
            (signal.SIGINT, interrupt, on_interrupt),
            (signal.SIGTSTP, stop, on_stop),
        ):
            if signal.getsignal(number) is ours:  # an interruption may have set another handler
                signal.signal(number, before)
