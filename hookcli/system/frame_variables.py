"""Reads the variables of a function that runs, and leaves no trace of it.

Before Python 3.13, `frame.f_locals` is one dictionary for each function. Reading it stores the
variables of now in it. There they stay alive until the function ends, and a dictionary that the
function got from `locals()` before is the same one: `config = locals()` would get all later
variables.
"""

from __future__ import annotations

import dis
import inspect
import sys
from collections.abc import Mapping
from functools import lru_cache
from types import CodeType, FrameType
from typing import Any

_IS_KEPT = sys.version_info < (3, 13)
_READERS = {"locals", "vars", "exec", "eval"}  # functions that may give this dictionary away
_GLOBAL = {"LOAD_GLOBAL", "LOAD_NAME"}
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
    if _may_read_locals(code):
        return {}
    kept = frame.f_locals
    found = dict(kept)
    if sys.getrefcount(kept) <= _OWN:  # else a debugger uses it
        kept.clear()
    return found


@lru_cache(maxsize=4096)
def _may_read_locals(code: CodeType) -> bool:
    """Return whether code uses a function that reads its variables; `model.eval` is another one."""
    return not _READERS.isdisjoint(code.co_names) and any(
        one.opname in _GLOBAL and one.argval in _READERS for one in dis.get_instructions(code)
    )
