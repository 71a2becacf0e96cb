"""Keeps the script's handlers of signals from ending what hookcli does after the script.

Plain Python would have ended by then, so a handler that raises has nothing left to end. It imports
only what Python has loaded.
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
_APART = 1.0  # seconds after which another Ctrl-C means it: a person presses the first ones at once


class HeldSignals:
    """Holds back Ctrl-C, and with `handled` each signal that has a handler, until `release`.

    `tell` is called at the first Ctrl-C, if it is given. One that comes later than a second after
    that raises KeyboardInterrupt, so that a person can end what does not end.
    """

    def __init__(self, tell: Callable[[], None] | None = None, *, handled: bool = False) -> None:
        self._tell = tell
        self._numbers = range(1, _signal.NSIG) if handled else (_SIGINT,)
        self._told: float | None = None
        self._now = time.monotonic  # the script may replace it
        self._before: dict[int, Any] = {}

    def hold(self) -> None:
        """Replace the handlers. Nothing happens in a thread that must not do so."""
        for number in self._numbers:
            try:
                handler = _signal.getsignal(number)
                if callable(handler) or (number == _SIGINT and handler == _signal.SIG_DFL):
                    _signal.signal(number, self._note)
                    self._before[number] = handler
            except (OSError, ValueError, RuntimeError):  # not on this system, or in a thread
                continue

    def release(self) -> None:
        """Set the script's handlers again."""
        while self._before:
            number, handler = self._before.popitem()
            try:
                _signal.signal(number, handler)
            except (OSError, ValueError, RuntimeError, TypeError):
                continue

    def ignored_by_children(self) -> None:
        """Ignore Ctrl-C at this moment: a process that is started now inherits that."""
        if _SIGINT in self._before:
            _signal.signal(_SIGINT, _signal.SIG_IGN)

    def noted_again(self) -> None:
        """Undo `ignored_by_children`."""
        if _SIGINT in self._before:
            _signal.signal(_SIGINT, self._note)

    def _note(self, number: int, _frame: FrameType | None) -> None:
        if number != _SIGINT or self._tell is None:
            return
        now = self._now()
        if self._told is None:
            self._told = now
            self._tell()
        elif now - self._told > _APART:
            raise KeyboardInterrupt
