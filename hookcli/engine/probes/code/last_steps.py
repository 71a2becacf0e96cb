"""Recurrent layers whose last step a forward reads, beside batches that end with padding."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from types import FunctionType

from torch import nn

from hookcli.engine.probes.code.user_source import definition_of, is_own

_PACKS = ("pack_padded_sequence", "pack_sequence", "PackedSequence")


def last_steps(module: nn.Module) -> Iterator[tuple[str, int, FunctionType]]:
    """Yield the recurrent layers of a module whose last step one of its methods reads.

    With each, yield the line and the method. A class that packs sequences is left out.
    """
    layers = {
        name: layer for name, layer in module._modules.items() if isinstance(layer, nn.RNNBase)
    }
    if not layers:
        return
    known = (inspect.getattr_static(type(module), name, None) for name in dir(type(module)))
    methods = [one for one in known if isinstance(one, FunctionType) and is_own(one)]
    if any(pack in inspect.getsource(m) for m in methods for pack in _PACKS):
        return
    for method in methods:
        definition = definition_of(method)
        outputs: dict[str, str] = {}
        for node in ast.walk(definition) if definition is not None else ():
            name, layer = _output_of(node, layers)
            if name:
                outputs[name] = layer
        for node in ast.walk(definition) if outputs and definition is not None else ():
            if not isinstance(node, ast.Subscript):
                continue
            layer = outputs.get(ast.unparse(node.value), "")
            if layer and _is_last(node.slice, batch_first=layers[layer].batch_first):
                yield layer, node.lineno, method


def _output_of(node: ast.AST, layers: dict[str, nn.RNNBase]) -> tuple[str, str]:
    """Return the variable that gets the outputs of a recurrent layer, and the layer; else ""."""
    if not isinstance(node, ast.Assign) or len(node.targets) != 1:
        return "", ""
    target, value = node.targets[0], node.value
    if isinstance(target, ast.Tuple) and target.elts:
        target = target.elts[0]
    elif isinstance(value, ast.Subscript) and ast.unparse(value.slice) == "0":
        value = value.value
    called = value.func if isinstance(value, ast.Call) else None
    if not isinstance(target, ast.Name) or not isinstance(called, ast.Attribute):
        return "", ""
    of_self = isinstance(called.value, ast.Name) and called.value.id == "self"
    return (target.id, called.attr) if of_self and called.attr in layers else ("", "")


def _is_last(index: ast.expr, *, batch_first: bool) -> bool:
    """Return whether an index takes the last position of each sample."""
    parts = [ast.unparse(one) for one in index.elts] if isinstance(index, ast.Tuple) else []
    parts = parts or [ast.unparse(index)]
    return parts[:2] == [":", "-1"] if batch_first else parts[:1] == ["-1"]
