"""The terms of a loss, read in the source of the script at the line that calls backward.

Autograd's graph has no constants: a term without a gradient is not in it. The source has all terms,
and the variables of the function that runs have their values. Nothing is evaluated but the names
of variables and of plain attributes.
"""

from __future__ import annotations

import ast
import linecache
from collections.abc import Iterator
from dataclasses import dataclass
from types import FrameType
from typing import Any

import torch
from torch import nn

from hookcli.models import places
from hookcli.torch_private import LossBase
from hookcli.training.source.frame_source import (
    assigned,
    body_of,
    called_backward,
    current_value,
    end_of,
    own_nodes,
    tree_of,
    value_of,
)

_MOST_ASSIGNMENTS = 8  # that are followed from one name to another
_NOTHING: Any = object()
# Loss functions of torch.nn.functional.
LOSSES = {
    "binary_cross_entropy", "binary_cross_entropy_with_logits", "cross_entropy", "ctc_loss",
    "gaussian_nll_loss", "hinge_embedding_loss", "huber_loss", "kl_div", "l1_loss", "mse_loss",
    "margin_ranking_loss", "multi_margin_loss", "nll_loss", "poisson_nll_loss", "smooth_l1_loss",
    "soft_margin_loss", "triplet_margin_loss",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Term:
    """One term of a sum: its source, its value, and the expression that made it, if it is known.

    `detached` is the source of a detached tensor that it is computed from, with its line.
    """

    text: str
    value: torch.Tensor
    made_by: ast.expr | None
    line: int
    detached: tuple[str, int] | None = None


def terms(frame: FrameType) -> list[Term]:
    """Return the terms of the loss whose backward a line of the script calls; [] if unknown.

    Only names are terms, and products of them with numbers.
    """
    body = body_of(frame)
    start = None if body is None else called_backward(body, frame.f_lineno)
    if body is None or start is None:
        return []
    found: list[Term] = []
    _add_terms(start, body, frame, frame.f_lineno, found, _MOST_ASSIGNMENTS)
    return found


def _add_terms(
    node: ast.expr, body: ast.AST, frame: FrameType, line: int, found: list[Term], deep: int
) -> None:
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub):
        _add_terms(node.left, body, frame, line, found, deep)
        _add_terms(node.right, body, frame, line, found, deep)
        return
    if isinstance(node, ast.UnaryOp):
        _add_terms(node.operand, body, frame, line, found, deep)
        return
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult | ast.Div):
        left, right = node.left, node.right
        if _is_number(right, frame):
            _add_terms(left, body, frame, line, found, deep)
        elif _is_number(left, frame) and isinstance(node.op, ast.Mult):
            _add_terms(right, body, frame, line, found, deep)
        return
    if not isinstance(node, ast.Name | ast.Attribute):
        return
    value = value_of(node, frame)
    if not isinstance(value, torch.Tensor):
        return
    made = assigned(body, node.id, line) if isinstance(node, ast.Name) else None
    if made is not None and deep and _is_sum(made) and value.requires_grad:
        _add_terms(made, body, frame, made.lineno, found, deep - 1)
        return
    at = line if made is None else made.lineno
    detached = None if made is None else _detached(made, body, deep)
    found.append(Term(ast.unparse(node), value, made, at, detached))


def _detached(node: ast.expr, body: ast.AST, deep: int) -> tuple[str, int] | None:
    """Return the first detached tensor that an expression, or what its names stand for, uses."""
    for one in ast.walk(node):
        if isinstance(one, ast.Attribute) and one.attr in ("detach", "data"):
            text = ast.unparse(one)
            return f"{text}()" if one.attr == "detach" else text, one.lineno
    for one in ast.walk(node):
        if isinstance(one, ast.Name) and deep:
            made = assigned(body, one.id, node.lineno)
            found = None if made is None else _detached(made, body, deep - 1)
            if found is not None:
                return found
    return None


def _is_sum(node: ast.expr) -> bool:
    """Return whether an expression is a sum or difference, up to factors that are numbers."""
    while isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult | ast.Div):
        node = node.left if isinstance(node.left, ast.BinOp) else node.right
    return isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub)


