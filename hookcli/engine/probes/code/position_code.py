"""What the code of a class says of positions: masks, shifts, and which dimension they are in."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from types import FunctionType

from torch import nn

from hookcli.engine.probes.code.user_source import definition_of, is_name, is_own, shown_line
from hookcli.models import module_tree

SHIFTED = "forward moves its input by one position"  # a hint that later ones must be hidden

_JOINS = {"cat", "concat", "concatenate"}

_FIRST_SIZE = re.compile(r"\w+\.size\((dim=)?0\)|\w+\.shape\[0\]|len\(\w+\)|\w+\.size\(\)\[0\]")

_TRIANGLES = {"triu": 1, "tril": -1, "generate_square_subsequent_mask": 0}


def causal_hints(kind: type, functions: list[FunctionType]) -> Iterator[tuple[str, str]]:
    """Yield what in the code of a class hides later positions, or tells so, with its line.

    Both triangles of a matrix together are a band, which hides what is far away on both sides.
    """
    made = vars(kind).get("__init__")
    found: list[tuple[str, str]] = []
    for function in (made, *functions):
        if not isinstance(function, FunctionType) or not is_own(function):
            continue
        definition = definition_of(function)
        for node in ast.walk(definition) if definition is not None else ():
            if isinstance(node, ast.Assign) and _shifts(node):
                found.append((SHIFTED, shown_line(function, node.lineno)))
            if not isinstance(node, ast.Call):
                continue
            name = node.func.attr if isinstance(node.func, ast.Attribute) else ""
            on = any(
                one.arg == "is_causal" and isinstance(one.value, ast.Constant) and one.value.value
                for one in node.keywords
            )
            if name in _TRIANGLES or on:
                found.append((name if not on else "is_causal", shown_line(function, node.lineno)))
    if {"triu", "tril"} <= {what for what, _ in found}:
        return
    yield from found
    forward = vars(kind).get("forward") or made
    if "causal" in kind.__name__.lower() and isinstance(forward, FunctionType) and is_own(forward):
        yield kind.__name__, shown_line(forward, forward.__code__.co_firstlineno)


def _shifts(node: ast.Assign) -> bool:
    """Return whether a variable is moved by one position, as `x = cat([start, x[:, :-1]], 1)`.

    The start must be something else, and what is moved must not be read any more.
    """
    target, call = node.targets[0], node.value
    if not isinstance(target, ast.Name) or not isinstance(call, ast.Call) or not call.args:
        return False
    if not isinstance(call.func, ast.Attribute) or call.func.attr not in _JOINS:
        return False
    parts: list[ast.expr] = getattr(call.args[0], "elts", [])
    if len(parts) != 2 or not isinstance(parts[1], ast.Subscript):
        return False
    start = {one.id for one in ast.walk(parts[0]) if isinstance(one, ast.Name)}
    if not is_name(parts[1].value, target.id):
        return False
    # `x.size(0)` may be in the start, but no value of `x`
    values = [one for one in ast.walk(parts[0]) if isinstance(one, ast.Subscript)]
    return not (target.id in start and values) and any(
        isinstance(one, ast.Slice)
        and one.lower is None
        and one.upper is not None
        and ast.unparse(one.upper) == "-1"
        for one in ast.walk(parts[1].slice)
    )


def squeezes(functions: list[FunctionType]) -> Iterator[str]:
    """Yield the lines that call `squeeze` without a dimension."""
    for function in functions:
        definition = definition_of(function)
        for node in ast.walk(definition) if definition is not None else ():
            if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
                continue
            of_torch = is_name(node.func.value, "torch")
            if node.func.attr == "squeeze" and len(node.args) == of_torch and not node.keywords:
                yield shown_line(function, node.lineno)


def batch_first(root: nn.Module | None) -> list[str]:
    """Return the names of the layers along sequences that get the batch in dimension 0."""
    return [
        name
        for name, module in (module_tree.named(root) if root is not None else ())
        if isinstance(module, (nn.RNNBase, nn.MultiheadAttention)) and module.batch_first
    ]


def sliced_by_batch(module: nn.Module | None) -> Iterator[tuple[str, str]]:
    """Yield the tensors [length, 1, features] of a module that forward cuts to `x.size(0)`."""
    forward = inspect.getattr_static(type(module), "forward", None)
    if module is None or not isinstance(forward, FunctionType) or not is_own(forward):
        return
    tensors = {**module._buffers, **module._parameters}
    definition = definition_of(forward)
    for node in ast.walk(definition) if definition is not None else ():
        if not isinstance(node, ast.Subscript) or not isinstance(node.value, ast.Attribute):
            continue
        name = node.value.attr
        tensor = tensors.get(name) if is_name(node.value.value, "self") else None
        if tensor is None or tensor.dim() != 3 or tensor.shape[1] != 1 or tensor.shape[0] < 2:
            continue
        first = node.slice.elts[0] if isinstance(node.slice, ast.Tuple) else node.slice
        upper = first.upper if isinstance(first, ast.Slice) and first.lower is None else None
        if upper is not None and _FIRST_SIZE.fullmatch(ast.unparse(upper)):
            yield name, shown_line(forward, node.lineno)
