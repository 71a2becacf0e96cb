"""The user's line that turned gradients off, or that called a custom autograd Function."""

from __future__ import annotations

import linecache
from collections.abc import Iterator
from types import CodeType, FrameType
from typing import Any

import torch
from torch.autograd.function import BackwardCFunction

from hookcli.models import places
from hookcli.system.frame_variables import variables_of

# Torch 2.15 has no Python code for it any more.
_APPLY = getattr(getattr(torch.autograd.Function.apply, "__func__", None), "__code__", None)
_MOST = 64  # frames


def _outwards(frame: FrameType | None) -> Iterator[FrameType]:
    for _ in range(_MOST):
        if frame is None:
            return
        yield frame
        frame = frame.f_back


def apply_frame(frame: FrameType | None) -> FrameType | None:
    """Return the frame of `apply` of the innermost custom Function whose forward runs."""
    return next((outer for outer in _outwards(frame) if outer.f_code is _APPLY), None)


def custom_function(frame: FrameType | None) -> tuple[str, str | None] | None:
    """Return the name of the custom Function whose forward runs, and the line that called it."""
    for outer in _outwards(frame):
        code = outer.f_code
        if code is _APPLY:
            return outer.f_locals["cls"].__name__, places.of_frame(outer.f_back)
        first = variables_of(outer).get(code.co_varnames[0]) if code.co_varnames else None
        if isinstance(first, BackwardCFunction):  # `ctx`
            name = type(first).__name__.removesuffix("Backward")
            return name, places.of_frame(_caller(outer))
        if _APPLY is None and code.co_name == "forward" and _is_static(first):
            return _class_of(code), places.of_frame(_caller(outer))
    return None


def _caller(frame: FrameType) -> FrameType | None:
    outer = frame.f_back
    return outer.f_back if outer is not None and outer.f_code is _APPLY else outer


def _is_static(first: object) -> bool:
    """Whether a forward is that of a Function without `ctx`: gradients are off, it has no self."""
    return isinstance(first, torch.Tensor) and not torch.is_grad_enabled()


def _class_of(code: CodeType) -> str:
    qualified = getattr(code, "co_qualname", code.co_name)  # since Python 3.11
    return str(qualified).rpartition(".")[0].rpartition(".")[2] or "Function"


def _is_decorator(frame: FrameType) -> bool:
    """Whether this is torch's wrapper of a function that is decorated with no_grad or the like."""
    own = frame.f_code.co_freevars
    return "ctx_factory" in own and not places.is_user(frame.f_code.co_filename)


def of_context(frame: FrameType | None) -> str | None:
    """Return the line of the `with`, or of the decorated function, that this code was called by."""
    for outer in _outwards(frame):
        if _is_decorator(outer):
            code = getattr(outer.f_locals.get("func"), "__code__", None)
            if code is not None and places.is_user(code.co_filename):
                return f"{places.show(code.co_filename)}:{code.co_firstlineno}"
        if places.is_user(outer.f_code.co_filename):
            break
    return places.of_frame(frame)


def of_inference_mode(frame: FrameType | None) -> tuple[str | None, Any]:
    """Return the line of `with torch.inference_mode()` around the code that runs, and its `self`.

    Torch tells nobody when inference mode begins, so the source is searched.
    """
    for outer in _outwards(frame):
        if _is_decorator(outer):
            arguments = outer.f_locals.get("args") or (None,)
            return of_context(outer), arguments[0]
        if places.is_user(outer.f_code.co_filename):
            line = _with_above(outer)
            if line is not None:
                names = outer.f_code.co_varnames
                own = variables_of(outer).get(names[0]) if names else None
                return f"{places.show(outer.f_code.co_filename)}:{line}", own
    return places.of_frame(frame), None


def of_call(frame: FrameType | None) -> tuple[str | None, Any]:
    """Return the line of the user's code that called what runs, and its `self`."""
    for outer in _outwards(frame):
        if places.is_user(outer.f_code.co_filename):
            names = outer.f_code.co_varnames
            return places.of_frame(outer), variables_of(outer).get(names[0]) if names else None
    return places.of_frame(frame), None


def _with_above(frame: FrameType) -> int | None:
    """Return the nearest line above, less indented, that enters inference mode."""
    depth = None
    for number in range(frame.f_lineno, frame.f_code.co_firstlineno - 1, -1):
        text = linecache.getline(frame.f_code.co_filename, number)
        if not text.strip():
            continue
        indent = len(text) - len(text.lstrip())
        if depth is None or indent < depth:
            if "inference_mode" in text and text.lstrip().startswith(("with", "async with")):
                return number
            depth = indent
    return None
