"""Tracebacks as they are without hooks on modules.

A module that has hooks calls its forward in PyTorch's inner function of `Module._call_impl`, and
without hooks in `_call_impl` itself. So the hooks of hookcli are seen in each traceback.
"""

from __future__ import annotations

import sys

from hookcli.handler_errors import codes_of_handlers, handler_entry, is_of_handler

TYPE_CHECKING = False  # known to type checkers: importing typing is not what plain Python does
if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import CodeType, FrameType, TracebackType
    from typing import Any

_KINDS = ("_forward_pre_hooks", "_forward_hooks", "_backward_pre_hooks", "_backward_hooks")
_CALL = "return forward_call(*args, **kwargs)"  # without hooks


def mend(error: BaseException) -> None:
    """Give an exception, and those that it follows, the traceback that plain Python prints."""
    codes = codes_of_handlers()
    for one in _chain(error):
        if is_of_handler(one):
            one.__traceback__ = _without_interrupted(one.__traceback__, codes)
    ours: Any = sys.modules.get("hookcli.training.script.watched_function")
    if ours is not None:
        for one in _chain(error):
            one.__traceback__ = _without_code(one.__traceback__, ours.WATCHED_CODE)
    torch_module: Any = sys.modules.get("torch.nn.modules.module")
    if torch_module is None:
        return
    call: CodeType = torch_module.Module._call_impl.__code__
    place = _place_of_call(call)
    if place is None or _has_hooks(vars(torch_module), "_global"):
        return
    for one in _chain(error):
        one.__traceback__ = _without_inner(one.__traceback__, call, *place)


def _chain(error: BaseException) -> Iterator[BaseException]:
    todo: list[BaseException | None] = [error]
    seen: set[int] = set()
    while todo:
        one = todo.pop()
        if one is None or id(one) in seen:
            continue
        seen.add(id(one))
        yield one
        todo += [one.__cause__, one.__context__]
        parts = getattr(one, "exceptions", ())  # of an exception group
        todo += [part for part in parts if isinstance(part, BaseException)]


def _place_of_call(code: CodeType) -> tuple[int, int] | None:
    """Return the instruction and the line that call forward if there are no hooks.

    None if the code of this version of PyTorch is another.
    """
    import dis
    import linecache

    if not hasattr(code, "co_positions"):  # before Python 3.11
        return None
    offsets = [one.offset for one in dis.get_instructions(code) if one.opname == "CALL_FUNCTION_EX"]
    if len(offsets) != 1:
        return None
    (offset,) = offsets
    line = list(code.co_positions())[offset // 2][0]
    if line is None or linecache.getline(code.co_filename, line).strip() != _CALL:
        return None
    return offset, line


def _without_inner(
    trace: TracebackType | None, call: CodeType, offset: int, line: int
) -> TracebackType | None:
    entries = []
    while trace is not None:
        entries.append(trace)
        trace = trace.tb_next
    new: TracebackType | None = None
    make: Any = type(entries[0]) if entries else None
    for i in range(len(entries) - 1, -1, -1):
        entry = entries[i]
        outer = entries[i - 1].tb_frame if i else None
        is_inner = outer is not None and _is_inner(entry.tb_frame, call)
        if is_inner and outer is not None and _is_only_ours(outer, call):
            continue
        inner = entries[i + 1].tb_frame if i + 1 < len(entries) else None
        at, number = entry.tb_lasti, entry.tb_lineno
        if inner is not None and _is_inner(inner, call) and _is_only_ours(entry.tb_frame, call):
            at, number = offset, line
        new = make(new, entry.tb_frame, at, number)
    return new


def _without_code(trace: TracebackType | None, code: CodeType) -> TracebackType | None:
    """Remove the entries of the functions that tell of calls of PyTorch's."""
    entries = []
    while trace is not None:
        entries.append(trace)
        trace = trace.tb_next
    if not any(entry.tb_frame.f_code is code for entry in entries):
        return entries[0] if entries else None
    new: TracebackType | None = None
    for entry in reversed(entries):
        if entry.tb_frame.f_code is not code:
            new = type(entry)(new, entry.tb_frame, entry.tb_lasti, entry.tb_lineno)
    return new


def _without_interrupted(trace: TracebackType | None, codes: set[CodeType]) -> TracebackType | None:
    """Remove what PyTorch or an import has called of hookcli, which a handler has interrupted."""
    before: list[TracebackType] = []
    while trace is not None and not (before and _calls_ours(before[-1].tb_frame, trace.tb_frame)):
        before.append(trace)
        trace = trace.tb_next
    new = handler_entry(trace, codes)
    for entry in reversed(before):
        new = type(entry)(new, entry.tb_frame, entry.tb_lasti, entry.tb_lineno)
    return new


def _calls_ours(outer: FrameType, frame: FrameType) -> bool:
    if _package(frame) != "hookcli":
        return False
    ours: Any = sys.modules.get("hookcli.training.script.watched_function")
    if ours is not None and frame.f_code is ours.WATCHED_CODE:  # the script calls it itself
        return True
    return _package(outer) == "torch" or outer.f_code.co_filename.startswith("<frozen importlib")


def _package(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__")).partition(".")[0]


def _is_inner(frame: FrameType, call: CodeType) -> bool:
    return frame.f_code in call.co_consts


def _is_only_ours(frame: FrameType, call: CodeType) -> bool:
    """Return whether a call of a module has no other hooks than those of hookcli."""
    if frame.f_code is not call:
        return False
    module = frame.f_locals.get("self")
    return not _has_hooks(getattr(module, "__dict__", {}), "")


def _has_hooks(names: dict[str, Any], prefix: str) -> bool:
    return any(
        not _is_ours(hook)
        for kind in _KINDS
        for hook in dict.values(names.get(prefix + kind) or {})
    )


def _is_ours(hook: Any) -> bool:
    function = getattr(hook, "func", hook)
    name = getattr(function, "__module__", None) or type(function).__module__
    return str(name).partition(".")[0] == "hookcli"
