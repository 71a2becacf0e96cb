"""Finds parameters that take part in a forward, but are not parameters of the model.

Backward writes into the leaves of the graph. A leaf that is a parameter, or a tensor that a module
keeps, but that the model did not have as a parameter when it was built, is one that no optimizer of
`model.parameters()` changes.

Attributes that are plain tensors before the run, and that a forward reads, are noted as well.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterable, Iterator, Mapping
from types import FunctionType
from typing import Any

import torch
from torch import nn
from torch.nn.parameter import is_lazy

from hookcli.engine.observe.node_owners import NodeOwners
from hookcli.engine.probes.code.user_source import definition_of, is_own
from hookcli.engine.probes.context import ProbeWatcher, Requests, where_possible
from hookcli.models import module_tree
from hookcli.models.model import Call, CallInputs, Model
from hookcli.report.findings import Measurement
from hookcli.spec.request import Spec

PROBE = "unregistered"
PLAIN = "plain"  # an attribute with a tensor that needs no gradient
_MOVES = {"to", "cuda", "cpu", "type_as", "type"}
_DEEP = 3  # levels of containers in attributes that are searched


class UnregisteredParameters(ProbeWatcher):
    """Observes the leaves of the graph of the first step."""

    def __init__(self, measurements: list[Measurement]) -> None:
        self.measurements = measurements
        self._model: Model | None = None
        self._names: dict[int, str] = {}
        self._held: list[torch.Tensor] = []  # a parameter that goes away could give its id away
        self._calls: dict[int, tuple[str | None, str]] = {}
        self._plain: list[tuple[str, nn.Module, str, torch.Tensor]] = []

    def begin(self, model: Model) -> None:
        """Note the parameters that an optimizer would get."""
        self.measurements.clear()
        self._model = model
        self._held = [info.tensor for info in model.parameters()]
        self._names = {id(info.tensor): info.name for info in model.parameters()}
        with where_possible():
            self._plain = list(_plain_tensors(model.root))

    def enter(self, call: Call, batch: CallInputs) -> None:
        """Note the name of a call."""
        self._calls[call.order] = (call.name, call.type)

    def graph(self, start: torch.Tensor, owners: NodeOwners) -> None:
        """Add a measurement for each attribute, or call, with leaves that are not registered."""
        model, self._model = self._model, None
        plain, self._plain = self._plain, []
        if model is None or any(map(_is_sharded, self._held)):
            return  # a further step, or parameters that are sharded
        for name, module, attribute, tensor in plain:
            if vars(module).get(attribute) is tensor and tensor.grad_fn is None:  # no state
                value = {"kind": PLAIN, "count": 1}
                self.measurements.append(Measurement(PROBE, name, None, value, None))
        strange = [
            (leaf, owners.of(number))
            for leaf, number in leaves_of_graph(start)
            if self._is_strange(leaf)
        ]
        if not strange or any(_is_sharded(leaf) for leaf, _ in strange):
            return
        kept = dict(_kept(model.root))
        groups: dict[tuple[str, str], int] = {}
        for leaf, order in strange:
            found = kept.get(id(leaf)) or self._made(leaf, order)
            if found is not None:
                if found[0] == "replaced" and found[1] not in self._names.values():
                    found = "late", found[1]
                groups[found] = groups.get(found, 0) + 1
        for (kind, name), count in groups.items():
            self.measurements.append(
                Measurement(PROBE, name, None, {"kind": kind, "count": count}, None)
            )

    def _is_strange(self, leaf: torch.Tensor) -> bool:
        return id(leaf) not in self._names

    def _made(self, leaf: torch.Tensor, order: int | None) -> tuple[str, str] | None:
        """Return what a parameter that no module keeps is: a copy, or made in a call."""
        if not isinstance(leaf, nn.Parameter):
            return None  # a tensor to differentiate by, such as positions
        for held in self._held:
            if held.layout is leaf.layout is torch.strided and _same_memory(held, leaf):
                return "copy", self._names[id(held)]
        name, kind = self._calls.get(-1 if order is None else order, (None, "model"))
        return ("made", name) if name is not None else ("made in forward", kind)


def _plain_tensors(root: nn.Module) -> Iterator[tuple[str, nn.Module, str, torch.Tensor]]:
    """Yield the attributes of the user's modules with plain tensors that their forward reads.

    With each, yield its name and module. A class that moves its tensors by itself is left out.
    """
    read: dict[type, set[str]] = {}
    if _moves(type(root)):
        return
    for prefix, module in module_tree.named(root):
        for attribute, value in vars(module).items():
            if attribute.startswith("_") or not _is_plain(value):
                continue
            kind = type(module)
            if kind not in read:
                read[kind] = set() if _moves(kind) else _attributes_read(kind)
            if attribute in read[kind]:
                yield _joined(prefix, attribute), module, attribute, value


def _moves(kind: type) -> bool:
    """Return whether a class has a method of its own that moves its tensors."""
    bases = (base for base in kind.__mro__ if base is not nn.Module)
    return any(not {"_apply", "to"}.isdisjoint(vars(base)) for base in bases)


def _is_plain(value: object) -> bool:
    if type(value) is not torch.Tensor or value.requires_grad or value.is_meta:
        return False
    return value.is_floating_point() and value.dim() > 0


def _attributes_read(kind: type) -> set[str]:
    """Return the attributes of `self` that the forward of a class of the user's reads.

    Those that it moves to a device by itself, as `self.window.to(x.device)`, are left out.
    """
    forward = inspect.getattr_static(kind, "forward", None)
    if not isinstance(forward, FunctionType) or not is_own(forward):
        return set()
    definition = definition_of(forward)
    nodes = [] if definition is None else list(ast.walk(definition))
    loads = [n for n in nodes if isinstance(n, ast.Attribute) and isinstance(n.ctx, ast.Load)]
    moved = {id(node.value) for node in loads if node.attr in _MOVES}
    own = [n for n in loads if isinstance(n.value, ast.Name) and n.value.id == "self"]
    return {node.attr for node in own} - {node.attr for node in own if id(node) in moved}


def _is_sharded(held: torch.Tensor) -> bool:
    """Return whether a parameter is a DTensor, or one that FSDP1 has flattened."""
    return hasattr(held, "_local_tensor") or hasattr(held, "_fsdp_flattened")


def _same_memory(held: torch.Tensor, leaf: torch.Tensor) -> bool:
    if is_lazy(held):
        return False
    try:
        return held.numel() > 0 and held.data_ptr() == leaf.data_ptr()
    except RuntimeError:  # a subclass without memory of its own
        return False


def leaves_of_graph(start: torch.Tensor) -> Iterator[tuple[torch.Tensor, int]]:
    """Yield each leaf of the graph of a tensor with the number of a node that uses it."""
    if start.grad_fn is not None:
        yield from leaves_behind(start.grad_fn)


def leaves_behind(start: Any) -> Iterator[tuple[torch.Tensor, int]]:
    """Yield each leaf of the graph behind a node with the number of a node that uses it."""
    waiting = [start]
    seen = set(waiting)
    while waiting:
        node = waiting.pop()
        for following, _ in node.next_functions:
            if following is None or following in seen:
                continue
            seen.add(following)
            leaf = getattr(following, "variable", None)
            if isinstance(leaf, torch.Tensor):
                yield leaf, node._sequence_nr()
            else:
                waiting.append(following)


def unregistered(root: nn.Module, leaves: Iterable[torch.Tensor]) -> Iterator[tuple[str, str, int]]:
    """Yield the attributes of a model that have these leaves of a graph: name, kind and count."""
    strange = {id(leaf) for leaf in leaves if not hasattr(leaf, "_fsdp_flattened")}
    groups: dict[tuple[str, str], int] = {}
    if strange:
        for key, found in dict(_kept(root)).items():
            if key in strange and found[0] != "replaced":
                groups[found] = groups.get(found, 0) + 1
    for (kind, name), count in groups.items():
        yield name, kind, count


def _kept(root: nn.Module) -> Iterator[tuple[int, tuple[str, str]]]:
    """Yield the ids of tensors in attributes of modules, each with a kind and a name.

    Parameters that a module has now, but had not when it was built, are "replaced".
    """
    for prefix, module in root.named_modules():
        for attribute, parameter in module._parameters.items():
            if parameter is not None:
                yield id(parameter), ("replaced", _joined(prefix, attribute))
        for attribute, value in vars(module).items():
            if attribute in {"_parameters", "_buffers", "_modules"}:
                continue
            kind = "tensor" if isinstance(value, torch.Tensor) else type(value).__name__
            for tensor in _tensors(value, _DEEP):
                yield id(tensor), (kind, _joined(prefix, attribute))


def _joined(prefix: str, attribute: str) -> str:
    return f"{prefix}.{attribute}" if prefix else attribute


def _tensors(value: Any, deep: int) -> Iterator[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, nn.Module):
        yield from value.parameters()
    elif deep and isinstance(value, list | tuple | set):
        for item in value:
            yield from _tensors(item, deep - 1)
    elif deep and isinstance(value, Mapping):
        for item in value.values():
            yield from _tensors(item, deep - 1)


def observe(_requests: Requests, _spec: Spec) -> list[ProbeWatcher]:
    """Return the watcher that finds parameters which are not registered."""
    return [UnregisteredParameters([])]
