"""The truth: plain PyTorch hooks, attached by hand. Nothing of hookcli is used here."""

from __future__ import annotations

import dataclasses
import random
import types
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import nn
from torch.nn.modules.module import (
    register_module_forward_hook,
    register_module_forward_pre_hook,
)


@dataclass
class Row:
    name: str | None
    type: str
    call: int
    own: int
    parent: int | None
    training: bool
    inputs: list
    outputs: list = field(default_factory=list)


def tensors(value, seen=()):
    """Every tensor inside a value, in insertion order."""
    if isinstance(value, torch.Tensor):
        yield value
        return
    if id(value) in seen or len(seen) > 20:
        return
    seen = (*seen, id(value))
    if isinstance(value, Mapping):
        inside = list(value.values())
    elif isinstance(value, (tuple, list, set, frozenset, deque)):
        inside = list(value)
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        inside = [getattr(value, f.name, None) for f in dataclasses.fields(value)]
    elif isinstance(
        value, (nn.Module, type, types.FunctionType, types.ModuleType, types.MethodType)
    ):
        return
    else:
        inside = list(getattr(value, "__dict__", {}).values())
        for kind in type(value).__mro__:
            slots = kind.__dict__.get("__slots__", ())
            for slot in [slots] if isinstance(slots, str) else slots:
                if isinstance(kind.__dict__.get(slot), types.MemberDescriptorType):
                    try:
                        inside.append(kind.__dict__[slot].__get__(value))
                    except AttributeError:
                        pass
    for one in inside:
        yield from tensors(one, seen)


def look(value):
    return [(shape(t), str(t.dtype)[6:]) for t in tensors(value)]


def shape(t):
    try:
        sizes = list(t.shape)
    except RuntimeError:
        sizes = []
        for dim in range(t.dim()):
            try:
                sizes.append(t.size(dim))
            except RuntimeError:
                sizes.append(None)
    return tuple(s if type(s) is int or s is None else _number(s) for s in sizes)


def _number(size):
    try:
        return int(size)
    except Exception:
        return None


def seed(number=0):
    torch.manual_seed(number)
    random.seed(number)
    np.random.seed(number)


def own_size(module):
    return sum(p.numel() for p in module.parameters(recurse=False) if not nn.parameter.is_lazy(p))


def by_hand(model, args, kwargs):
    """(rows in the order in which forwards started, the exception or None)."""
    names = {id(m): n for n, m in model.named_modules()}
    rows, counts, stack, handles, keep = [], {}, [], [], []

    def start(module, args, kwargs):
        if id(module) not in hooked and id(module) not in strangers:
            return  # a copy of a hooked module brings its hooks along
        key = id(module)
        keep.append(module)
        # Within a backward pass it is run again: the same call.
        counts[key] = counts.get(key, -1) + (torch._C._current_graph_task_id() == -1)
        parent = stack[-1][1] if stack else None
        row = Row(
            names.get(key),
            type(module).__name__,
            counts[key],
            own_size(module),
            parent,
            module.training,
            look((args, kwargs)),
        )
        stack.append((key, len(rows)))
        rows.append(row)

    def end(module, output):
        if id(module) not in hooked and id(module) not in strangers:
            return None
        while stack and stack[-1][0] != id(module):
            stack.pop()
        _, index = stack.pop()
        rows[index].outputs = look(output)
        rows[index].own = own_size(module)
        return rows[index]

    hooked, strangers = set(), set()
    for module in model.modules():
        if isinstance(module, torch.jit.ScriptModule):
            continue
        hooked.add(id(module))
        handles.append(
            nn.Module.register_forward_pre_hook(
                module, lambda m, a, k: start(m, a, k), with_kwargs=True
            )
        )
        handles.append(
            nn.Module.register_forward_hook(
                module,
                lambda m, a, k, o: end(m, o) and None,
                with_kwargs=True,
                always_call=True,  # so that the stack is right after a caught exception
            )
        )

    def strange_start(module, args):
        if id(module) not in hooked:
            strangers.add(id(module))
            start(module, args, {})

    def strange_end(module, args, kwargs, output):
        if id(module) not in hooked:
            end(module, output).inputs += look(kwargs)

    handles.append(register_module_forward_pre_hook(strange_start))
    handles.append(register_module_forward_hook(strange_end, with_kwargs=True))
    error = None
    try:
        seed()
        model(*args, **kwargs)
    except Exception as e:
        error = e
    finally:
        for handle in handles:
            handle.remove()
    return rows, error


def of_report(report):
    """The same rows, as a hookcli report has them."""
    where = {row.order: i for i, row in enumerate(report.layers)}
    return [
        Row(
            row.name,
            row.type,
            row.call,
            row.own_parameters,
            None if row.parent is None else where[row.parent],
            row.training,
            [(leaf.shape, leaf.dtype) for leaf in row.inputs],
            [(leaf.shape, leaf.dtype) for leaf in row.outputs],
        )
        for row in report.layers
    ]
