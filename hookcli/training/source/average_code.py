"""Mistakes in the code of moving averages: a step away from what they are to follow."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

_AVERAGES = re.compile(r"\bema|_ema|ema_|shadow|average|avg|target|teacher|slow")
_ADDS = {"add_": 1, "sub_": -1}


def averages_that_move_away(tree: ast.AST) -> Iterator[tuple[str, int]]:
    """Yield the averages to which their difference from the parameters is added.

    `s += (s - p) * rate` moves s away from p; `s -= (s - p) * rate` moves it towards p.
    """
    for function, owner in _functions(tree):
        about = f"{owner} {ast.unparse(function)}".lower()
        if not _AVERAGES.search(about):
            continue
        named = {
            node.targets[0].id: node.value
            for node in ast.walk(function)
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
        }
        for node in ast.walk(function):
            change = _change(node) if isinstance(node, ast.stmt) else None
            difference = None if change is None else _difference(change[2], named)
            if change is None or difference is None or not isinstance(node, ast.stmt):
                continue
            first, second, factor = difference
            name = ast.unparse(change[0]).removesuffix(".data")
            names = [ast.unparse(one).removesuffix(".data") for one in (first, second)]
            if name in names and change[1] * factor * (1 if names[0] == name else -1) > 0:
                yield name, node.lineno


def _functions(tree: ast.AST) -> Iterator[tuple[ast.FunctionDef, str]]:
    """Yield the functions of a file, with the name of the class that each is a method of."""
    for node in ast.walk(tree):
        for inner in ast.iter_child_nodes(node):
            if isinstance(inner, ast.FunctionDef):
                yield inner, node.name if isinstance(node, ast.ClassDef) else ""


def _change(node: ast.stmt) -> tuple[ast.expr, int, ast.expr] | None:
    """Return a tensor that is changed in place, the sign, and what is added to it."""
    if isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Add | ast.Sub):
        return node.target, 1 if isinstance(node.op, ast.Add) else -1, node.value
    call = node.value if isinstance(node, ast.Expr) else None
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute) or not call.args:
        return None
    sign = _ADDS.get(call.func.attr)
    return None if sign is None else (call.func.value, sign, call.args[0])


def _difference(
    value: ast.expr, named: dict[str, ast.expr]
) -> tuple[ast.expr, ast.expr, int] | None:
    """Return the two sides of a difference, and the sign of what it is multiplied by.

    Rates, as `1 - decay`, are positive.
    """
    if isinstance(value, ast.Name) and value.id in named:
        value = named[value.id]
    if isinstance(value, ast.UnaryOp) and isinstance(value.op, ast.USub):
        inner = _difference(value.operand, named)
        return None if inner is None else (inner[0], inner[1], -inner[2])
    if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Mult):
        for one, other in ((value.left, value.right), (value.right, value.left)):
            inner = _difference(one, named)
            if inner is not None and not _is_rate(one):
                negative = isinstance(other, ast.UnaryOp) and isinstance(other.op, ast.USub)
                return inner[0], inner[1], -inner[2] if negative else inner[2]
        return None
    if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Sub) and not _is_rate(value):
        return value.left, value.right, 1
    return None


def _is_rate(value: ast.expr) -> bool:
    """Return whether a difference is a number, as `1 - decay`."""
    return isinstance(value, ast.BinOp) and isinstance(value.left, ast.Constant)
