"""Mistakes in the code that makes a loss: terms that another one replaces."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

_LOSS = re.compile(r"loss|entropy|criterion|mse|nll", re.IGNORECASE)


def replaced_losses(tree: ast.AST) -> Iterator[tuple[str, int]]:
    """Yield the losses that nothing reads before another term takes their name, with that line.

    In a branch, only a variable that is a loss too counts: one of two formulas may be chosen.
    """
    for node in ast.walk(tree):
        block = node.body if isinstance(node, ast.FunctionDef | ast.For | ast.While) else []
        for number, statement in enumerate(block):
            name = _made(statement)
            for after in block[number + 1 :] if name else ():
                names = [
                    one for one in ast.walk(after) if isinstance(one, ast.Name) and one.id == name
                ]
                if any(isinstance(one.ctx, ast.Load) for one in names):
                    break
                if names:
                    line = _replaced(after, name)
                    if line:
                        yield name, line
                    break


def _made(statement: ast.stmt) -> str:
    """Return the name that gets the result of a loss function; else ""."""
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return ""
    target, value = statement.targets[0], statement.value
    if not isinstance(target, ast.Name) or "loss" not in target.id.lower():
        return ""
    is_made = isinstance(value, ast.Call) and _LOSS.search(ast.unparse(value.func))
    return target.id if is_made else ""


def _replaced(statement: ast.stmt, name: str) -> int | None:
    """Return the line at which a statement gives the name to another term."""
    if isinstance(statement, ast.Assign):
        return statement.lineno if _is_term(statement, name) else None
    if not isinstance(statement, ast.If) or statement.orelse:
        return None
    found = [one for one in statement.body if isinstance(one, ast.Assign) and _is_term(one, name)]
    return found[0].lineno if found else None


def _is_term(statement: ast.Assign, name: str) -> bool:
    """Return whether an assignment gives the name to a variable that is a loss as well."""
    value = statement.value
    target = statement.targets[0]
    is_target = isinstance(target, ast.Name) and target.id == name
    return is_target and isinstance(value, ast.Name) and "loss" in value.id.lower()


def zero_terms(tree: ast.AST) -> Iterator[tuple[str, int]]:
    """Yield the losses that a line multiplies with the number 0, by their names.

    Sums of outputs or parameters that are multiplied by 0 only make all parameters used.
    """
    for node in ast.walk(tree):
        if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Mult):
            continue
        for number, term in ((node.left, node.right), (node.right, node.left)):
            is_zero = isinstance(number, ast.Constant) and number.value == 0
            if is_zero and isinstance(term, ast.Name) and "loss" in term.id.lower():
                yield term.id, node.lineno
