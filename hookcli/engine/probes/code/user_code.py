"""Mistakes in the code of the classes that ran, read from their source.

`discarded_results`: a call that returns a new tensor, which nothing uses, of a function or of a
module of torch. `module_backwards`: a
method `backward` of a module, which autograd never calls. `unread_inputs`: arguments of the model's
forward that the batch contains and that its code does not read. `repeated_modules`: lists that
multiply a new module, as `[nn.Linear(4, 4)] * 3`, which has one module three times.
`unread_settings`: arguments of constructors that have no effect.
`causal_code`: what tells that later positions must be hidden. `squeezes`: calls of `squeeze`
without a dimension.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from dataclasses import asdict
from itertools import groupby, islice
from types import FunctionType
from typing import Any

import torch
from torch import nn
from torch.nn import functional

from hookcli.engine.probes.code.last_steps import last_steps, padded_ends
from hookcli.engine.probes.code.log_variances import variances_as_deviations
from hookcli.engine.probes.code.unread_settings import unread_settings
from hookcli.engine.probes.code.user_source import OwnText, definition_of, is_own
from hookcli.engine.probes.context import ProbeWatcher, Requests, where_possible
from hookcli.models import module_tree, places
from hookcli.models.model import Call, CallInputs, Model
from hookcli.report.findings import Measurement
from hookcli.spec.request import Spec
from hookcli.torch_private import BatchNormBase

DISCARDED, BACKWARDS, UNREAD = "discarded_results", "module_backwards", "unread_inputs"
REPEATED, CAUSAL, SQUEEZES = "repeated_modules", "causal_code", "squeezes"
POSITIONS, LAST_STEPS, VARIANCES = "batch_positions", "last_steps", "log_variances"
SETTINGS = "unread_settings"

# Methods of tensors alone that return a new tensor and change nothing.
_METHODS = frozenset({
    "masked_fill", "masked_scatter", "index_fill", "index_add", "index_copy", "scatter_add",
    "scatter_reduce", "clamp", "clamp_min", "clamp_max", "unsqueeze", "permute", "contiguous",
    "detach", "softmax", "log_softmax", "sigmoid", "tanh", "flatten", "tril", "triu", "nan_to_num",
    "expand_as", "view_as", "swapaxes", "squeeze", "transpose", "reshape", "fill_diagonal",
})  # fmt: skip
_ARITHMETIC = frozenset({"add", "sub", "mul", "div", "matmul", "pow"})
# The same as functions of torch and torch.nn.functional.
_FUNCTIONS = _METHODS | {
    "relu", "leaky_relu", "elu", "gelu", "silu", "dropout", "normalize", "layer_norm", "cat",
    "stack", "where", "exp", "log", "sqrt", "interpolate", "pad",
}  # fmt: skip
SHIFTED = "forward moves its input by one position"  # a hint that later ones must be hidden
_JOINS = {"cat", "concat", "concatenate"}
_OF_TORCH = ("F", "torch", "nn.functional", "torch.nn.functional")
_SHARED = ("shared", "tied", "same", "common")
_FIRST_SIZE = re.compile(r"\w+\.size\((dim=)?0\)|\w+\.shape\[0\]|len\(\w+\)|\w+\.size\(\)\[0\]")
_OF_TENSORS = {"shape", "size", "dim", "ndim"}  # attributes
_LISTS = (nn.ModuleList, nn.Sequential)
_IN_PLACE = {"inplace", "out"}
_MOST = 10  # findings of one kind


class UserCode(ProbeWatcher):
    """Reads the source of the classes that ran."""

    def __init__(self, probes: tuple[str, ...]) -> None:
        self.measurements = []
        self._probes = probes
        self._kinds: dict[type, str | None] = {}
        self._first: dict[type, nn.Module] = {}  # the first module of each class
        self._ran: set[int] = set()  # ids of modules
        self._hooked: set[int] = set()  # ids of those with hooks, which may be removed meanwhile
        self._root: nn.Module | None = None
        self._given: CallInputs | None = None

    def begin(self, model: Model) -> None:
        """Forget an earlier run."""
        self.measurements.clear()
        self._kinds.clear()
        self._first.clear()
        self._ran.clear()
        self._hooked.clear()
        self._root, self._given = model.root, None

    def enter(self, call: Call, batch: CallInputs) -> None:
        """Note the class of a module, and the batch of the first call."""
        if call.module is self._root and self._given is None:
            self._given = batch
        if call.module is not None:
            self._kinds.setdefault(type(call.module), call.name)
            self._first.setdefault(type(call.module), call.module)
            self._ran.add(id(call.module))
            if _has_hooks(call.module):
                self._hooked.add(id(call.module))

    def read(self, root: nn.Module, given: CallInputs | None) -> None:
        """Read the source of the classes of a model that runs already, with this batch."""
        for name, module in module_tree.named(root):
            self._kinds.setdefault(type(module), name)
            self._first.setdefault(type(module), module)
            self._ran.add(id(module))
        self._root, self._given = root, given
        self.complete()

    def complete(self) -> None:
        """Read the source."""
        with where_possible():
            self._read()
        self._root = self._given = None
        self._first.clear()

    def _read(self) -> None:
        for probe in self._probes:
            self._add(probe, "", {"count": len(self._kinds)})
        seen: set[tuple[str, str | None]] = set()
        for kind, name in self._kinds.items():
            functions = [*_functions(kind)]
            for function in functions if DISCARDED in self._probes else ():
                for what, place in _discarded(function):
                    if (what, place) not in seen and len(seen) < _MOST:
                        seen.add((what, place))
                        self._add(DISCARDED, name, {"call": what, "place": place})
                for lost in (*self._lost(kind, function), *_lost_names(function)):
                    what = lost["call"].removeprefix("self.")
                    if (what, lost["place"]) not in seen and len(seen) < _MOST:
                        seen.add((what, lost["place"]))
                        self._add(DISCARDED, name, lost)
            backward = vars(kind).get("backward") if BACKWARDS in self._probes else None
            if isinstance(backward, FunctionType) and _takes_gradients(backward):
                place = _place(backward, backward.__code__.co_firstlineno)
                self._add(BACKWARDS, name, {"module": kind.__name__, "place": place})
            if CAUSAL in self._probes:
                for what, place in islice(_causal(kind, functions), 1):
                    self._add(CAUSAL, name, {"what": what, "place": place})
            for function in functions if VARIANCES in self._probes else ():
                definition = definition_of(function)
                found = () if definition is None else variances_as_deviations(definition)
                for what, line in islice(found, 1):
                    value = {"what": what, "place": _place(function, line)}
                    self._add(VARIANCES, name, value)
            for place in islice(_squeezes(functions), 1) if SQUEEZES in self._probes else ():
                self._add(SQUEEZES, name, {"place": place})
        for kind, name in self._kinds.items() if POSITIONS in self._probes else ():
            module, first = self._first.get(kind), _batch_first(self._root)
            for attribute, place in _sliced_by_batch(module) if first else ():
                value = {"attribute": attribute, "class": kind.__name__, "place": place}
                self._add(POSITIONS, name, {**value, "batch_first": first})
        padded = padded_ends(*self._given) if LAST_STEPS in self._probes and self._given else None
        for kind, name in self._kinds.items():
            module = self._first.get(kind)
            if padded is None or module is None:
                continue
            for layer, line, method in last_steps(module):
                value = {"layer": layer, "place": _place(method, line), **padded}
                self._add(LAST_STEPS, name, value)
        for kind in self._kinds if REPEATED in self._probes else ():
            made = vars(kind).get("__init__")
            for place in _multiplied(made) if isinstance(made, FunctionType) else ():
                for name, count, of in islice(_repeated(self._root, kind), _MOST):
                    self._add(REPEATED, name, {"entries": count, "of": of, "place": place})
        own = OwnText()
        for kind, name in self._kinds.items() if SETTINGS in self._probes else ():
            for unread in unread_settings(kind, own):
                value = {"class": kind.__name__, **asdict(unread)}
                self._add(SETTINGS, name, value)
        if UNREAD in self._probes and self._root is not None and self._given is not None:
            forward = vars(type(self._root)).get("forward")
            if isinstance(forward, FunctionType):
                place = _place(forward, forward.__code__.co_firstlineno)
                for argument in _unread(forward, *self._given):
                    self._add(UNREAD, "", {"argument": argument, "place": place})

    def _lost(self, kind: type, function: FunctionType) -> Iterator[dict[str, Any]]:
        """Yield the calls of modules in a method whose results nothing uses.

        Such a module ran, and all that it does is return a tensor. A constructor may call it to
        initialize lazy modules.
        """
        definition, module = definition_of(function), self._first.get(kind)
        name = function.__name__
        is_method = inspect.getattr_static(kind, name, None) is function and name != "__init__"
        if definition is None or module is None or not is_method:
            return
        for attribute, variable, line in _lost_calls(definition):
            if "(" in attribute:  # a function of torch
                place = _place(function, line)
                yield {"call": attribute, "place": place, "variable": variable}
                continue
            called = module._modules.get(attribute)
            if called is None or id(called) not in self._ran or not self._only_returns(called):
                continue
            if variable is not None or not _learns(called):  # else its missing gradient tells
                place = _place(function, line)
                yield {"call": f"self.{attribute}", "place": place, "variable": variable}

    def _only_returns(self, module: nn.Module) -> bool:
        """Return whether a module is of torch, and changes nothing: input, buffers, or by hooks."""
        return not any(
            not type(one).__module__.startswith("torch.nn.modules.")
            or isinstance(one, nn.Identity)  # as a mark for hooks
            or getattr(one, "inplace", False)
            or isinstance(one, BatchNormBase)
            or id(one) in self._hooked
            or _has_hooks(one)
            for _, one in module_tree.named(module)
        )

    def _add(self, probe: str, name: str | None, value: dict[str, Any]) -> None:
        self.measurements.append(Measurement(probe, name or "", None, value, None))


def _place(function: FunctionType, line: int) -> str:
    return f"{places.show(function.__code__.co_filename)}:{line}"


def _functions(kind: type) -> Iterator[FunctionType]:
    """Yield the forward of a class, and the methods and functions that are called from it."""
    todo: list[object] = [inspect.getattr_static(kind, "forward", None), vars(kind).get("__init__")]
    seen: set[int] = set()
    for found in todo:  # grows meanwhile
        function = getattr(found, "__func__", found)
        if not isinstance(function, FunctionType) or id(function) in seen:
            continue
        seen.add(id(function))
        definition = definition_of(function) if is_own(function) else None
        if definition is None:
            continue
        yield function
        for node in ast.walk(definition):
            target = node.func if isinstance(node, ast.Call) else None
            if isinstance(target, ast.Name):
                todo.append(function.__globals__.get(target.id))
            elif isinstance(target, ast.Attribute) and _is_name(target.value, "self"):
                todo.append(inspect.getattr_static(kind, target.attr, None))


_TRIANGLES = {"triu": 1, "tril": -1, "generate_square_subsequent_mask": 0}


def _causal(kind: type, functions: list[FunctionType]) -> Iterator[tuple[str, str]]:
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
                found.append((SHIFTED, _place(function, node.lineno)))
            if not isinstance(node, ast.Call):
                continue
            name = node.func.attr if isinstance(node.func, ast.Attribute) else ""
            on = any(
                one.arg == "is_causal" and isinstance(one.value, ast.Constant) and one.value.value
                for one in node.keywords
            )
            if name in _TRIANGLES or on:
                found.append((name if not on else "is_causal", _place(function, node.lineno)))
    if {"triu", "tril"} <= {what for what, _ in found}:
        return
    yield from found
    forward = vars(kind).get("forward") or made
    if "causal" in kind.__name__.lower() and isinstance(forward, FunctionType) and is_own(forward):
        yield kind.__name__, _place(forward, forward.__code__.co_firstlineno)


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
    if not _is_name(parts[1].value, target.id):
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


def _squeezes(functions: list[FunctionType]) -> Iterator[str]:
    """Yield the lines that call `squeeze` without a dimension."""
    for function in functions:
        definition = definition_of(function)
        for node in ast.walk(definition) if definition is not None else ():
            if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
                continue
            of_torch = _is_name(node.func.value, "torch")
            if node.func.attr == "squeeze" and len(node.args) == of_torch and not node.keywords:
                yield _place(function, node.lineno)


def _batch_first(root: nn.Module | None) -> list[str]:
    """Return the names of the layers along sequences that get the batch in dimension 0."""
    return [
        name
        for name, module in (module_tree.named(root) if root is not None else ())
        if isinstance(module, (nn.RNNBase, nn.MultiheadAttention)) and module.batch_first
    ]


def _sliced_by_batch(module: nn.Module | None) -> Iterator[tuple[str, str]]:
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
        tensor = tensors.get(name) if _is_name(node.value.value, "self") else None
        if tensor is None or tensor.dim() != 3 or tensor.shape[1] != 1 or tensor.shape[0] < 2:
            continue
        first = node.slice.elts[0] if isinstance(node.slice, ast.Tuple) else node.slice
        upper = first.upper if isinstance(first, ast.Slice) and first.lower is None else None
        if upper is not None and _FIRST_SIZE.fullmatch(ast.unparse(upper)):
            yield name, _place(forward, node.lineno)


def _multiplied(made: FunctionType) -> Iterator[str]:
    """Yield the line of the first list with a new object that a constructor multiplies."""
    definition = definition_of(made) if is_own(made) else None
    for node in ast.walk(definition) if definition is not None else ():
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
            lists = (side for side in (node.left, node.right) if isinstance(side, ast.List))
            if any(len(one.elts) == 1 and _is_new(one.elts[0], definition) for one in lists):
                yield _place(made, node.lineno)
                return


def _is_new(value: ast.expr, definition: ast.FunctionDef | ast.AsyncFunctionDef | None) -> bool:
    """Return whether a value is the result of a call, also by a variable of the function.

    A variable whose name says that it is shared is meant.
    """
    if isinstance(value, ast.Call):
        return True
    if isinstance(value, ast.Name) and any(word in value.id.lower() for word in _SHARED):
        return False
    for node in ast.walk(definition) if definition is not None else ():
        name, given = _alone(node) if isinstance(node, ast.stmt) else ("", None)
        if isinstance(value, ast.Name) and name == value.id and isinstance(given, ast.Call):
            return True
    return False


def _repeated(root: nn.Module | None, kind: type) -> Iterator[tuple[str, int, int]]:
    """Yield the lists in modules of a class that have one module several times in a row.

    With each, yield how many of its entries that are, and the number of all. Modules without
    parameters, as activations, share nothing. Other classes have constructors of their own.
    """
    for name, module in module_tree.named(root) if root is not None else ():
        if type(module) is not kind:
            continue
        for path, inside in _lists(name, module):
            rows = [list(row) for _, row in groupby(inside, id) if len(inside) > 1]
            longest = max(rows, key=len, default=[])
            if len(longest) > 1 and _learns(longest[0]):
                yield path, len(longest), len(inside)


def _lists(name: str, module: nn.Module) -> Iterator[tuple[str, list[nn.Module | None]]]:
    """Yield the lists of modules in a module, and in its lists and dicts, with their entries."""
    for key, child in module._modules.items():
        path = f"{name}.{key}" if name else key
        if isinstance(child, _LISTS):
            yield path, list(child._modules.values())
        if isinstance(child, (*_LISTS, nn.ModuleDict)):
            yield from _lists(path, child)


def _learns(module: nn.Module | None) -> bool:
    return module is not None and any(True for _ in module.parameters())


def _is_name(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def _discarded(function: FunctionType) -> Iterator[tuple[str, str]]:
    """Yield the calls that are statements of their own although all they do is return a tensor."""
    definition = definition_of(function)
    for node in ast.walk(definition) if definition is not None else ():
        call = node.value if isinstance(node, ast.Expr) else None
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
            continue
        if any(keyword.arg in {*_IN_PLACE, None} for keyword in call.keywords):
            continue
        name, owner = call.func.attr, call.func.value
        module = function.__globals__.get(owner.id) if isinstance(owner, ast.Name) else None
        if name == "from_pretrained":  # of a class: it returns a new module
            is_pure = isinstance(owner, ast.Attribute) and _is_name(owner.value, "self")
        elif module is torch or module is functional:
            is_pure = name in _FUNCTIONS and not _passes_true(call)
        else:
            is_pure = name in _METHODS and not inspect.ismodule(module)
            # Sets have a method of this name too.
            is_pure |= name in _ARITHMETIC and ast.unparse(owner) in _computed(definition)
        if is_pure:
            yield name, _place(function, call.lineno)


def _computed(definition: ast.FunctionDef | ast.AsyncFunctionDef | None) -> set[str]:
    """Return the variables of a function that are tensors by what is done with them.

    They get the result of a module or of arithmetic, or have a shape.
    """
    found = set()
    for node in ast.walk(definition) if definition is not None else ():
        if isinstance(node, ast.Attribute) and node.attr in _OF_TENSORS:
            found.add(ast.unparse(node.value))
        name, value = _alone(node) if isinstance(node, ast.stmt) else ("", None)
        called = value.func if isinstance(value, ast.Call) else None
        of_self = isinstance(called, ast.Attribute) and _is_name(called.value, "self")
        if name and (of_self or isinstance(value, ast.BinOp)):
            found.add(name)
    return found


def _lost_calls(
    definition: ast.FunctionDef | ast.AsyncFunctionDef,
) -> Iterator[tuple[str, str | None, int]]:
    """Yield the calls of attributes of `self` whose result is lost: attribute, variable and line.

    Either the call is a statement, or the variable that gets the result is never read.
    """
    nodes = list(ast.walk(definition))
    names = [node for node in nodes if isinstance(node, ast.Name)]
    read = {node.id for node in names if not isinstance(node.ctx, ast.Store)}
    read |= {
        node.target.id
        for node in nodes
        if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name)
    }
    shared = (node.names for node in nodes if isinstance(node, ast.Global | ast.Nonlocal))
    read = read.union(*shared)
    attributes = {node.attr for node in nodes if isinstance(node, ast.Attribute)}
    hooks = any(name.startswith("register_forward") for name in attributes)
    for node in () if hooks or read & {"locals", "vars"} else nodes:
        variable = None
        if isinstance(node, ast.Assign) and len(node.targets) == 1:
            target = node.targets[0]
            if not isinstance(target, ast.Name) or target.id in read or target.id[0] == "_":
                continue
            variable = target.id
        elif not isinstance(node, ast.Expr):
            continue
        call = node.value
        function = call.func if isinstance(call, ast.Call) else None
        if isinstance(function, ast.Attribute) and _is_name(function.value, "self"):
            yield function.attr, variable, call.lineno
    if not hooks and not read & {"locals", "vars"}:
        yield from _overwritten_calls(definition)


def _overwritten_calls(
    definition: ast.FunctionDef | ast.AsyncFunctionDef,
) -> Iterator[tuple[str, str, int]]:
    """Yield the calls of attributes of `self` whose variable gets another value before it is read.

    Only within one list of statements: attribute, variable and line. Of a function of torch that
    changes nothing, as `F.relu(x)`, the source is in the place of the attribute.
    """
    for node in ast.walk(definition):
        found = getattr(node, "body", None)
        block: list[ast.stmt] = found if isinstance(found, list) else []
        for number, statement in enumerate(block):
            variable, call = _alone(statement)
            function = call.func if isinstance(call, ast.Call) else None
            if not isinstance(function, ast.Attribute) or not isinstance(call, ast.Call):
                continue
            if _is_name(function.value, "self"):
                what = function.attr
            elif function.attr in _FUNCTIONS and ast.unparse(function.value) in _OF_TORCH:
                what = ast.unparse(call)
            else:
                continue
            for later in block[number + 1 :]:
                names = [n for n in ast.walk(later) if isinstance(n, ast.Name) and n.id == variable]
                if any(not isinstance(one.ctx, ast.Store) for one in names):
                    break
                if names:
                    if _alone(later)[0] == variable:
                        yield what, variable, statement.lineno
                    break


def _alone(statement: ast.stmt) -> tuple[str, ast.expr | None]:
    """Return the name that an assignment gives alone, and its value."""
    if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
        target = statement.targets[0]
        if isinstance(target, ast.Name) and not target.id.startswith("_"):
            return target.id, statement.value
    return "", None


def _lost_names(function: FunctionType) -> Iterator[dict[str, Any]]:
    """Yield the lines of a forward that give a value a second name, which nothing reads."""
    definition = definition_of(function) if function.__name__ == "forward" else None
    if definition is None:
        return
    nodes = list(ast.walk(definition))
    names = [node for node in nodes if isinstance(node, ast.Name)]
    read = {node.id for node in names if not isinstance(node.ctx, ast.Store)}
    if read & {"locals", "vars"} or any(isinstance(n, ast.Global | ast.Nonlocal) for n in nodes):
        return
    for node in nodes:
        if not isinstance(node, ast.Assign) or not isinstance(node.value, ast.Name):
            continue
        target = node.targets[0]
        if len(node.targets) == 1 and isinstance(target, ast.Name) and target.id not in read:
            place = _place(function, node.lineno)
            yield {"call": ast.unparse(node), "place": place, "variable": target.id}


def _has_hooks(module: nn.Module) -> bool:
    """Return whether a module has hooks of the user's, not only those of an observed run."""
    hooks = (*module._forward_hooks.values(), *module._forward_pre_hooks.values())
    return not all(str(getattr(hook, "__module__", "")).startswith("hookcli.") for hook in hooks)