def _is_number(node: ast.expr, frame: FrameType) -> bool:
    if isinstance(node, ast.Constant):
        return True
    if isinstance(node, ast.BinOp):
        return _is_number(node.left, frame) and _is_number(node.right, frame)
    if isinstance(node, ast.UnaryOp):
        return _is_number(node.operand, frame)
    return isinstance(value_of(node, frame), int | float)


def number_terms(frame: FrameType) -> list[tuple[str, int]]:
    """Return the terms of a loss that are numbers made of a loss by `.item()` or float, with lines.

    A number that is only a factor is none.
    """
    body = body_of(frame)
    start = None if body is None else called_backward(body, frame.f_lineno)
    if body is None or start is None:
        return []
    return list(_numbers(start, body, frame, frame.f_lineno, _MOST_ASSIGNMENTS))


def _numbers(
    node: ast.expr, body: ast.AST, frame: FrameType, line: int, deep: int
) -> Iterator[tuple[str, int]]:
    if _is_number(node, frame):
        for one in ast.walk(node):
            made = assigned(body, one.id, line) if isinstance(one, ast.Name) else None
            if made is not None and _is_number_of_loss(made, frame):
                yield ast.unparse(one), made.lineno
        return
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub):
        yield from _numbers(node.left, body, frame, line, deep)
        yield from _numbers(node.right, body, frame, line, deep)
    elif _is_number_of_loss(node, frame):
        yield ast.unparse(node), node.lineno
    elif isinstance(node, ast.Name) and deep:
        made = assigned(body, node.id, line)
        if made is not None and _is_sum(made):
            yield from _numbers(made, body, frame, made.lineno, deep - 1)


def _is_number_of_loss(node: ast.expr, frame: FrameType) -> bool:
    """Return whether an expression makes a number of the result of a loss function."""
    if not isinstance(node, ast.Call):
        return False
    inner: ast.expr | None = None
    if isinstance(node.func, ast.Attribute) and node.func.attr == "item":
        inner = node.func.value
    elif isinstance(node.func, ast.Name) and node.func.id == "float" and node.args:
        inner = node.args[0]
    if inner is None:
        return False
    calls = any(loss_function(call, frame) is not None for call in calls_in(inner))
    return calls or (isinstance(inner, ast.Name) and "loss" in inner.id.lower())


def additions(frame: FrameType, name: str) -> list[ast.expr]:
    """Return what the function that runs adds to a variable, as in `total += x`."""
    body = body_of(frame)
    return [
        node.value
        for node in (own_nodes(body) if body is not None else ())
        if isinstance(node, ast.AugAssign)
        and isinstance(node.op, ast.Add)
        and isinstance(node.target, ast.Name)
        and node.target.id == name
    ]


def calls_in(node: ast.AST | None) -> Iterator[ast.Call]:
    """Yield the calls in an expression, those inside of others too."""
    if node is not None:
        for one in ast.walk(node):
            if isinstance(one, ast.Call):
                yield one


def argument_of_call(frame: FrameType, method: str) -> ast.expr | None:
    """Return the first argument of the only call of a method on the line that a frame runs."""
    body = body_of(frame)
    if body is None:
        return None
    found = [
        node.args[0] if node.args else next((k.value for k in node.keywords), None)
        for node in own_nodes(body)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == method
        and node.lineno <= frame.f_lineno <= end_of(node)
    ]
    return found[0] if len(found) == 1 else None


def loss_function(node: ast.Call, frame: FrameType) -> Any:
    """Return the loss function of PyTorch that a call is of: a module or a function; else None."""
    called = value_of(node.func, frame)
    if isinstance(called, LossBase):
        return called
    if isinstance(node.func, ast.Attribute) and called is None:
        owner = value_of(node.func.value, frame)
        called = getattr(owner, node.func.attr, None) if owner is nn.functional else None
    name = getattr(called, "__name__", "")
    return called if name in LOSSES and getattr(nn.functional, name, None) is called else None


def kind_of_value(node: ast.expr, frame: FrameType) -> str | None:
    """Return "loss" if an expression, or the assignment to its name, calls a loss function."""
    body = body_of(frame)
    made = unwrapped(node)
    if isinstance(made, ast.Name) and body is not None:
        made = unwrapped(assigned(body, made.id, frame.f_lineno))
    if isinstance(made, ast.Call) and loss_function(made, frame) is not None:
        return "loss"
    return None


