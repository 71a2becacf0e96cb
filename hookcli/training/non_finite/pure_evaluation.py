"""Computes an expression of a script again, from the current values of its variables.

Only functions of torch that neither write to their arguments nor draw random numbers are run.
Functions of the script are not called: their source is read, and computed in the same way. What is
not known has no value, and nothing is said of it.
"""

from __future__ import annotations

import ast
import builtins
import inspect
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import FrameType, FunctionType, MethodType
from typing import Any, Protocol

import torch
from torch import nn

from hookcli.models import places
from hookcli.models.fake.dispatch_mode import UncompiledMode
from hookcli.models.nested import leaves
from hookcli.operators.finite import counts_of
from hookcli.operators.reasons import Operation
from hookcli.refusals import raise_if_external
from hookcli.system.frame_variables import variables_of
from hookcli.torch_private import LossBase, current_autograd_node, next_sequence_nr
from hookcli.training.source.frame_source import (
    assigned,
    assigns,
    body_of,
    own_nodes,
    source_of_code,
    value_in,
)
from hookcli.training.source.loss_source import LOSSES

_MOST_ELEMENTS = 1 << 25  # of a tensor that is computed with again
_DEEPEST = 4  # functions of the script inside of each other
_MOST_STATEMENTS = 200  # of all functions
UNKNOWN: Any = object()
_BINARY: dict[type[ast.AST], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.Pow: operator.pow, ast.MatMult: operator.matmul, ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod, ast.BitAnd: operator.and_, ast.BitOr: operator.or_,
}  # fmt: skip
_UNARY: dict[type[ast.AST], Callable[[Any], Any]] = {
    ast.USub: operator.neg, ast.UAdd: operator.pos, ast.Invert: operator.invert,
    ast.Not: operator.not_,
}  # fmt: skip
_COMPARED: dict[type[ast.AST], Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le,
    ast.Gt: operator.gt, ast.GtE: operator.ge, ast.Is: operator.is_, ast.IsNot: operator.is_not,
}  # fmt: skip
_PURE = LOSSES | {
    "abs", "absolute", "acos", "acosh", "add", "addmm", "all", "amax", "amin", "any", "arange",
    "argmax", "argmin", "argsort", "asin", "asinh", "atan", "atan2", "atanh", "baddbmm",
    "bfloat16", "bincount", "bmm", "bool", "cat", "cdist", "ceil", "chunk", "clamp",
    "clamp_max", "clamp_min", "clip", "clone", "contiguous", "cos", "cosine_similarity",
    "count_nonzero", "cpu", "cross", "cummax", "cumprod", "cumsum", "det", "detach", "diag",
    "diagonal", "diff", "digamma", "dim", "div", "divide", "dot", "double", "einsum", "elu",
    "eq", "erf", "exp", "expand", "expand_as", "expm1", "eye", "flatten", "flip", "float",
    "floor", "full", "full_like", "gather", "ge", "gelu", "gt", "half", "hardtanh", "heaviside",
    "hypot", "index_add", "index_select", "int", "inverse", "is_floating_point", "isfinite",
    "isinf", "isnan", "le", "leaky_relu", "lgamma", "log", "log10", "log1p", "log2",
    "log_softmax", "logaddexp", "logdet", "logical_and", "logical_not", "logical_or",
    "logsigmoid", "logsumexp", "long", "lt", "masked_fill", "masked_select", "matmul",
    "matrix_norm", "max", "maximum", "mean", "median", "min", "minimum", "mm", "movedim", "mul",
    "multiply", "mv", "nan_to_num", "nanmean", "nansum", "narrow", "ne", "neg", "negative",
    "new_full", "new_ones", "new_tensor", "new_zeros", "nonzero", "norm", "normalize", "numel",
    "one_hot", "ones", "ones_like", "outer", "pairwise_distance", "permute", "pow", "prod",
    "quantile", "ravel", "reciprocal", "relu", "repeat", "reshape", "roll", "round", "rsqrt",
    "scatter", "scatter_add", "select", "sigmoid", "sign", "silu", "sin", "size", "softmax",
    "softmin", "softplus", "sort", "split", "sqrt", "square", "squeeze", "stack", "std",
    "std_mean", "sub", "subtract", "sum", "swapaxes", "t", "take_along_dim", "tanh", "tensor",
    "tile", "to", "topk", "trace", "transpose", "tril", "triu", "true_divide", "unbind",
    "unfold", "unsqueeze", "var", "var_mean", "vector_norm", "view", "view_as", "where",
    "xlogy", "zeros", "zeros_like",
}  # fmt: skip
_ATTRIBUTES = {"T", "mT", "data", "shape", "dtype", "device"}
_OWNERS = (torch, nn.functional, torch.special, torch.linalg)
_BUILTINS = {"float", "sum", "abs", "len", "int", "bool", "min", "max"}


