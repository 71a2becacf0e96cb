"""Finds the part of a loss, in the source of the script, whose value is not finite.

Autograd's graph has no operators on values without a gradient: the log of a detached value, a sum
of weights, a division by a count. The source of the line that computes the loss has them. Only
functions of torch that read nothing else are run, on the current values of variables. Other calls
are not known, and nothing is said of them.
"""

from __future__ import annotations

import ast
import builtins
import operator
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import FrameType
from typing import Any

import torch
from torch import nn

from hookcli.models import places
from hookcli.models.fake.dispatch_mode import UncompiledMode
from hookcli.models.nested import leaves
from hookcli.operators.arguments import inputs
from hookcli.operators.finite import counts_of, described, first_place
from hookcli.operators.names import written
from hookcli.operators.reasons import Operation, why
from hookcli.refusals import raise_if_external
from hookcli.rules.first_operator import explanation
from hookcli.torch_private import LossBase, disable_current_modes
from hookcli.training.non_finite.forward_call import NonFiniteValue
from hookcli.training.non_finite.plain_rows import facts_row
from hookcli.training.source.frame_source import (
    assigned,
    assigns,
    body_of,
    loss_expression,
    own_nodes,
    value_of,
)
from hookcli.training.source.loss_source import LOSSES

_MOST_ELEMENTS = 1 << 25  # of a tensor that is computed with again
_MOST_ASSIGNMENTS = 8  # that are followed from one name to another
_MOST_TEXT = 60  # characters of an expression in a sentence
_UNKNOWN: Any = object()
_BINARY: dict[type[ast.AST], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.Pow: operator.pow, ast.MatMult: operator.matmul, ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod, ast.BitAnd: operator.and_, ast.BitOr: operator.or_,
}  # fmt: skip
_UNARY: dict[type[ast.AST], Callable[[Any], Any]] = {
    ast.USub: operator.neg, ast.UAdd: operator.pos, ast.Invert: operator.invert,
}  # fmt: skip
_COMPARED: dict[type[ast.AST], Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le,
    ast.Gt: operator.gt, ast.GtE: operator.ge,
}  # fmt: skip
# Functions and methods of torch that neither write to their arguments nor draw random numbers.
_PURE = LOSSES | {
    "abs", "absolute", "acos", "acosh", "add", "amax", "amin", "arange", "asin", "asinh",
    "atan", "atan2", "atanh", "bfloat16", "bmm", "bool", "cat", "clamp", "clamp_max",
    "clamp_min", "clip", "clone", "contiguous", "cosine_similarity", "cpu", "cumprod", "cumsum",
    "detach", "diag", "diagonal", "dim", "div", "divide", "dot", "double", "einsum", "eq",
    "exp", "expand", "expand_as", "expm1", "eye", "flatten", "float", "full", "full_like",
    "gather", "ge", "gt", "half", "index_select", "inverse", "le", "log", "log10", "log1p",
    "log2", "log_softmax", "logsigmoid", "logsumexp", "long", "lt", "masked_fill", "matmul",
    "max", "maximum", "mean", "min", "minimum", "mm", "mul", "multiply", "nan_to_num",
    "nanmean", "nansum", "ne", "neg", "negative", "norm", "normalize", "numel", "one_hot",
    "ones", "ones_like", "permute", "pow", "prod", "reciprocal", "relu", "reshape", "rsqrt",
    "select", "sigmoid", "sign", "size", "softmax", "softplus", "sqrt", "square", "squeeze",
    "stack", "std", "sub", "subtract", "sum", "t", "tanh", "tensor", "to", "transpose", "tril",
    "triu", "true_divide", "unsqueeze", "var", "view", "view_as", "where", "xlogy", "zeros",
    "zeros_like",
}  # fmt: skip
_ATTRIBUTES = {"T", "mT", "data", "shape", "dtype", "device"}
_OWNERS = (torch, nn.functional, torch.special, torch.linalg)


def bad_part(frame: FrameType) -> NonFiniteValue | None:
    """Return the first part of the loss whose value is not finite though its inputs are.

    `frame` is that of the line that calls backward. None if no such part is found, as where the
    outputs of the model are not finite.
    """
    node = loss_expression(frame)
    if node is None or body_of(frame) is None:
        return None
    with torch.no_grad(), disable_current_modes():
        return _Evaluator(frame).of(node, frame.f_lineno + 1, _MOST_ASSIGNMENTS).bad


@dataclass(frozen=True, slots=True)
class _Part:
    """The value of an expression, and what made it not finite."""

    value: Any = _UNKNOWN
    bad: NonFiniteValue | None = None