def unwrapped(node: ast.expr | None) -> ast.expr | None:
    """Return the expression in front of `.item()` and its like."""
    while (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in ("item", "detach", "mean", "sum", "cpu")
    ):
        node = node.func.value
    return node


def sign_of_entropy(frame: FrameType) -> tuple[str, int, int] | None:
    """Return the name, line and sign of the entropy of a policy in the loss whose backward runs.

    A policy is a distribution of torch.distributions, with a log_prob of its own samples in the
    same function. None if there is none, or if its sign is not known.
    """
    body = body_of(frame)
    start = None if body is None else called_backward(body, frame.f_lineno)
    if body is None or start is None:
        return None
    for name, line, sign in _signed(start, body, frame, frame.f_lineno, 1, _MOST_ASSIGNMENTS):
        made = unwrapped(assigned(body, name, line))
        policy = _method_of(made, "entropy")
        if policy is None or not _is_policy(policy, body, frame):
            continue
        value = value_of(ast.Name(name), frame)
        if isinstance(value, torch.Tensor) and value.requires_grad:
            return name, line, sign
    return None


def _method_of(node: ast.expr | None, method: str) -> ast.expr | None:
    """Return the object whose method a call calls."""
    if (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == method
    ):
        return node.func.value
    return None


def _is_policy(policy: ast.expr, body: ast.AST, frame: FrameType) -> bool:
    """Return whether actions are sampled from a distribution, and their log_prob is computed."""
    if not isinstance(value_of(policy, frame), torch.distributions.Distribution):
        return False
    text = ast.unparse(policy)
    used = {
        node.func.attr
        for node in own_nodes(body)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and ast.unparse(node.func.value) == text
    }
    return {"sample", "log_prob"} <= used


def _signed(
    node: ast.expr, body: ast.AST, frame: FrameType, line: int, sign: int, deep: int
) -> Iterator[tuple[str, int, int]]:
    """Yield the names in a sum with their lines and signs, as far as these are known."""
    node = unwrapped(node) or node
    if isinstance(node, ast.Name):
        made = assigned(body, node.id, line)
        if made is not None and deep and _is_sum(unwrapped(made) or made):
            yield from _signed(made, body, frame, made.lineno, sign, deep - 1)
        else:
            yield node.id, line, sign
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        yield from _signed(node.operand, body, frame, line, -sign, deep)
    elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub):
        yield from _signed(node.left, body, frame, line, sign, deep)
        right = -sign if isinstance(node.op, ast.Sub) else sign
        yield from _signed(node.right, body, frame, line, right, deep)
    elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        for factor, rest in ((node.left, node.right), (node.right, node.left)):
            number = _number(factor, frame)
            if number:
                yield from _signed(rest, body, frame, line, sign if number > 0 else -sign, deep)
                return


def _number(node: ast.expr, frame: FrameType) -> float | None:
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, int | float) else None
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        value = _number(node.operand, frame)
        return None if value is None else -value
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        left, right = _number(node.left, frame), _number(node.right, frame)
        return None if left is None or right is None else left * right
    value = value_of(node, frame)
    return float(value) if isinstance(value, int | float) else None


_TERMINAL = {
    "d", "done", "dones", "terminal", "terminals", "terminated", "is_done", "not_done", "dw",
    "done_batch", "batch_done", "done_mask",
}  # fmt: skip
_COLUMNS = 4  # of a batch of transitions


def unread_terminal(frame: FrameType) -> tuple[str, int] | None:
    """Return the name of the ends of episodes, if the values of next states are added without it.

    It is one of several names that a batch is unpacked to, and no line of the function reads it.
    The line is that of the target: a reward plus a discount times a value.
    """
    body = body_of(frame)
    nodes = list(own_nodes(body)) if body is not None else []
    names = [
        target.elts
        for node in nodes
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Tuple) and len(target.elts) >= _COLUMNS
    ]
    known = {one.id for row in names for one in row if isinstance(one, ast.Name)} & _TERMINAL
    read = {
        node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)
    }
    unread = sorted(known - read)
    if not unread:
        return None
    for node in nodes:
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
            for side in (node.left, node.right):
                text = ast.unparse(side).lower()
                is_product = isinstance(side, ast.BinOp) and isinstance(side.op, ast.Mult)
                if is_product and ("gamma" in text or "discount" in text):
                    return unread[0], node.lineno
    return None