@dataclass(frozen=True, slots=True)
class BadPart:
    """A part of an expression whose value, or whose derivative, is not finite.

    `operation` is the operator that made it of finite values, in backward that of the autograd
    node `backward`. Without one, `name` is a variable of a loop: its value has no gradient.
    """

    node: ast.AST
    file: str
    operation: Operation | None = None
    backward: Any = None
    name: str | None = None
    value: torch.Tensor | None = None


@dataclass(frozen=True, slots=True)
class EvaluatedPart:
    """The value of an expression, and what made it not finite."""

    value: Any = UNKNOWN
    bad: BadPart | None = None


class Scope(Protocol):
    """Where the names of an expression have their values."""

    file: str
    tables: Sequence[Mapping[str, Any]]

    def part(self, name: ast.Name, line: int, deep: int) -> EvaluatedPart:
        """Return the value of a variable that a line reads."""
        ...


class FirstOperation(UncompiledMode):  # type: ignore[no-untyped-call]
    """Keeps the first operator that returns a value that is not finite, and its node if any."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.first: Operation | None = None
        self.node: Any = None

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        out = func(*args, **(kwargs or {}))
        if self.first is None:
            for _, tensor, _ in leaves(out):
                if counts_of(tensor) is not None:
                    self.first = Operation(func, args, kwargs or {}, tensor)
                    self.node = current_autograd_node()
                    break
        return out


@dataclass(frozen=True, slots=True)
class MadeNodes:
    """The numbers of the autograd nodes that an expression made, from `first` to before `end`."""

    first: int
    end: int
    node: ast.AST
    file: str


@dataclass(slots=True)
class _Function:
    """What a call runs: a function of torch, or one of the script, with the value of `self`."""

    run: Callable[..., Any] | None = None
    own: Any = None  # a FunctionType, which as a field would be taken for a method
    owner: EvaluatedPart | None = None
    instance: Any = None


@dataclass(slots=True)
class PureEvaluation:
    """Evaluates expressions.

    With a `graph`, variables that have a gradient are leaves of a new graph, and those that the
    script computed are computed again; `made` are the nodes by the expressions that made them, and
    `inputs` the leaves. `outputs` are what the calls of modules return, by the modules' identities
    and in the order of the calls: modules are not called again.
    """

    graph: bool = False
    outputs: dict[int, list[Any]] = field(default_factory=dict)
    made: list[MadeNodes] = field(default_factory=list)
    inputs: dict[int, tuple[torch.Tensor, torch.Tensor]] = field(default_factory=dict)
    _functions: int = 0
    _statements: int = 0

    def of(self, node: ast.AST, scope: Scope, line: int, deep: int) -> EvaluatedPart:
        """Return the value of an expression, and its part that is bad.

        Variables have the values that assignments in front of `line` gave them. `deep` assignments
        are followed.
        """
        if isinstance(node, ast.Constant):
            return EvaluatedPart(node.value)
        if isinstance(node, ast.Name):
            return scope.part(node, line, deep)
        if isinstance(node, ast.Attribute):
            return self._attribute(node, scope, line, deep)
        if isinstance(node, ast.Call):
            return self._call(node, scope, line, deep)
        children, function = self._operator(node)
        if function is None:
            return EvaluatedPart()
        if isinstance(node, ast.Subscript):
            parts = [
                self.of(node.value, scope, line, deep),
                self._index(node.slice, scope, line, deep),
            ]
        else:
            parts = [self.of(child, scope, line, deep) for child in children]
        return self.computed(node, scope, parts, function)

    @staticmethod
    def _operator(node: ast.AST) -> tuple[list[ast.expr], Callable[..., Any] | None]:
        """Return the operands of an operator, and what computes it."""
        if isinstance(node, ast.BinOp):
            return [node.left, node.right], _BINARY.get(type(node.op))
        if isinstance(node, ast.UnaryOp):
            return [node.operand], _UNARY.get(type(node.op))
        if isinstance(node, ast.Compare) and len(node.ops) == 1:
            return [node.left, node.comparators[0]], _COMPARED.get(type(node.ops[0]))
        if isinstance(node, ast.Tuple | ast.List):
            return node.elts, lambda *values: list(values)
        if isinstance(node, ast.Subscript):
            return [], operator.getitem
        return [], None

    def _index(self, node: ast.AST, scope: Scope, line: int, deep: int) -> EvaluatedPart:
        if isinstance(node, ast.Slice):
            bounds = [
                EvaluatedPart(None) if one is None else self.of(one, scope, line, deep)
                for one in (node.lower, node.upper, node.step)
            ]
            return self.computed(node, scope, bounds, slice)
        if isinstance(node, ast.Tuple):
            parts = [self._index(one, scope, line, deep) for one in node.elts]
            return self.computed(node, scope, parts, lambda *values: values)
        return self.of(node, scope, line, deep)

    def _attribute(self, node: ast.Attribute, scope: Scope, line: int, deep: int) -> EvaluatedPart:
        if node.attr in _ATTRIBUTES:
            part = self.of(node.value, scope, line, deep)
            if isinstance(part.value, torch.Tensor):
                return EvaluatedPart(self.plain(getattr(part.value, node.attr)), part.bad)
        value = value_in(node, scope.tables)
        if value is None and value_in(node.value, scope.tables) is torch:
            value = getattr(torch, node.attr, None)  # torch.float32
        return EvaluatedPart(self.plain(value))

    def _call(self, node: ast.Call, scope: Scope, line: int, deep: int) -> EvaluatedPart:
        module = value_in(node.func, scope.tables) if self.outputs else None
        if id(module) in self.outputs:
            known = self.outputs[id(module)]
            return EvaluatedPart(self.plain(known.pop(0))) if known else EvaluatedPart()
        function = self._function(node, scope, line, deep)
        if function is None or any(isinstance(one, ast.Starred) for one in node.args):
            return EvaluatedPart()
        if any(one.arg in {None, "out"} for one in node.keywords):  # it would write to `out`
            return EvaluatedPart()
        given = [self.of(one, scope, line, deep) for one in node.args]
        named = {str(one.arg): self.of(one.value, scope, line, deep) for one in node.keywords}
        if function.own is not None:
            raw = [value_in(one, scope.tables) for one in node.args]
            return self._called(function, given, named, raw)
        if function.owner is not None:
            given = [function.owner, *given]
        count, run = len(given), function.run

        def called(*values: Any) -> Any:
            keywords = dict(zip(named, values[count:], strict=True))
            return None if run is None else run(*values[:count], **keywords)

        return self.computed(node, scope, [*given, *named.values()], called)

    def _function(self, node: ast.Call, scope: Scope, line: int, deep: int) -> _Function | None:
        """Return what a call runs, if it reads nothing but its arguments; else None."""
        called = value_in(node.func, scope.tables)
        own = _own_function(called)
        if own is not None:
            return own
        name = getattr(called, "__name__", None)
        if name in _PURE and any(getattr(owner, str(name), None) is called for owner in _OWNERS):
            return _Function(called)
        if isinstance(node.func, ast.Name) and node.func.id in _BUILTINS:
            builtin = getattr(builtins, node.func.id)
            return _Function(builtin) if called in {None, builtin} else None
        if not isinstance(node.func, ast.Attribute) or node.func.attr not in {*_PURE, "item"}:
            return None
        method, owner = node.func.attr, value_in(node.func.value, scope.tables)
        if any(owner is one for one in _OWNERS):
            function = getattr(owner, method, None)
            return None if function is None else _Function(function)
        part = self.of(node.func.value, scope, line, deep)
        if not isinstance(part.value, torch.Tensor) and part.bad is None:
            return None
        return _Function(lambda tensor, *a, **kw: getattr(tensor, method)(*a, **kw), owner=part)

    def _called(
        self,
        function: _Function,
        given: list[EvaluatedPart],
        named: dict[str, EvaluatedPart],
        raw: list[Any],
    ) -> EvaluatedPart:
        """Return what a function of the script returns, read from its source."""
        source = None if function.own is None else source_of_code(function.own.__code__)
        if function.own is None or source is None or self._functions >= _DEEPEST:
            return EvaluatedPart()
        own = [] if function.instance is None else [EvaluatedPart()]
        try:
            signature = inspect.signature(function.own)
            bound = signature.bind(*own, *given, **named)
        except (TypeError, ValueError):
            return EvaluatedPart()
        values: dict[str, EvaluatedPart] = {}
        for name, parameter in signature.parameters.items():
            if parameter.kind in {parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD}:
                return EvaluatedPart()
            default = EvaluatedPart(self.plain(parameter.default))
            values[name] = bound.arguments.get(name, default)
        instance = [] if function.instance is None else [function.instance]
        objects = dict(zip(signature.parameters, [*instance, *raw], strict=False))
        scope = _FunctionScope(function.own, values, objects)
        self._functions += 1
        try:
            returned = self._block(source.body, scope)
        except _NotPureError:
            return EvaluatedPart()
        finally:
            self._functions -= 1
        return EvaluatedPart() if returned is None else returned

    def _block(self, statements: list[ast.stmt], scope: _FunctionScope) -> EvaluatedPart | None:
        """Return what a block of statements returns; None if it goes on after it."""
        for statement in statements:
            self._statements += 1
            if self._statements > _MOST_STATEMENTS:
                raise _NotPureError
            if isinstance(statement, ast.Return):
                value = statement.value
                return EvaluatedPart(None) if value is None else self.of(value, scope, 0, 0)
            if isinstance(statement, ast.If):
                test = self.of(statement.test, scope, 0, 0).value
                if not isinstance(test, bool | int) and not _is_one(test):
                    raise _NotPureError
                found = self._block(statement.body if test else statement.orelse, scope)
                if found is not None:
                    return found
                continue
            self._statement(statement, scope)
        return None

    def _statement(self, statement: ast.stmt, scope: _FunctionScope) -> None:
        if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
            scope.assign(statement.targets[0], self.of(statement.value, scope, 0, 0))
        elif isinstance(statement, ast.AnnAssign) and statement.value is not None:
            scope.assign(statement.target, self.of(statement.value, scope, 0, 0))
        elif isinstance(statement, ast.AugAssign) and isinstance(statement.target, ast.Name):
            read = ast.copy_location(ast.Name(statement.target.id, ast.Load()), statement)
            both = ast.BinOp(read, statement.op, statement.value)
            made = self.of(ast.copy_location(both, statement), scope, 0, 0)
            scope.assign(statement.target, made)
        elif not isinstance(statement, ast.Pass | ast.Assert) and not (
            isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
        ):
            raise _NotPureError

    def made_by(self, node: Any) -> MadeNodes | None:
        """Return the smallest expression that made a node of autograd."""
        number = node._sequence_nr()
        around = [one for one in self.made if one.first <= number < one.end]
        return min(around, key=lambda one: one.end - one.first, default=None)

    def computed(
        self, node: ast.AST, scope: Scope, parts: list[EvaluatedPart], function: Callable[..., Any]
    ) -> EvaluatedPart:
        """Return the value that a function computes of its parts, and what made it not finite."""
        bad = next((part.bad for part in parts if part.bad is not None), None)
        values = [part.value for part in parts]
        if any(value is UNKNOWN for value in values):
            return EvaluatedPart(bad=bad)
        first = next_sequence_nr()
        try:
            value = function(*values)
        except Exception as error:  # noqa: BLE001  # it is not the script's: another one is told
            raise_if_external(error)
            return EvaluatedPart(bad=bad)
        if self.graph:
            self.made.append(MadeNodes(first, next_sequence_nr(), node, scope.file))
        value = self.plain(value, made=True)
        if not is_bad(value):
            return EvaluatedPart(value)
        if bad is None and not any(is_bad(one) for one in _flat(values)):
            with FirstOperation() as mode:  # an error here is hookcli's own: it has just run
                function(*values)
            if mode.first is not None:
                bad = BadPart(node, scope.file, mode.first)
        return EvaluatedPart(value, bad)

    def plain(self, value: Any, *, made: bool = False) -> Any:
        """Return a value to compute with: a tensor without its graph; `UNKNOWN` for others.

        One that was `made` here stays in the graph of here.
        """
        if isinstance(value, torch.Tensor):
            is_plain = type(value) in {torch.Tensor, nn.Parameter} and not value.is_meta
            if not is_plain or value.numel() > _MOST_ELEMENTS:
                return UNKNOWN
            return value if made and self.graph else self._leaf(value)
        if isinstance(value, list | tuple):
            items = [self.plain(item, made=made) for item in value]
            if any(item is UNKNOWN for item in items):
                return UNKNOWN
            return items if isinstance(value, list) else tuple(items)
        known = isinstance(value, int | float | str | slice | torch.dtype | torch.device)
        return value if known or value is None else UNKNOWN

    def _leaf(self, value: torch.Tensor) -> torch.Tensor:
        if not self.graph or not value.requires_grad:
            return value.detach()
        if id(value) not in self.inputs:
            self.inputs[id(value)] = value, value.detach().requires_grad_()
        return self.inputs[id(value)][1]


class _NotPureError(Exception):
    """A function of the script does something else than computing."""


class FrameScope:
    """The variables of a function that runs."""

    def __init__(self, frame: FrameType, evaluation: PureEvaluation) -> None:
        self._frame, self._evaluation, self._body = frame, evaluation, body_of(frame)
        self.file = places.show(frame.f_code.co_filename)
        self.tables: Sequence[Mapping[str, Any]] = (variables_of(frame), frame.f_globals)

    def part(self, name: ast.Name, line: int, deep: int) -> EvaluatedPart:
        """Return the value of a variable; what made it not finite is in its assignment."""
        if self._is_changed(name.id, line):
            return EvaluatedPart()
        raw = value_in(name, self.tables)
        made = None if self._body is None else assigned(self._body, name.id, line)
        if self._evaluation.graph and made is not None and deep and _has_graph(raw):
            again = self._evaluation.of(made, self, made.lineno, deep - 1)
            if again.value is not UNKNOWN:
                return again
        value = self._evaluation.plain(raw)
        if self._evaluation.graph or not is_bad(value) or not deep:
            return EvaluatedPart(value)
        if made is not None:
            return EvaluatedPart(value, self._evaluation.of(made, self, made.lineno, deep - 1).bad)
        return EvaluatedPart(value, self._of_loop(name, value))

    def _is_changed(self, name: str, line: int) -> bool:
        """Whether a variable got another value between the line that reads it and now."""
        return any(
            line <= getattr(other, "lineno", 0) <= self._frame.f_lineno and assigns(other, name)
            for other in (() if self._body is None else own_nodes(self._body))
        )

    def _of_loop(self, name: ast.Name, value: Any) -> BadPart | None:
        """Return a tensor that a loop gave to the script, as a loop over batches does."""
        made = [
            other
            for other in (() if self._body is None else own_nodes(self._body))
            if assigns(other, name.id)
        ]
        if len(made) != 1 or not isinstance(made[0], ast.For):
            return None
        if not isinstance(value, torch.Tensor):
            return None
        return BadPart(made[0], self.file, name=name.id, value=value)


class _FunctionScope:
    """The variables of a function of the script that is read, and not run."""

    def __init__(
        self, function: FunctionType, values: dict[str, EvaluatedPart], objects: dict[str, Any]
    ) -> None:
        self._values = values
        self._objects = {name: one for name, one in objects.items() if one is not None}
        self.file = places.show(function.__code__.co_filename)
        closure = inspect.getclosurevars(function).nonlocals if function.__closure__ else {}
        self.tables: Sequence[Mapping[str, Any]] = (self._objects, closure, function.__globals__)

    def part(self, name: ast.Name, line: int, deep: int) -> EvaluatedPart:
        """Return the value of a variable or a global number."""
        if name.id in self._values:
            return self._values[name.id]
        value = value_in(name, self.tables[1:])
        return (
            EvaluatedPart(value) if isinstance(value, bool | int | float | str) else EvaluatedPart()
        )

    def assign(self, target: ast.expr, part: EvaluatedPart) -> None:
        """Give a name, or each name of a tuple, its value."""
        if isinstance(target, ast.Name):
            self._values[target.id] = part
            self._objects.pop(target.id, None)
            return
        if not isinstance(target, ast.Tuple | ast.List):
            raise _NotPureError
        items = part.value if isinstance(part.value, list | tuple) else ()
        known = len(items) == len(target.elts)
        for i, one in enumerate(target.elts):
            self.assign(one, EvaluatedPart(items[i] if known else UNKNOWN, part.bad))


def _own_function(called: Any) -> _Function | None:
    """Return a function of the script, a method, or the forward of a module without parameters."""
    if isinstance(called, LossBase) and type(called).__module__.startswith("torch.nn."):
        return _Function(run=called.forward)
    if isinstance(called, nn.Module):
        hooked = called._forward_hooks or called._forward_pre_hooks or called._backward_hooks
        forward = inspect.getattr_static(type(called), "forward", None)
        if hooked or next(called.parameters(), None) is not None:
            return None
        return _of_user(forward, called)
    if isinstance(called, MethodType):
        return _of_user(called.__func__, called.__self__)
    return _of_user(called, None)


def _of_user(function: Any, instance: Any) -> _Function | None:
    if not isinstance(function, FunctionType) or hasattr(function, "__wrapped__"):
        return None
    if not places.is_user(function.__code__.co_filename):
        return None
    return _Function(own=function, instance=instance)


def _has_graph(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and value.grad_fn is not None


def _is_one(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and value.numel() == 1


def _flat(values: Sequence[Any]) -> Iterator[Any]:
    for value in values:
        if isinstance(value, list | tuple):
            yield from _flat(value)
        else:
            yield value


def is_bad(value: Any) -> bool:
    """Whether a value is a tensor or number that is not finite."""
    if isinstance(value, torch.Tensor):
        return counts_of(value) is not None
    return isinstance(value, float) and value - value != 0
