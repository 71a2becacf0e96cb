"""Results that the code of a class computes and never uses."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from types import FunctionType
from typing import Any

import torch
from torch.nn import functional

from hookcli.engine.probes.code.user_source import (
    assigned_alone,
    definition_of,
    is_name,
    shown_line,
)

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

_OF_TORCH = ("F", "torch", "nn.functional", "torch.nn.functional")

_OF_TENSORS = {"shape", "size", "dim", "ndim"}  # attributes

_IN_PLACE = {"inplace", "out"}


def discarded(function: FunctionType) -> Iterator[tuple[str, str]]:
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
            is_pure = isinstance(owner, ast.Attribute) and is_name(owner.value, "self")
        elif module is torch or module is functional:
            is_pure = name in _FUNCTIONS and not _passes_true(call)
        else:
            is_pure = name in _METHODS and not inspect.ismodule(module)
            # Sets have a method of this name too.
            is_pure |= name in _ARITHMETIC and ast.unparse(owner) in _computed(definition)
        if is_pure:
            yield name, shown_line(function, call.lineno)


def _computed(definition: ast.FunctionDef | ast.AsyncFunctionDef | None) -> set[str]:
    """Return the variables of a function that are tensors by what is done with them.

    They get the result of a module or of arithmetic, or have a shape.
    """
    found = set()
    for node in ast.walk(definition) if definition is not None else ():
        if isinstance(node, ast.Attribute) and node.attr in _OF_TENSORS:
            found.add(ast.unparse(node.value))
        name, value = assigned_alone(node) if isinstance(node, ast.stmt) else ("", None)
        called = value.func if isinstance(value, ast.Call) else None
        of_self = isinstance(called, ast.Attribute) and is_name(called.value, "self")
        if name and (of_self or isinstance(value, ast.BinOp)):
            found.add(name)
    return found


def lost_calls(
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
        if isinstance(function, ast.Attribute) and is_name(function.value, "self"):
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
            variable, call = assigned_alone(statement)
            function = call.func if isinstance(call, ast.Call) else None
            if not isinstance(function, ast.Attribute) or not isinstance(call, ast.Call):
                continue
            if is_name(function.value, "self"):
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
                    if assigned_alone(later)[0] == variable:
                        yield what, variable, statement.lineno
                    break


def lost_names(function: FunctionType) -> Iterator[dict[str, Any]]:
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
            place = shown_line(function, node.lineno)
            yield {"call": ast.unparse(node), "place": place, "variable": target.id}


def _passes_true(call: ast.Call) -> bool:
    """Return whether an argument by position is True, as `inplace` may be."""
    return any(isinstance(one, ast.Constant) and one.value is True for one in call.args)