def _passes_true(call: ast.Call) -> bool:
    """Return whether an argument by position is True, as `inplace` may be."""
    return any(isinstance(one, ast.Constant) and one.value is True for one in call.args)


def _takes_gradients(backward: FunctionType) -> bool:
    """Return whether a method is written as the backward of an autograd Function."""
    code = backward.__code__
    names = code.co_varnames[1 : code.co_argcount + bool(code.co_flags & inspect.CO_VARARGS)]
    return is_own(backward) and any("grad" in name for name in names)


def _unread(forward: FunctionType, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Iterator[str]:
    """Yield the arguments with tensors that the code of forward does not read."""
    definition = definition_of(forward) if is_own(forward) else None
    if definition is None or inspect.unwrap(forward) is not forward:
        return
    names = [one.arg for one in (*definition.args.posonlyargs, *definition.args.args)]
    given = {**dict(zip(names[1:], args, strict=False)), **kwargs}
    used = {node.id for node in ast.walk(definition) if isinstance(node, ast.Name)}
    if used & {"locals", "vars"}:
        return
    statements = [one for one in definition.body if not isinstance(one, ast.Expr)]
    if not any(isinstance(node, ast.Return) for one in statements for node in ast.walk(one)):
        return
    for name, value in given.items():
        own = name in names and not name.startswith("_")
        if own and name not in used and isinstance(value, torch.Tensor):
            yield name


def observe(requests: Requests, _spec: Spec) -> list[ProbeWatcher]:
    """Return the watcher that reads the source of what ran."""
    return [UserCode(tuple(request.name for request in requests))]
