"""Terms of a loss that its source makes constants: numbers, and results without a derivative."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from types import FunctionType, MethodType
from typing import Any

from torch import nn

from hookcli.engine.probes.code.user_source import definition_of
from hookcli.models import places
from hookcli.models.scripted import is_scripted
from hookcli.training.backward import only_tensor
from hookcli.training.observers.observer import Observer, line_of
from hookcli.training.script.watched_function import TorchCall
from hookcli.training.source.frame_source import user_frame
from hookcli.training.source.loss_source import additions, called_functions, number_terms, terms

_LOOKS = 2  # of each line
_DEEP = 6  # assignments and calls that are followed
# Methods and functions whose results have no derivative.
_ENDS = {
    "argmax", "argmin", "argsort", "item", "tolist", "numpy", "eq", "ne", "gt", "lt", "ge", "le",
    "sign", "round", "floor", "ceil", "bincount", "histc", "one_hot", "nonzero", "long", "int",
}  # fmt: skip
# Those that have one if their input has.
_KEEPS = {
    "float", "double", "half", "mean", "sum", "abs", "to", "view", "reshape", "squeeze", "flatten",
    "unsqueeze", "cuda", "cpu", "type", "clamp", "pow", "sqrt", "log", "exp", "div", "mul", "add",
}  # fmt: skip


class ConstantTerms(Observer):
    """Reads the source of a line that calls backward, and of the functions that make its loss."""

    kinds = ("ended_term",)
    before = {"backward": "backward"}  # noqa: RUF012

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self._looks: dict[tuple[str, int] | None, int] = {}

    def backward(self, call: TorchCall) -> None:
        """Look at the source of the loss."""
        line = line_of(call)
        looks = self._looks.get(line, 0)
        if looks >= _LOOKS:
            return
        frame = user_frame(call.frame)
        if frame is None or only_tensor(call.argument(0, "tensors")) is None:
            return
        self._looks[line] = looks + 1
        self.facts.look("ended_term")
        for text, at in number_terms(frame):
            place = f"{places.show(frame.f_code.co_filename)}:{at}"
            self.facts.add("ended_term", text, place, end="item", by="")
        for term in terms(frame):
            if term.value.requires_grad or not float(term.value.detach().abs().sum()):
                continue
            made = [term.made_by] if term.made_by is not None else additions(frame, term.text)
            if made and any(_reads_data(one) for one in made):
                place = f"{places.show(frame.f_code.co_filename)}:{term.line}"
                self.facts.add("ended_term", term.text, place, end="`.data`", by="")
        for function in called_functions(frame):
            for text, end, place in _ended(function):
                self.facts.add("ended_term", text, place, end=end, by=_name(function))


def _reads_data(node: ast.expr) -> bool:
    return any(isinstance(one, ast.Attribute) and one.attr == "data" for one in ast.walk(node))


def _name(function: Any) -> str:
    return str(getattr(function, "__name__", type(function).__name__))


def _plain(function: Any) -> FunctionType | None:
    """Return the function of the user's code that a call of an object runs."""
    if is_scripted(function):
        return None
    if isinstance(function, nn.Module):
        function = type(function).forward
    elif not isinstance(function, FunctionType | MethodType):
        function = getattr(type(function), "__call__", None)  # noqa: B004  # its source is read
    plain = inspect.unwrap(getattr(function, "__func__", function)) if function else None
    return plain if isinstance(plain, FunctionType) else None


def _ended(function: Any) -> Iterator[tuple[str, str, str]]:
    """Yield the terms of a sum that a function returns which have no derivative."""
    owner = function if isinstance(function, nn.Module) else getattr(function, "__self__", function)
    plain = _plain(function)
    body = None if plain is None else definition_of(plain)
    if plain is None or body is None:
        return
    code = _Code(plain, body, type(owner))
    for node in ast.walk(body):
        if not isinstance(node, ast.Return) or node.value is None:
            continue
        value = node.value.elts[0] if isinstance(node.value, ast.Tuple) else node.value
        terms = list(code.terms(value, _DEEP))
        ends = [(term, code.end_of(term, _DEEP)) for term in terms]
        if any(end is None for _, end in ends):
            for term, end in ends:
                if end is not None and end[0]:
                    file = places.show(end[1])
                    yield ast.unparse(term), end[0], f"{file}:{end[2]}"


