"""The signals that end a process, in one list."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Iterator

# What does not end a process by default, what cannot be caught, what a fault of the process itself
# sends, and what Python ignores from its start.
_OTHERS = {
    getattr(signal, name, None)
    for name in (
        "SIGCHLD", "SIGCONT", "SIGURG", "SIGWINCH", "SIGINFO", "SIGTSTP", "SIGTTIN", "SIGTTOU",
        "SIGKILL", "SIGSTOP",
        "SIGSEGV", "SIGBUS", "SIGFPE", "SIGILL", "SIGTRAP", "SIGSYS", "SIGEMT",
        "SIGPIPE", "SIGXFSZ",
    )
}  # fmt: skip
ENDING = frozenset(signal.valid_signals()) - _OTHERS


@contextlib.contextmanager
def ending_delayed() -> Iterator[None]:
    """Delay the signals that end this process until the block is complete."""
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ENDING)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def name_of(number: int) -> str:
    """Return the name of a signal, such as SIGTERM; "signal 40" for one without a name."""
    try:
        return signal.Signals(number).name
    except ValueError:  # a real-time signal
        return f"signal {number}"
