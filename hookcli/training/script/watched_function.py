"""A function of PyTorch that tells of its calls, and the frames around them."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from dataclasses import dataclass
from types import CodeType, FrameType
from typing import Any


@dataclass(slots=True)  # one that is frozen takes twice as long to make
class TorchCall:
    """A call of one of the functions of PyTorch that are watched.

    `frame` is that of the caller. `result` is None before the call. Each step makes several: a
    frozen dataclass would take three times as long.
    """

    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    frame: FrameType
    result: Any = None
    line: tuple[str, int] | None = None  # of the script: see `line_of`

    def argument(self, number: int, name: str, default: Any = None) -> Any:
        """Return an argument that is given by position or by name."""
        if name in self.kwargs:
            return self.kwargs[name]
        return self.args[number] if len(self.args) > number else default


class Switch:
    """Whether calls are told."""

    is_awake = True


ON = Switch()


def watched_function(
    original: Callable[..., Any],
    before: Callable[[TorchCall], None] | None,
    after: Callable[[TorchCall], None] | None,
    switch: Switch = ON,
) -> Callable[..., Any]:
    """Return the function so that its calls are told before and after they run.

    None is told while the `switch` is not awake.
    """

    @functools.wraps(original)
    def call(*args: Any, **kwargs: Any) -> Any:
        if not switch.is_awake:
            return original(*args, **kwargs)
        told = TorchCall(args, kwargs, sys._getframe(1))
        if before is not None:
            before(told)
        if after is None:
            return original(*args, **kwargs)
        told.result = original(*args, **kwargs)
        after(told)
        return told.result

    return call


# All functions that `watched_function` returns have this code.
WATCHED_CODE: CodeType = watched_function(print, None, None).__code__


def caller(frame: FrameType | None) -> FrameType | None:
    """Return the frame that called the function of a frame, through a watched function or not."""
    outer = None if frame is None else frame.f_back
    if outer is not None and outer.f_code is WATCHED_CODE:
        return outer.f_back
    return outer