class _FirstOperation(UncompiledMode):  # type: ignore[no-untyped-call]
    """Keeps the first operator that returns a value that is not finite."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.first: Operation | None = None

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        out = func(*args, **(kwargs or {}))
        if self.first is None:
            for _, tensor, _ in leaves(out):
                if counts_of(tensor) is not None:
                    self.first = Operation(func, args, kwargs or {}, tensor)
                    break
        return out


class _Evaluator:
    def __init__(self, frame: FrameType) -> None:
        self._frame = frame
        self._body = body_of(frame)
        self._file = places.show(frame.f_code.co_filename)

    def of(self, node: ast.AST, line: int, deep: int) -> _Part:
        """Return the value of an expression, and its part that is bad.

        Variables have the values that assignments in front of `line` gave them. `deep` assignments
        are followed.
        """
        if isinstance(node, ast.Constant):
            return _Part(node.value)
        if isinstance(node, ast.Name):
            return self._variable(node, line, deep)
        if isinstance(node, ast.Attribute):
            return self._attribute(node, line, deep)
        if isinstance(node, ast.BinOp):
            parts = [self.of(one, line, deep) for one in (node.left, node.right)]
            return self._computed(node, parts, _BINARY.get(type(node.op)))
        if isinstance(node, ast.UnaryOp):
            return self._computed(
                node, [self.of(node.operand, line, deep)], _UNARY.get(type(node.op))
            )
        if isinstance(node, ast.Compare) and len(node.ops) == 1:
            parts = [self.of(one, line, deep) for one in (node.left, node.comparators[0])]
            return self._computed(node, parts, _COMPARED.get(type(node.ops[0])))
        if isinstance(node, ast.Tuple | ast.List):
            parts = [self.of(one, line, deep) for one in node.elts]
            return self._computed(node, parts, lambda *values: list(values))
        if isinstance(node, ast.Subscript):
            parts = [self.of(node.value, line, deep), self._index(node.slice, line, deep)]
            return self._computed(node, parts, operator.getitem)
        if isinstance(node, ast.Call):
            return self._call(node, line, deep)
        return _Part()

    def _index(self, node: ast.AST, line: int, deep: int) -> _Part:
        if isinstance(node, ast.Slice):
            bounds = [
                _Part(None) if one is None else self.of(one, line, deep)
                for one in (node.lower, node.upper, node.step)
            ]
            return self._computed(node, bounds, slice)
        if isinstance(node, ast.Tuple):
            parts = [self._index(one, line, deep) for one in node.elts]
            return self._computed(node, parts, lambda *values: values)
        return self.of(node, line, deep)

    def _variable(self, node: ast.Name, line: int, deep: int) -> _Part:
        """Return the value of a variable; what made it not finite is in its assignment."""
        if self._is_changed(node.id, line):
            return _Part()
        value = _plain(value_of(node, self._frame))
        if not _is_bad(value) or self._body is None or not deep:
            return _Part(value)
        made = assigned(self._body, node.id, line)
        if made is not None:
            return _Part(value, self.of(made, made.lineno, deep - 1).bad)
        return _Part(value, self._of_batch(node, value))

    def _is_changed(self, name: str, line: int) -> bool:
        """Whether a variable got another value between the line that reads it and backward."""
        return any(
            line <= getattr(other, "lineno", 0) <= self._frame.f_lineno and assigns(other, name)
            for other in (() if self._body is None else own_nodes(self._body))
        )

    def _of_batch(self, node: ast.Name, value: Any) -> NonFiniteValue | None:
        """Return a tensor that a loop gave to the script, as a loop over batches does."""
        made = [
            other
            for other in (() if self._body is None else own_nodes(self._body))
            if assigns(other, node.id)
        ]
        if len(made) != 1 or not isinstance(made[0], ast.For) or value is _UNKNOWN:
            return None
        if not isinstance(value, torch.Tensor):
            return None
        counts = counts_of(value) or {}
        kind = "NaN" if counts.get("nans") else "Inf" if counts.get("infs") else "-Inf"
        reason = f"`{node.id}` of the loop contains {kind}{first_place(value)}"
        rows = (facts_row(described(node.id, value)),)
        place = f"{self._file}:{made[0].lineno}"
        return NonFiniteValue(
            "loss", place=place, inputs=rows, reason=reason, found_by="source", cause="input"
        )

    def _attribute(self, node: ast.Attribute, line: int, deep: int) -> _Part:
        if node.attr in _ATTRIBUTES:
            part = self.of(node.value, line, deep)
            if isinstance(part.value, torch.Tensor):
                return _Part(_plain(getattr(part.value, node.attr)), part.bad)
        value = value_of(node, self._frame)
        if value is None:
            owner = value_of(node.value, self._frame)
            value = getattr(torch, node.attr, None) if owner is torch else None  # torch.float32
        return _Part(_plain(value))

    def _call(self, node: ast.Call, line: int, deep: int) -> _Part:
        function = self._function(node, line, deep)
        if function is None:
            return _Part()
        given = [] if function.owner is None else [function.owner]
        if any(isinstance(one, ast.Starred) for one in node.args) or any(
            one.arg in {None, "out"}
            for one in node.keywords  # it would write to `out`
        ):
            return _Part()
        given += [self.of(one, line, deep) for one in node.args]
        named = [self.of(one.value, line, deep) for one in node.keywords]
        names = [str(one.arg) for one in node.keywords]
        count = len(given)

        def run(*values: Any) -> Any:
            keywords = dict(zip(names, values[count:], strict=True))
            return function.run(*values[:count], **keywords)

        return self._computed(node, [*given, *named], run)

    def _function(self, node: ast.Call, line: int, deep: int) -> _Function | None:
        """Return what a call runs, if it reads nothing but its arguments; else None."""
        called = value_of(node.func, self._frame)
        if isinstance(called, LossBase):
            of_torch = type(called).__module__.startswith("torch.nn.")
            return _Function(called.forward) if of_torch else None
        name = getattr(called, "__name__", None)
        if name in _PURE and any(getattr(owner, str(name), None) is called for owner in _OWNERS):
            return _Function(called)
        if isinstance(node.func, ast.Name) and node.func.id in {"float", "sum", "abs", "len"}:
            own = getattr(builtins, node.func.id)
            return _Function(own) if called in {None, own} else None
        if not isinstance(node.func, ast.Attribute) or node.func.attr not in (*_PURE, "item"):
            return None
        name, owner = node.func.attr, value_of(node.func.value, self._frame)
        if any(owner is one for one in _OWNERS):
            function = getattr(owner, name, None)
            return None if function is None else _Function(function)
        part = self.of(node.func.value, line, deep)
        if not isinstance(part.value, torch.Tensor) and part.bad is None:
            return None
        return _Function(lambda tensor, *args, **kw: getattr(tensor, name)(*args, **kw), part)

    def _computed(
        self, node: ast.AST, parts: list[_Part], function: Callable[..., Any] | None
    ) -> _Part:
        """Return the value that a function computes of its parts, and what made it not finite."""
        bad = next((part.bad for part in parts if part.bad is not None), None)
        values = [part.value for part in parts]
        if function is None or any(value is _UNKNOWN for value in values):
            return _Part(bad=bad)
        mode = _FirstOperation()
        try:
            with mode:
                value = _plain(function(*values))
        except Exception as error:  # noqa: BLE001  # it is not the script's: another one is told
            raise_if_external(error)
            return _Part(bad=bad)
        if not _is_bad(value):
            return _Part(value)
        given = any(_is_bad(one) for one in _flat(values))
        if bad is None and not given and mode.first is not None:
            bad = self._found(node, mode.first)
        return _Part(value, bad)

    def _found(self, node: ast.AST, operation: Operation) -> NonFiniteValue:
        found = why(operation)
        rows = tuple(facts_row(described(name, value)) for name, value in inputs(operation))
        name = written(operation.func)
        row = {
            "written": name,
            "reason": None if found is None else found[0],
            "facts": facts_row({} if found is None else found[1]),
            "inputs": rows,
            "node": None,
            "from": None,
            "becomes_nan": None,
            **(counts_of(operation.output) or {}),
        }
        text = " ".join(ast.unparse(node).split())
        reason = explanation(row, inputs=False)
        if len(text) <= _MOST_TEXT:
            reason += f", in `{text}`"
        place = f"{self._file}:{getattr(node, 'lineno', self._frame.f_lineno)}"
        cause = None if found is None else found[0]
        return NonFiniteValue("loss", None, name, place, rows, reason, "source", cause=cause)


@dataclass(frozen=True, slots=True)
class _Function:
    """A function, and the tensor whose method it is."""

    run: Callable[..., Any]
    owner: _Part | None = None


def _plain(value: Any) -> Any:
    """Return a value to compute with again: a tensor without its graph; `_UNKNOWN` for others."""
    if isinstance(value, torch.Tensor):
        plain = type(value) in {torch.Tensor, nn.Parameter} and value.numel() <= _MOST_ELEMENTS
        return value.detach() if plain and not value.is_meta else _UNKNOWN
    if isinstance(value, list | tuple):
        items = [_plain(item) for item in value]
        return _UNKNOWN if any(item is _UNKNOWN for item in items) else _as_given(value, items)
    known = isinstance(value, int | float | str | slice | torch.dtype | torch.device)
    return value if known or value is None else _UNKNOWN


def _as_given(value: list[Any] | tuple[Any, ...], items: list[Any]) -> list[Any] | tuple[Any, ...]:
    """Return items in a list or tuple, as those of a value are."""
    return items if isinstance(value, list) else tuple(items)


def _flat(values: list[Any]) -> Iterator[Any]:
    for value in values:
        if isinstance(value, list | tuple):
            yield from _flat(list(value))
        else:
            yield value


def _is_bad(value: Any) -> bool:
    """Whether a value is a tensor or number that is not finite."""
    if isinstance(value, torch.Tensor):
        return counts_of(value) is not None
    return isinstance(value, float) and value - value != 0
