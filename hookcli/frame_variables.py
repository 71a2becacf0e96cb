"""Reads the variables of a function that runs, and leaves no trace of it.

Before Python 3.13, `frame.f_locals` is one dictionary for each function. Reading it stores the
variables of now in it. There they stay alive until the function ends, and a dictionary that the
function got from `locals()` before is the same one: `config = locals()` would get all later
variables.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Mapping
from types import FrameType
from typing import Any

_IS_KEPT = sys.version_info < (3, 13)
_READERS = {"locals", "vars", "exec", "eval"}  # functions that may give this dictionary away
_OWN = 3  # references to it: the frame's, the variable's and the argument's


def variables_of(frame: FrameType) -> Mapping[str, Any]:
    """Return the variables of a frame; none before Python 3.13 if its code may use `locals()`.

    Of a module or a class body, it is its namespace itself.
    """
    code = frame.f_code
    if not code.co_flags & inspect.CO_OPTIMIZED:
        return frame.f_locals
    if not _IS_KEPT:
        return dict(frame.f_locals)
    if any(name in _READERS for name in code.co_names):
        return {}
    kept = frame.f_locals
    found = dict(kept)
    if sys.getrefcount(kept) <= _OWN:  # else a debugger uses it
        kept.clear()
    return found
