"""Fail open: an error of hookcli ends the observation, and the training goes on."""

from __future__ import annotations

import functools
import traceback
from collections.abc import Callable
from typing import Any

from torch.compiler import is_compiling

from hookcli.errors import HookcliError, is_own
from hookcli.handler_errors import is_of_handler
from hookcli.training.script.watched_function import Switch


class Guard(Switch):
    """Wraps every callback. After the first error none of them does anything.

    `failed(reason, details)` is called once, to remove all hooks and to tell the user. Between the
    steps that are watched the guard `rests`: only callbacks that are `always` called do something.
    """

    def __init__(self, failed: Callable[[str, str], None]) -> None:
        self._failed = failed
        self._open, self._rests = True, False
        self.is_awake = True  # open, and not resting: each callback reads it

    @property
    def is_open(self) -> bool:
        """Whether callbacks do anything."""
        return self._open

    @is_open.setter
    def is_open(self, value: bool) -> None:
        self._open = value
        self.is_awake = value and not self._rests

    @property
    def rests(self) -> bool:
        """Whether only those callbacks do something that are always called."""
        return self._rests

    @rests.setter
    def rests(self, value: bool) -> None:
        self._rests = value
        self.is_awake = self._open and not value

    def __call__(self, function: Callable[..., Any], *, always: bool = False) -> Callable[..., Any]:
        """Return the function so that it raises nothing but the end of the script.

        What a handler of a signal raises meanwhile is the script's own, and is raised. With
        `always`, the function is called between the steps that are watched, too.
        """

        @functools.wraps(function, updated=())
        def guarded(*args: Any, **kwargs: Any) -> Any:
            if not self.is_awake and not (always and self._open):
                return None
            if is_compiling():  # torch.compile traces hooks of optimizers
                return None
            try:
                return function(*args, **kwargs)
            except Exception as error:  # whatever it is, training goes on
                if not self.note(error):
                    raise
                return None

        return guarded

    def note(self, error: BaseException) -> bool:
        """End the observation because of this error. Return False if it is the script's own."""
        if is_of_handler(error):
            return False
        if not self.is_open:
            return True
        self.is_open = False
        try:
            reason = f"{type(error).__name__}: {' '.join(str(error).split())}"
            if is_own(error) and isinstance(error, HookcliError):
                reason = f"{error.message} ({error.place})"
            self._failed(reason, "".join(traceback.format_exception(error)))
        except Exception:  # noqa: BLE001  # nothing is left that could be done
            return True
        return True