_LOG_PROBS = ("log_prob", "logp", "log_pi", "log_action", "ratio")


def graded_weight(frame: FrameType) -> tuple[str, int] | None:
    """Return what weighs the log-probabilities of a policy and has a gradient, with its line.

    It is a tensor with an entry for each action, in the function whose line calls backward.
    """
    body = body_of(frame)
    for node in own_nodes(body) if body is not None else ():
        if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Mult):
            continue
        for policy, other in ((node.left, node.right), (node.right, node.left)):
            text = ast.unparse(policy)
            if not any(word in text for word in _LOG_PROBS) or ".detach" in ast.unparse(other):
                continue
            if any(word in ast.unparse(other) for word in _LOG_PROBS):
                continue
            for one in ast.walk(other):
                if isinstance(one, ast.Name):
                    value = current_value(one, frame, node.lineno)
                    if value is not None and value.requires_grad and value.numel() > 1:
                        return one.id, node.lineno
    return None


def _gets_data(target: ast.expr, frame: FrameType) -> bool:
    """Return whether what is assigned are tensors of which none has a gradient."""
    targets = target.elts if isinstance(target, ast.Tuple | ast.List) else [target]
    values = [value_of(one, frame) for one in targets]
    tensors = [one for one in values if isinstance(one, torch.Tensor)]
    return bool(tensors) and not any(one.requires_grad for one in tensors)


def called_functions(frame: FrameType) -> list[Any]:
    """Return the user's functions and modules that the function of a frame calls by name.

    Those whose result has no gradient are left out: they make data.
    """
    body = body_of(frame)
    found = []
    nodes = list(own_nodes(body)) if body is not None else []
    data = {
        id(node.value)
        for node in nodes
        if isinstance(node, ast.Assign) and _gets_data(node.targets[0], frame)
    }
    for node in nodes:
        if isinstance(node, ast.Call) and id(node) not in data:
            called = value_of(node.func, frame)
            if callable(called) and not isinstance(called, type):
                found.append(called)
    return found


def new_leaf(place: str) -> tuple[str, str] | None:
    """Return the only expression of a file that makes a tensor with `requires_grad`, and its line.

    `place` is a line of the file. None if there is none, or if there are several.
    """
    shown = place.rpartition(":")[0]
    file = next((name for name in linecache.cache if places.show(name) == shown), None)
    tree = None if file is None else tree_of(file, len(linecache.getlines(file)))
    found = []
    for node in ast.walk(tree) if tree is not None else ():
        if isinstance(node, ast.Call):
            asked = any(
                keyword.arg == "requires_grad"
                and isinstance(keyword.value, ast.Constant)
                and keyword.value.value is True
                for keyword in node.keywords
            )
            method = isinstance(node.func, ast.Attribute) and node.func.attr == "requires_grad_"
            if asked or (method and not node.args and not node.keywords):
                found.append(node)
    if len(found) != 1:
        return None
    return " ".join(ast.unparse(found[0]).split()), f"{shown}:{found[0].lineno}"


_HIDDEN_READS = {"locals", "globals", "vars", "eval", "exec"}


def unread_tensors(frame: FrameType) -> list[tuple[str, int]]:
    """Return the tensors that the function of a frame computes and never reads, with their lines.

    Only names that one assignment gives alone, and not those that begin with an underscore.
    Variables of a module that others may import are not known.
    """
    body = body_of(frame)
    is_module = frame.f_code.co_name == "<module>"
    if body is None or (is_module and frame.f_globals.get("__name__") != "__main__"):
        return []
    read: set[str] = set()
    for node in ast.walk(body):
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Store):
            read.add(node.id)
        elif isinstance(node, ast.Global | ast.Nonlocal):
            read.update(node.names)
    if read & _HIDDEN_READS:
        return []
    found: dict[str, int] = {}
    for node in own_nodes(body):
        if not isinstance(node, ast.Assign) or len(node.targets) != 1:
            continue
        target = node.targets[0]
        if not isinstance(target, ast.Name) or target.id in read or target.id.startswith("_"):
            continue
        value = value_of(target, frame)
        if isinstance(value, torch.Tensor) and value.numel() > 1:
            found.setdefault(target.id, node.lineno)
    return list(found.items())
