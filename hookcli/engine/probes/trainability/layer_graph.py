"""How the layers of a model use each other's results, read from the autograd graph of a loss.

`pooled_channels`: a mean or variance over the channels of a sequence, which a linear layer gets.
`reused_layers`: a layer that the code calls at several lines, each time with a result of the call
before.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from types import CodeType
from typing import Any, NamedTuple

import torch
from torch import nn

from hookcli.catalogue.kinds import CATALOGUE as KINDS
from hookcli.engine.observe.node_owners import NodeOwners
from hookcli.engine.probes.context import ProbeWatcher, Requests, where_possible
from hookcli.engine.probes.trainability.loss_graph import (
    GraphWatcher,
    Node,
    nodes_behind,
    place_of,
    shape_of_node,
    signed,
)
from hookcli.engine.probes.trainability.patterns.softmax_graph import LINEAR, VIEWS
from hookcli.models import places
from hookcli.models.model import Call, CallInputs, Model
from hookcli.report.findings import Measurement
from hookcli.spec.request import Spec
from hookcli.torch_private import ConvNd

CHANNELS, REUSED = "pooled_channels", "reused_layers"

_MEANS = {
    "MeanBackward1": "a mean", "VarBackward0": "a variance", "StdBackward0": "a standard deviation",
}  # fmt: skip
_CHANNELS_FIRST = {
    "ConvolutionBackward0", "NativeBatchNormBackward0", "CudnnBatchNormBackward0",
    "MiopenBatchNormBackward0",
}  # fmt: skip
# Operators that keep the dimensions of their input.
_ELEMENTWISE = {
    f"{name}Backward0"
    for name in ("Relu", "Gelu", "Silu", "Tanh", "Sigmoid", "Elu", "LeakyRelu", "Softplus",
                 "Hardswish", "Mish", "Hardtanh", "Prelu", "NativeDropout")
}  # fmt: skip
# Between a mean and the linear layer that gets it.
_JOINS = VIEWS | {"CatBackward0", "SqrtBackward0", "AddBackward0", "ClampMinBackward0"}
_MOST = 5  # findings of one kind
_NEAR = 40  # nodes between a mean and a linear layer
_MOST_LOOKS = 2_000  # calls whose line is looked up
_MOST_CALLS = 8  # of one layer
_LAYERS = (nn.Linear, ConvNd)


class _At(NamedTuple):
    """A call of a layer, and the user's function and line that makes it; None if none does."""

    call: Call
    code: CodeType | None
    line: int


class LayerGraph(GraphWatcher):
    """Looks at the layers in the graph of the loss."""

    def __init__(self, measurements: list[Measurement], probes: tuple[str, ...]) -> None:
        super().__init__(measurements, probes)
        self._lines: dict[int, list[_At]] = {}  # the calls of each layer
        self._left = _MOST_LOOKS

    def begin(self, model: Model) -> None:
        """Forget an earlier run."""
        super().begin(model)
        self._lines.clear()
        self._left = _MOST_LOOKS

    def enter(self, call: Call, batch: CallInputs) -> None:
        """Note the line that calls a layer."""
        super().enter(call, batch)
        if REUSED not in self._probes or self._has_looked or not isinstance(call.module, _LAYERS):
            return
        calls = self._lines.setdefault(call.key, [])
        if self._left and len(calls) <= _MOST_CALLS:
            self._left -= 1
            frame = places.caller()
            code, line = (None, 0) if frame is None else (frame.f_code, frame.f_lineno)
            calls.append(_At(call, code, line))

    def _look(self, start: torch.Tensor, owners: NodeOwners, calls: dict[int, Call]) -> None:
        lines, self._lines = self._lines, {}
        with where_possible():
            nodes = list(nodes_behind(start))
            if CHANNELS in self._probes:
                for node, value in _pooled(nodes, owners, calls):
                    self._note(CHANNELS, node, value, owners, calls)
            if REUSED in self._probes and self._left:  # else some calls are not known
                self.measurements.append(Measurement(REUSED, "", None, {"count": 1}, None))
                for call, value in _chained(lines, nodes, owners):
                    row = Measurement(REUSED, call.name or "", None, value, None)
                    self.measurements.append(row)

    def _note(
        self,
        probe: str,
        node: Node,
        value: dict[str, Any],
        owners: NodeOwners,
        calls: dict[int, Call],
    ) -> None:
        name, index, (kind, place) = place_of(node, owners, calls)
        value = {**value, "module": kind, "place": place}
        self.measurements.append(Measurement(probe, name, index, value, None))


