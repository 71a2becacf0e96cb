"""Calls of functions of torch: their arguments, the module that runs then, and the line."""

from __future__ import annotations

from collections.abc import Mapping
from types import CodeType, FrameType
from typing import Any, TypeAlias, TypeVar

from torch.nn import functional

from hookcli.models.model import Call

Arguments: TypeAlias = Mapping[str, Any]  # of a call, by name
# The name of what a look at a call or a node has found, with values.
Finding: TypeAlias = tuple[str, dict[str, Any]] | None


_Look = TypeVar("_Look")


def by_code(looks: Mapping[str, _Look]) -> dict[CodeType, _Look]:
    """Return what looks at functions of torch.nn.functional, by their code instead of their names.

    A function that this version of torch lacks, or has in C++, is left out.
    """
    codes = {name: getattr(getattr(functional, name, None), "__code__", None) for name in looks}
    return {code: looks[name] for name, code in codes.items() if code is not None}


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
