"""The source of the function that a frame runs, and the values of its variables.

Nothing is evaluated but the names of variables and of plain attributes.
"""

from __future__ import annotations

import ast
import linecache
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from types import CodeType, FrameType
from typing import Any

import torch

from hookcli.models import places
from hookcli.system.frame_variables import variables_of

_NOTHING: Any = object()
_BACKWARD = {"backward", "manual_backward"}
_MOST_NAMES = 4  # that are followed from `backward` to the loss


@lru_cache(maxsize=64)
def tree_of(filename: str, _lines: int) -> ast.Module | None:
    """Return the syntax tree of a file, which has so many lines now; None if it has none."""
    source = "".join(linecache.getlines(filename))
    try:
        return ast.parse(source)
    except (SyntaxError, ValueError, RecursionError):
        return None


def user_frame(frame: FrameType | None) -> FrameType | None:
    """Return the innermost frame of the script itself, from a frame outwards."""
    while frame is not None and not places.is_user(frame.f_code.co_filename):
        frame = frame.f_back
    return frame


def body_of(frame: FrameType) -> ast.AST | None:
    """Return the function that a frame runs, or the module."""
    filename = frame.f_code.co_filename
    if frame.f_code.co_name == "<module>":
        return tree_of(filename, len(linecache.getlines(filename)))
    return source_of_code(frame.f_code)


def source_of_code(code: CodeType) -> ast.FunctionDef | ast.AsyncFunctionDef | None:
    """Return the definition of a function."""
    functions = _functions_of(code.co_filename, len(linecache.getlines(code.co_filename)))
    for node in functions.get(code.co_name, ()):
        start = min([node.lineno, *(d.lineno for d in node.decorator_list)])
        if start <= code.co_firstlineno <= node.lineno:
            return node
    return None


@lru_cache(maxsize=64)
def _functions_of(
    filename: str, lines: int
) -> dict[str, list[ast.FunctionDef | ast.AsyncFunctionDef]]:
    """Return the functions that a file defines, by name: a training asks at many steps."""
    found: dict[str, list[ast.FunctionDef | ast.AsyncFunctionDef]] = {}
    for node in ast.walk(tree_of(filename, lines) or ast.Module([], [])):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            found.setdefault(node.name, []).append(node)
    return found


