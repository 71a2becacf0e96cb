"""Modules that torch.compile wrapped, and whether compiled code calls one.

While such code is traced, it skips a wrapper and calls the module inside: the wrapper's own hooks
do not fire. Backward hooks below the wrapper stop the trace there; then it is called as written.
"""

from __future__ import annotations

import sys
from collections.abc import Container
from types import FrameType
from typing import Any

from torch import nn

from hookcli.models import module_tree

_FILE = "torch/_dynamo/eval_frame.py"  # its functions call compiled and disabled code


def is_wrapper(module: Any) -> bool:
    """Whether this is the result of `torch.compile(module)`."""
    if "torch._dynamo" not in sys.modules:
        return False
    from torch._dynamo import OptimizedModule

    return isinstance(module, OptimizedModule)


def within_compiled(frame: FrameType | None) -> bool:
    """Whether this frame runs for code that is compiled, or would be if that were not disabled."""
    while frame is not None:
        code = frame.f_code
        if code.co_filename.replace("\\", "/").endswith(_FILE):
            if code.co_name == "compile_wrapper":
                return True
            if code.co_name == "_fn":  # of torch.compiler.disable
                return False
        frame = frame.f_back
    return False


def wrappers_around(root: nn.Module, keys: Container[int]) -> set[int]:
    """Return the ids of the wrappers that have one of these modules below them."""
    return {
        id(wrapper)
        for wrapper, _ in module_tree.modules(root)
        if is_wrapper(wrapper)
        and any(
            id(module) in keys
            for module, _ in module_tree.modules(wrapper)
            if module is not wrapper
        )
    }
