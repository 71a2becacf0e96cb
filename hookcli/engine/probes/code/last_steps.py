"""Recurrent layers whose last step a forward reads, beside batches that end with padding."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from types import FunctionType
from typing import Any

import torch
from torch import nn

from hookcli.engine.probes.code.user_source import definition_of, is_own
from hookcli.models.nested import argument_leaves

_PACKS = ("pack_padded_sequence", "pack_sequence", "PackedSequence")
_LEAST, _PADDED = 4, 0.5  # samples, and the share of them that end with padding
_SHARE = 0.1  # of the positions
_MOST = 1 << 22  # elements of an input


def padded_ends(args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any] | None:
    """Return how many samples of a batch [samples, positions, ...] end with zeros, or a token.

    None if there are few, if all end at one position, or if what may be padding is elsewhere too.
    The token of padding is the one with which most samples end.
    """
    for _, tensor, _ in argument_leaves(args, kwargs):
        if tensor.dim() not in (2, 3) or tensor.is_meta or not 0 < tensor.numel() <= _MOST:
            continue
        if tensor.layout is not torch.strided or len(tensor) < _LEAST or tensor.is_complex():
            continue
        is_tokens = tensor.dim() == 2 and not tensor.is_floating_point()
        if tensor.dim() == 2 and (not is_tokens or tensor.dtype is torch.bool):
            continue
        last = tensor[:, -1].mode().values if is_tokens else None
        empty = (tensor == 0).all(2) if last is None else tensor == last
        ends = empty.flip(1).long().cumprod(1).sum(1)
        if bool((empty.sum(1) > ends).any()):  # padding is at the ends only
            continue
        whole = tensor.shape[1]
        many = int(((ends > int(is_tokens)) & (ends < whole)).sum())
        share = float(ends.sum()) / empty.numel()
        if many >= _PADDED * len(tensor) and share >= _SHARE and len(torch.unique(ends)) > 2:
            what = "zeros" if last is None else f"the token {int(last)}"
            return {"what": what, "padded": many, "samples": len(tensor), "share": share}
    return None


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