def own_nodes(body: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes of a function, without those of functions inside of it."""
    todo = list(ast.iter_child_nodes(body))
    for node in todo:  # grows meanwhile
        yield node
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef):
            todo += ast.iter_child_nodes(node)


def end_of(node: ast.expr | ast.stmt) -> int:
    """Return the last line of a node."""
    return node.end_lineno or node.lineno


def value_of(node: ast.AST, frame: FrameType) -> Any:
    """Return the value of a name, or of plain attributes of it; `None` if there is none."""
    return value_in(node, (variables_of(frame), frame.f_globals))


def value_in(node: ast.AST, tables: Sequence[Mapping[str, Any]]) -> Any:
    """Return `value_of` with the variables of these tables, the innermost first."""
    found = _value(node, tables)
    return None if found is _NOTHING else found


def _value(node: ast.AST, tables: Sequence[Mapping[str, Any]]) -> Any:
    if isinstance(node, ast.Name):
        for scope in tables:
            if node.id in scope:
                return scope[node.id]
        return _NOTHING
    if isinstance(node, ast.Attribute):
        owner = _value(node.value, tables)
        if owner is _NOTHING:
            return _NOTHING
        names: Any = getattr(owner, "__dict__", None)
        if not isinstance(names, dict) and type(names).__name__ != "mappingproxy":
            return _NOTHING
        if node.attr in names:
            return names[node.attr]
        modules = names.get("_modules")
        if isinstance(modules, dict) and node.attr in modules:
            return modules[node.attr]
    return _NOTHING


def called_backward(body: ast.AST, line: int) -> ast.expr | None:
    """Return the expression whose `backward` is called on a line."""
    for node in own_nodes(body):
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr == "backward"
            and node.lineno <= line <= end_of(node)
            and not node.args
        ):
            return _unscaled(node.func.value)
    return None


def loss_expression(frame: FrameType, line: int | None = None) -> ast.expr | None:
    """Return the expression of the loss whose backward a line calls; None: that of the frame.

    Besides `loss.backward()`, a call such as `accelerator.backward(loss)` has it as its argument.
    """
    body, at = body_of(frame), frame.f_lineno if line is None else line
    for node in () if body is None else own_nodes(body):
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr in _BACKWARD
            and node.lineno <= at <= end_of(node)
        ):
            owner = value_of(node.func.value, frame)
            if len(node.args) != 1 or isinstance(owner, torch.Tensor):
                return _unscaled(node.func.value)
            return _unscaled(node.args[0])
    return None


def loss_line(frame: FrameType) -> int:
    """Return the line that computes the loss whose backward the line of a frame calls.

    It is the line of the frame if that computes the loss too, or if the other one is not known.
    """
    body, node = body_of(frame), loss_expression(frame)
    for _ in range(_MOST_NAMES):
        made = None
        if isinstance(node, ast.Name) and body is not None:
            made = assigned(body, node.id, frame.f_lineno)
        if made is None:
            break
        node = made
    known = node is not None and not isinstance(node, ast.Name | ast.Attribute)
    return node.lineno if known and node is not None else frame.f_lineno


def loss_place(frame: FrameType | None) -> str | None:
    """Return `loss_line` with the file, such as "train.py:12"; None without a frame."""
    if frame is None:
        return None
    return f"{places.show(frame.f_code.co_filename)}:{loss_line(frame)}"


def _unscaled(node: ast.expr) -> ast.expr:
    """Return what a GradScaler scales: `loss` of `scaler.scale(loss)`."""
    called = node.func if isinstance(node, ast.Call) else None
    if isinstance(node, ast.Call) and isinstance(called, ast.Attribute):
        return node.args[0] if called.attr == "scale" and len(node.args) == 1 else node
    return node


def assigned(body: ast.AST, name: str, before: int) -> ast.expr | None:
    """Return the expression of the last assignment to a name before a line.

    None if that is not the only thing that gives it its value, such as `loss += ...`.
    """
    last: ast.AST | None = None
    for node in own_nodes(body):
        if getattr(node, "lineno", before) >= before or not assigns(node, name):
            continue
        if last is None or node.lineno > last.lineno:  # type: ignore[attr-defined]
            last = node
    if isinstance(last, ast.Assign) and len(last.targets) == 1:
        return last.value if isinstance(last.targets[0], ast.Name) else None
    return None


def assigns(node: ast.AST, name: str) -> bool:
    """Whether a statement gives a name a value."""
    targets: list[Any] = []
    if isinstance(node, ast.Assign):
        targets = node.targets
    elif isinstance(node, ast.AugAssign | ast.AnnAssign | ast.For | ast.NamedExpr):
        targets = [node.target]
    elif isinstance(node, ast.With):
        targets = [item.optional_vars for item in node.items if item.optional_vars is not None]
    inside = (one for target in targets for one in ast.walk(target))
    return any(isinstance(one, ast.Name) and one.id == name for one in inside)


def current_value(
    node: ast.expr | str, frame: FrameType, line: int | None = None
) -> torch.Tensor | None:
    """Return the tensor that a name had on a line: None if it was assigned after that, or is none.

    Also that of a name with methods that keep its values, such as `detach`.
    """
    expression = ast.parse(node, mode="eval").body if isinstance(node, str) else node
    if not isinstance(expression, ast.Name | ast.Attribute):
        return None
    body = body_of(frame)
    if line is not None and isinstance(expression, ast.Name) and body is not None:
        for other in own_nodes(body):
            at = getattr(other, "lineno", 0)
            if line < at <= frame.f_lineno and assigns(other, expression.id):
                return None
    value = value_of(expression, frame)
    return value if isinstance(value, torch.Tensor) else None
