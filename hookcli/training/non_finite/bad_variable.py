"""Finds a variable of a loss that is not finite and has no gradient, such as a weight of a term.

It is for losses that cannot be computed again from their source, as those of a list of steps: the
variable was computed before, and the graph of the loss has no operator of it.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Iterator
from types import FrameType
from typing import Any

import torch

from hookcli.models import places
from hookcli.operators.finite import counts_of, is_readable
from hookcli.training.non_finite.forward_call import NonFiniteValue
from hookcli.training.source.frame_source import (
    assigned,
    body_of,
    loss_expression,
    own_nodes,
    value_of,
)

_MOST_NAMES, _MOST_VALUES = 16, 1_000  # that are followed, and values of a list
_SPREADS = {"std", "var"}


def bad_variable(frame: FrameType) -> NonFiniteValue | None:
    """Return the first variable behind a loss that has NaN or Inf, and no gradient.

    `frame` is that of the line that calls backward. The outputs of the model are finite.
    """
    body, node = body_of(frame), loss_expression(frame)
    if body is None or node is None:
        return None
    todo: list[ast.AST] = [node]
    names: list[str] = []
    of_loop: NonFiniteValue | None = None  # a variable whose values another one has
    for expression in todo:  # grows meanwhile
        for name in _names_in(expression):
            if name in names or len(names) >= _MOST_NAMES:
                continue
            names.append(name)
            made = assigned(body, name, frame.f_lineno + 1)
            value = value_of(ast.Name(name, ast.Load()), frame)
            if _is_bad(value):
                found = _found(name, value, made, frame)
                if made is not None:
                    return found
                of_loop = of_loop or found
            todo += [] if made is None else [made]
            todo += _iterated(body, name)
            todo += _appended(body, name)
    return of_loop


def _names_in(node: ast.AST) -> list[str]:
    return [one.id for one in ast.walk(node) if isinstance(one, ast.Name)]


def _appended(body: ast.AST, name: str) -> Iterator[ast.expr]:
    """Yield what a function appends to a list."""
    for node in own_nodes(body):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args:
            owner = node.func.value
            if node.func.attr == "append" and isinstance(owner, ast.Name) and owner.id == name:
                yield node.args[0]


def _iterated(body: ast.AST, name: str) -> Iterator[ast.expr]:
    """Yield what the loops iterate over that give a variable its values."""
    for node in own_nodes(body):
        if isinstance(node, ast.For) and name in _names_in(node.target):
            yield node.iter


def _is_bad(value: Any) -> bool:
    """Return whether a variable has a number that is not finite, and no gradient."""
    if type(value) in {list, tuple}:
        return any(_is_bad(one) for one in value[:_MOST_VALUES] if not isinstance(one, list))
    if isinstance(value, torch.Tensor):
        return not value.requires_grad and is_readable(value) and counts_of(value) is not None
    return type(value) is float and not math.isfinite(value)


def _found(name: str, value: Any, made: ast.expr | None, frame: FrameType) -> NonFiniteValue:
    line = frame.f_lineno if made is None else made.lineno
    reason, cause = f"`{name}` is not finite, and the loss is computed from it", None
    spread = None if made is None else _spread_of_one(name, value, made, frame)
    if spread is not None:
        reason = f"`{name}` is NaN: `{spread}` of one value divides by 0"
        cause = "one_element"
    return NonFiniteValue(
        "loss",
        place=f"{places.show(frame.f_code.co_filename)}:{line}",
        reason=reason,
        found_by="source",
        cause=cause,
    )


def _spread_of_one(name: str, value: Any, made: ast.expr, frame: FrameType) -> str | None:
    """Return "std" or "var", if a variable with NaN was computed from that of one value."""
    if not isinstance(value, torch.Tensor) or not bool(value.isnan().any()):
        return None
    for node in ast.walk(made):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            continue
        owner = value_of(node.func.value, frame)
        given = node.args[:1] if owner is torch else [node.func.value]
        if node.func.attr not in _SPREADS or not given:
            continue
        # The variable itself may have got another value, of the same size.
        is_itself = isinstance(given[0], ast.Name) and given[0].id == name
        of = value if is_itself else value_of(given[0], frame)
        if isinstance(of, torch.Tensor) and of.numel() == 1:
            return node.func.attr
    return None