class _Code:
    """The source of one function, and what its names stand for."""

    def __init__(self, function: FunctionType, body: Any, kind: type) -> None:
        self._function, self._body, self._kind = function, body, kind
        given = body.args
        self._given = {one.arg for one in (*given.posonlyargs, *given.args, *given.kwonlyargs)}

    def _assigned(self, name: str) -> ast.expr | None:
        """Return the only expression that is assigned to a name."""
        found = [
            node
            for node in ast.walk(self._body)
            if isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Store)
        ]
        if len(found) != 1 or name in self._given:
            return None
        for node in ast.walk(self._body):
            if isinstance(node, ast.Assign) and node.targets == [found[0]]:
                return node.value
        return None

    def terms(self, node: ast.expr, deep: int) -> Iterator[ast.expr]:
        """Yield the terms of a sum."""
        made = self._assigned(node.id) if isinstance(node, ast.Name) and deep else None
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub):
            yield from self.terms(node.left, deep)
            yield from self.terms(node.right, deep)
        elif isinstance(made, ast.BinOp) and isinstance(made.op, ast.Add | ast.Sub):
            yield from self.terms(made, deep - 1)
        else:
            yield node

    def end_of(self, node: ast.expr, deep: int) -> tuple[str, str, int] | None:
        """Return what ends the derivative of an expression, with file and line; None if nothing.

        The name is "" if the expression is a number.
        """
        if not deep:
            return None
        file = self._function.__code__.co_filename
        if isinstance(node, ast.Constant):
            return "", file, node.lineno
        if isinstance(node, ast.Compare):
            return self._inner(node, deep) or ("a comparison", file, node.lineno)
        if isinstance(node, ast.Name):
            made = self._assigned(node.id)
            return None if made is None else self.end_of(made, deep - 1)
        if isinstance(node, ast.UnaryOp):
            return self.end_of(node.operand, deep)
        if isinstance(node, ast.BinOp):
            sides = [self.end_of(node.left, deep), self.end_of(node.right, deep)]
            if isinstance(node.op, ast.Mult | ast.Div):  # one factor may be a weight of the loss
                sides = [
                    ("", file, node.lineno) if side is None and _is_weight(one) else side
                    for side, one in zip(sides, (node.left, node.right), strict=True)
                ]
            if None in sides:
                return None
            return next((side for side in sides if side and side[0]), sides[0])
        return self._end_of_call(node, deep) if isinstance(node, ast.Call) else None

    def _end_of_call(self, node: ast.Call, deep: int) -> tuple[str, str, int] | None:
        called = node.func
        if isinstance(called, ast.Attribute):
            if called.attr in _ENDS:
                return called.attr, self._function.__code__.co_filename, node.lineno
            if called.attr in _KEEPS:
                inner = called.value
                if isinstance(inner, ast.Name) and inner.id in ("torch", "F") and node.args:
                    inner = node.args[0]
                return self.end_of(inner, deep)
        target: Any = None
        if isinstance(called, ast.Name):
            target = self._function.__globals__.get(called.id)
        elif isinstance(called, ast.Attribute) and _is_self(called.value):
            target = inspect.getattr_static(self._kind, called.attr, None)
        target = getattr(target, "__func__", target)
        body = definition_of(target) if isinstance(target, FunctionType) else None
        if body is None:
            return None
        inside = _Code(target, body, self._kind)
        returned = [
            one.value for one in ast.walk(body) if isinstance(one, ast.Return) and one.value
        ]
        ends = [inside.end_of(one, deep - 1) for one in returned]
        return ends[0] if ends and None not in ends else None

    def _inner(self, node: ast.Compare, deep: int) -> tuple[str, str, int] | None:
        """Return what ended the derivative before a comparison, such as an argmax."""
        for one in ast.walk(node):
            if isinstance(one, ast.Name):
                made = self._assigned(one.id)
                found = None if made is None else self.end_of(made, deep - 1)
                if found is not None and found[0]:
                    return found
        return None


def _is_self(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id == "self"


def _is_weight(node: ast.expr) -> bool:
    """Return whether a factor is a setting, such as `self.beta` or an argument with a default."""
    return isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)
