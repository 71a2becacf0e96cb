"""What the line of the model's code that raised compares, unpacks or looks up.

An assertion has no numbers in its message, but its two sides do. They are evaluated again where
they are plain names, attributes, subscripts, constants, arithmetic, `len` and `size`.
"""

from __future__ import annotations

import ast
import linecache
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any, TypeAlias

import torch

_TORCH = str(Path(torch.__file__).parent) + os.sep
_HOOKCLI = str(Path(__file__).parents[2]) + os.sep
_OPERATORS: dict[type[ast.operator], Any] = {
    ast.Add: lambda a, b: a + b,
    ast.Sub: lambda a, b: a - b,
    ast.Mult: lambda a, b: a * b,
    ast.FloorDiv: lambda a, b: a // b,
    ast.Mod: lambda a, b: a % b,
    ast.Pow: lambda a, b: a**b if abs(b) < 8 else None,
}


Shape: TypeAlias = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class FailedLine:
    """What a line needs.

    `compared`: pairs of integers that differ. `shapes`: pairs of shapes with unequal numbers of
    dimensions, one of which is required. `unpacked`: the name or text that was unpacked.
    `keyed`: a tensor of the batch, by its path, and the key with which it is read as a mapping.
    """

    number: int = 0
    compared: tuple[tuple[int, int], ...] = ()
    unpacked: str = ""
    keyed: tuple[str, str] | None = None
    shapes: tuple[tuple[Shape, Shape], ...] = ()


NO_LINE = FailedLine()


def failed_line(error: BaseException, slots: Mapping[int, str]) -> FailedLine:
    """Describe the deepest line of the traceback that is not torch's.

    `slots` has the path of each tensor of the batch, by its id.
    """
    frame, number = _own(error.__traceback__)
    if frame is None:
        return FailedLine()
    statement = _statement(frame, number)
    if statement is None:
        return FailedLine(number)
    test = statement.test if isinstance(statement, ast.Assert | ast.If) else None
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):  # torch._assert
        test = next(iter(statement.value.args), None)
    sides = () if test is None else tuple(_sides(test, frame))
    compared = tuple(pair for side in sides for pair in _pairs(*side))
    shapes = tuple(pair for side in sides for pair in _shapes(*side))
    unpacked = ""
    if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Tuple):
        unpacked = ast.unparse(statement.value)
    on_line = (one for one in _statements(frame.f_code.co_filename) if one.lineno == number)
    found = (_keyed(one, frame, slots) for one in (statement, *on_line))
    keyed = next((one for one in found if one is not None), None)
    return FailedLine(number, compared, unpacked, keyed, shapes)


def _keyed(
    statement: ast.stmt, frame: FrameType, slots: Mapping[int, str]
) -> tuple[str, str] | None:
    for node in ast.walk(statement):
        if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
            key, tensor = node.slice.value, _value(node.value, frame)
            if isinstance(key, str) and isinstance(tensor, torch.Tensor) and id(tensor) in slots:
                return slots[id(tensor)], key
    return None


def _own(traceback: TracebackType | None) -> tuple[FrameType | None, int]:
    frame, number = None, 0
    while traceback is not None:
        path = traceback.tb_frame.f_code.co_filename
        if not path.startswith((_TORCH, _HOOKCLI)):
            frame, number = traceback.tb_frame, traceback.tb_lineno
        traceback = traceback.tb_next
    return frame, number


def _statement(frame: FrameType, number: int) -> ast.stmt | None:
    """The statement at a line; an `if` for the `raise` in its body."""
    found: ast.stmt | None = None
    for node in _statements(frame.f_code.co_filename):
        if node.lineno <= number <= (node.end_lineno or 0):
            if isinstance(node, ast.If) and any(
                isinstance(child, ast.Raise) and child.lineno <= number <= (child.end_lineno or 0)
                for child in node.body
            ):
                return node
            found = node  # `ast.walk` yields the outer statements first
    return found


@lru_cache(maxsize=16)
def _statements(path: str) -> tuple[ast.stmt, ...]:
    try:
        tree = ast.parse("".join(linecache.getlines(path)))
    except (SyntaxError, ValueError, RecursionError):
        return ()
    return tuple(node for node in ast.walk(tree) if isinstance(node, ast.stmt))


def _sides(test: ast.expr, frame: FrameType) -> Iterator[tuple[Any, Any, ast.cmpop]]:
    """Yield the values of both sides of each comparison, and its operator."""
    for node in ast.walk(test):
        if isinstance(node, ast.Compare) and len(node.ops) == 1:
            yield _value(node.left, frame), _value(node.comparators[0], frame), node.ops[0]


def _shapes(left: Any, right: Any, _: ast.cmpop) -> Iterator[tuple[Shape, Shape]]:
    both = isinstance(left, tuple | list) and isinstance(right, tuple | list)
    if both and len(left) != len(right) and all(type(size) is int for size in (*left, *right)):
        yield tuple(left), tuple(right)


def _pairs(left: Any, right: Any, operator: ast.cmpop) -> Iterator[tuple[int, int]]:
    if isinstance(left, tuple | list) and isinstance(right, tuple | list):
        if len(left) == len(right):
            for a, b in zip(left, right, strict=True):
                yield from _pairs(a, b, operator)
    elif type(left) is int and type(right) is int:
        if isinstance(operator, ast.Lt | ast.Gt):
            right += -1 if isinstance(operator, ast.Lt) else 1
        if left != right:
            yield left, right


def _value(node: ast.expr, frame: FrameType) -> Any:
    """The value of a simple expression; None if it is not simple or cannot be evaluated."""
    try:
        return _evaluated(node, frame)
    except Exception:  # noqa: BLE001  # names are missing, properties raise
        return None


def _evaluated(node: ast.expr, frame: FrameType) -> Any:
    match node:
        case ast.Constant():
            return node.value
        case ast.Name():
            scope = frame.f_locals if node.id in frame.f_locals else frame.f_globals
            return scope[node.id]
        case ast.Attribute():
            return getattr(_evaluated(node.value, frame), node.attr)
        case ast.Subscript(slice=ast.Slice(lower=low, upper=high)):
            ends = [None if end is None else _evaluated(end, frame) for end in (low, high)]
            return _sequence(_evaluated(node.value, frame))[slice(*ends)]
        case ast.Subscript():
            return _sequence(_evaluated(node.value, frame))[_evaluated(node.slice, frame)]
        case ast.Tuple() | ast.List():
            return tuple(_evaluated(item, frame) for item in node.elts)
        case ast.UnaryOp(op=ast.USub()):
            return -_evaluated(node.operand, frame)
        case ast.BinOp():
            left, right = _evaluated(node.left, frame), _evaluated(node.right, frame)
            return _OPERATORS[type(node.op)](left, right)
        case ast.Call(func=ast.Name(id="len"), args=[value]):
            return len(_evaluated(value, frame))
        case ast.Call(func=ast.Attribute(attr="size" | "dim" as name), args=values):
            tensor = _evaluated(node.func.value, frame)  # type: ignore[attr-defined]
            if isinstance(tensor, torch.Tensor):
                return getattr(tensor, name)(*(_evaluated(value, frame) for value in values))
    return None


def _sequence(value: Any) -> Any:
    """Return a value whose items may be read; a tensor's items may not."""
    return value if isinstance(value, tuple | list | dict) else ()
