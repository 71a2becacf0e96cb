"""Which call of a module runs while a function of torch is called, and from which line."""

from __future__ import annotations

from types import FrameType
from typing import Any

from hookcli.models.model import Call


class RunningCalls:
    """The calls that run, the innermost last."""

    def __init__(self) -> None:
        self.stack: list[Call] = []

    def enter(self, call: Call, _batch: Any) -> None:
        """Add a call that starts."""
        self.stack.append(call)

    def leave(self, call: Call, _output: Any, _error: BaseException | None) -> None:
        """Remove a call that ends."""
        if call in self.stack:
            del self.stack[self.stack.index(call) :]


def caller(frame: FrameType | None) -> tuple[FrameType | None, bool]:
    """Return the frame outside of torch that led to a call, and whether a module of torch.nn did.

    torch calls itself with all arguments.
    """
    is_of_module = False
    while frame is not None:
        name = frame.f_globals.get("__name__") or ""
        if name.partition(".")[0] != "torch":
            break
        is_of_module |= name.startswith("torch.nn.modules.") and name != "torch.nn.modules.module"
        frame = frame.f_back
    return frame, is_of_module
