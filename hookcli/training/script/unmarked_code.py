"""Runs code from strings without Python noting it in how the process will end.

Python remembers that a KeyboardInterrupt has left the script, and ends by SIGINT at the very end.
It forgets that, and ends with status 1, when code from a string is executed afterwards, as
`dataclasses` and `namedtuple` do. Functions of atexit of the script or of torch may do so. hookcli,
which runs after these, must not.
"""

from __future__ import annotations

import builtins
import sys

TYPE_CHECKING = False  # known to type checkers: importing typing is not what plain Python does
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType
    from typing import Any

_STRINGS = (str, bytes, bytearray)
_FUTURES = 0x1FE0000  # the flags of `from __future__ import`, which code in a string inherits


class UnmarkedCode:
    """A context manager in which `exec` and `eval` compile a string before they run it."""

    def __enter__(self) -> None:
        self._before = builtins.exec, builtins.eval
        set_exec: Any = _compiling(builtins.exec, "exec")
        set_eval: Any = _compiling(builtins.eval, "eval")
        builtins.exec, builtins.eval = set_exec, set_eval

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        builtins.exec, builtins.eval = self._before


def _compiling(function: Callable[..., Any], mode: str) -> Callable[..., Any]:
    def call(source: Any, globals: Any = None, locals: Any = None, /, **more: Any) -> Any:  # noqa: A002
        frame = sys._getframe(1)
        if isinstance(source, _STRINGS):
            text = source.lstrip(" \t") if mode == "eval" and isinstance(source, str) else source
            source = compile(
                text, "<string>", mode, frame.f_code.co_flags & _FUTURES, dont_inherit=True
            )
        if globals is None:
            globals = frame.f_globals  # noqa: A001
            locals = frame.f_locals if locals is None else locals  # noqa: A001
        return function(source, globals, locals, **more)

    return call
