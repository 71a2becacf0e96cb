"""Keeps the script's handlers of signals from ending what hookcli does in the script's process.

It imports only what Python has loaded.
"""

from __future__ import annotations

import sys
import time

TYPE_CHECKING = False  # known to type checkers: importing typing is not what plain Python does
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType
    from typing import Any
else:
    Any = object

_signal: Any = sys.modules["_signal"]  # built into Python, unlike the module signal
_SIGINT = 2
_TIMERS = ("ITIMER_REAL", "ITIMER_VIRTUAL", "ITIMER_PROF")
_APART = 1.0  # seconds after which another Ctrl-C means it: a person presses the first ones at once


class HeldSignals:
    """Holds back each signal that has a handler, and Ctrl-C, from `hold` until `release`.

    With `at_end`, nothing ends the process that cannot do so in plain Python, which has ended by
    then: timers stand still, and SIGPIPE is held back too.

    `tell` is called at the first Ctrl-C, if it is given. One that comes later than a second after
    the first raises KeyboardInterrupt once, so that a person can end what does not end.
    """

    def __init__(self, tell: Callable[[], None] | None = None, *, at_end: bool = False) -> None:
        self._tell = tell
        self._at_end = at_end
        self._timers: dict[int, tuple[float, float]] = {}  # seconds left, interval
        self._without_handler = {_SIGINT}  # held even if the script has set their default
        if at_end and hasattr(_signal, "SIGPIPE"):
            self._without_handler.add(_signal.SIGPIPE)
        self._first: float | None = None  # the time of the first Ctrl-C
        self._has_raised = False
        self._now = time.monotonic  # the script may replace it
        self._before: dict[int, Any] = {}
        self._noted: list[int] = []
        self._own = self._note  # one object, by which it is known again

    def hold(self) -> None:
        """Replace the handlers. Nothing happens in a thread that must not do so.

        A signal that comes before its handler is replaced raises what that handler raises. Then
        call this again.
        """
        if self._at_end:
            self._stop_timers()
        for number in (_SIGINT, *range(1, _signal.NSIG)):
            try:
                handler = _signal.getsignal(number)
                if handler is self._own:
                    continue
                is_default = number in self._without_handler and handler == _signal.SIG_DFL
                if callable(handler) or is_default:
                    self._before[number] = handler
                    _signal.signal(number, self._own)
            except (OSError, ValueError, RuntimeError):  # not on this system, or in a thread
                self._before.pop(number, None)

    def release(self) -> list[int]:
        """Set the script's handlers again, and return the signals that came, in their order.

        That of Ctrl-C is the last, as it raises what has come since.
        """
        while self._timers:
            number, (left, interval) = self._timers.popitem()
            _signal.setitimer(number, left, interval)
        for number, handler in reversed([*self._before.items()]):
            try:
                _signal.signal(number, handler)
            except (OSError, ValueError, RuntimeError, TypeError):
                continue
        self._before.clear()
        noted, self._noted = self._noted, []
        return noted

    def ignored_by_children(self) -> None:
        """Ignore Ctrl-C at this moment: a process that is started now inherits that."""
        if _SIGINT in self._before:
            _signal.signal(_SIGINT, _signal.SIG_IGN)

    def noted_again(self) -> None:
        """Undo `ignored_by_children`."""
        if _SIGINT in self._before:
            _signal.signal(_SIGINT, self._own)

    def _stop_timers(self) -> None:
        """Stop what `signal.alarm` and `faulthandler.dump_traceback_later` have started."""
        for name in _TIMERS:
            if hasattr(_signal, name):  # not on Windows
                number = getattr(_signal, name)
                left, interval = _signal.setitimer(number, 0)
                if left:
                    self._timers[number] = left, interval
        if "faulthandler" in sys.modules:  # Python cancels it too, after the functions of atexit
            sys.modules["faulthandler"].cancel_dump_traceback_later()

    def _note(self, number: int, _frame: FrameType | None) -> None:
        self._noted.append(number)
        if number != _SIGINT:
            return
        now = self._now()
        if self._first is None:
            self._first = now
            if self._tell is not None:
                self._tell()
        elif now - self._first > _APART and not self._has_raised:
            self._has_raised = True
            raise KeyboardInterrupt


def call_handlers(numbers: list[int]) -> None:
    """Call the handlers of signals that were held back. They may raise anything."""
    for number in numbers:
        handler = _signal.getsignal(number)
        if callable(handler):
            handler(number, sys._getframe(1))
