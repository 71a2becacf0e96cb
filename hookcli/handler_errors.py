"""Exceptions that a handler of a signal raises while a hook of hookcli runs.

Python calls the script's handler between any two instructions, also those of hookcli. What it
raises is the script's, such as the error of a time limit. It imports only what Python has loaded.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False  # known to type checkers: importing typing is not what plain Python does
if TYPE_CHECKING:
    from types import CodeType, TracebackType
    from typing import Any
else:
    Any = object

_signal: Any = sys.modules["_signal"]  # built into Python, unlike the module signal


def is_of_handler(error: BaseException) -> bool:
    """Return whether a handler of a signal has raised this, not what it interrupted."""
    if isinstance(error, KeyboardInterrupt):  # by Python's own handler
        return True
    return handler_entry(error.__traceback__, codes_of_handlers()) is not None


def handler_entry(trace: TracebackType | None, codes: set[CodeType]) -> TracebackType | None:
    """Return the first entry of a traceback that is a handler."""
    while trace is not None and trace.tb_frame.f_code not in codes:
        trace = trace.tb_next
    return trace


def codes_of_handlers() -> set[CodeType]:
    """Return the code of the functions that handle signals now."""
    codes = set()
    for number in range(1, _signal.NSIG):
        try:
            handler = _signal.getsignal(number)
        except ValueError:  # not on this system
            continue
        if callable(handler):
            codes |= _codes_of(handler)
    return codes


def _codes_of(handler: Any) -> set[CodeType]:
    """Return the code of a function, a method, a partial function or an object that is called."""
    found = set()
    for function in (handler, getattr(handler, "func", None), type(handler).__call__):
        code = getattr(getattr(function, "__func__", function), "__code__", None)
        if code is not None:
            found.add(code)
    return found
