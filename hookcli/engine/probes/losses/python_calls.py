"""Tells of the calls of some functions that are written in Python, and changes none of them.

Python tells a profile function of each call. Loss functions and distributions of PyTorch are
written in Python, and replacing them would be seen by torch.jit.script and by pickles.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from types import CodeType, FrameType
from typing import Any, TypeAlias

from hookcli.handler_errors import is_of_handler

Begins: TypeAlias = Callable[[FrameType], None]
Ends: TypeAlias = Callable[[FrameType, Any], None]


class PythonCalls:
    """Calls a function when one of some other functions begins on this thread, or returns.

    `begins` and `ends` are by the code of the functions that are watched. They get the frame, whose
    `f_locals` are the arguments by their names, and the result. After `most` calls of any functions
    no more are told, as a script may do something else. An error in them ends the watch, and is in
    `error`.
    """

    def __init__(
        self, begins: Mapping[CodeType, Begins], ends: Mapping[CodeType, Ends], most: int
    ) -> None:
        self._begins, self._ends, self._most = begins, ends, most
        self._left = 0
        self._profile = self._tell  # one object, which is recognized
        self.error: Exception | None = None

    def start(self) -> bool:
        """Begin to tell. Return False if something else profiles this thread."""
        if self.error is not None or sys.getprofile() not in (None, self._profile):
            return False
        self._left = self._most
        sys.setprofile(self._profile)
        return True

    def stop(self) -> None:
        """Tell of no more calls."""
        if sys.getprofile() is self._profile:
            sys.setprofile(None)

    def _tell(self, frame: FrameType, event: str, result: Any) -> None:
        self._left -= 1
        if self._left < 0:
            self.stop()
            return
        try:
            if event == "call":
                begins = self._begins.get(frame.f_code)
                if begins is not None:
                    begins(frame)
            elif event == "return":
                ends = self._ends.get(frame.f_code)
                if ends is not None:
                    ends(frame, result)
        except Exception as error:
            if is_of_handler(error):  # of a signal: it is the script's own
                raise
            self.error = error  # it would be raised in the caller's code
            self.stop()