def _pooled(
    nodes: list[Node], owners: NodeOwners, calls: dict[int, Call]
) -> Iterator[tuple[Node, dict[str, Any]]]:
    """Yield the means over the channels of a sequence whose result a linear layer gets."""
    seen: set[Node] = set()
    for layer in nodes:
        if layer.name() not in LINEAR:
            continue
        for node in _before(layer.next_functions[LINEAR[layer.name()][0]][0]):
            shape = None if node in seen else _pooled_shape(node)
            seen.add(node)
            source = _channels_of(node) if shape is not None else None
            name = "" if source is None else place_of(source, owners, calls)[0]
            if name:
                yield node, {"what": _MEANS[node.name()], "shape": shape, "of": name}


def _before(start: Node | None) -> Iterator[Node]:
    """Yield the means before a linear layer, with only joins and the like in between."""
    todo = [start]
    for node in todo:  # grows meanwhile
        if node is None or len(todo) > _NEAR:
            continue
        if node.name() in _MEANS:
            yield node
        elif node.name() in _JOINS:
            todo += [behind for behind, _ in node.next_functions]


def _pooled_shape(node: Node) -> list[int] | None:
    """Return the shape [B, C, T] that a mean is of, if it is over dimension 1 and removes it."""
    if node.name() == "MeanBackward1":
        shape = [int(size) for size in node._saved_self_sym_sizes]
    else:
        shape = [*node._saved_self.shape]
    dims = [signed(dim) % max(1, len(shape)) for dim in node._saved_dim or ()]
    is_found = len(shape) == 3 and dims == [1] and not node._saved_keepdim and shape[2] > 1
    return shape if is_found else None


def _channels_of(mean: Node) -> Node | None:
    """Return the convolution or batch norm whose channels a mean is over."""
    node = mean.next_functions[0][0]
    while node is not None and node.name() in _ELEMENTWISE:
        node = node.next_functions[0][0]
    if node is None or node.name() not in _CHANNELS_FIRST:
        return None
    return node if len(shape_of_node(node) or ()) == 3 else None


def _chained(
    lines: dict[int, list[_At]], nodes: list[Node], owners: NodeOwners
) -> Iterator[tuple[Call, dict[str, Any]]]:
    """Yield the layers that are called at several lines, each time behind the call before."""
    few = (calls for calls in lines.values() if 1 < len(calls) <= _MOST_CALLS)
    found = [calls for calls in few if _is_at_lines(calls)][:_MOST]
    if not found:
        return
    wanted = {call.order for calls in found for call, _, _ in calls}
    made: dict[int, Node] = {}
    for node in nodes:  # those near the loss first
        order = owners.of(node._sequence_nr())
        if order in wanted:
            made.setdefault(order, node)
    for calls in found:
        orders = [at.call.order for at in calls]
        if all(order in made for order in orders) and all(
            _is_behind(made[first], made[second]) for first, second in pairwise(orders)
        ):
            first, code, line = calls[0]
            place = None if code is None else f"{places.show(code.co_filename)}:{line}"
            lines_of_calls = [at.line for at in calls]
            yield first, {"lines": lines_of_calls, "type": first.type, "place": place}


def _is_at_lines(calls: list[_At]) -> bool:
    """Return whether one call of a function makes each of these calls, at a line of its own."""
    functions, parents = {at.code for at in calls}, {at.call.parent for at in calls}
    is_distinct = len({at.line for at in calls}) == len(calls)
    return is_distinct and len(functions) == len(parents) == 1


def _is_behind(first: Node, second: Node) -> bool:
    """Return whether the graph of a node contains another one."""
    todo, seen = [second], {second}
    for node in todo:  # grows meanwhile
        if node is first:
            return True
        for behind, _ in node.next_functions:
            if behind is not None and behind not in seen:
                seen.add(behind)
                todo.append(behind)
    return False


def observe(requests: Requests, spec: Spec) -> list[ProbeWatcher]:
    """Return the watcher of the graph; none if that would run a hook which unpacks a tensor."""
    if any(KINDS[hook.kind].pair for hook in spec.hooks):
        return []
    return [LayerGraph([], tuple(request.name for request in requests))]
