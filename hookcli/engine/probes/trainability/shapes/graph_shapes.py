"""Shapes in the autograd graph of a loss that show a mistake: no further forward is needed.

Two tensors that broadcast against each other in a loss, such as [16, 1] and [16], make [16, 16]
terms; so do a sum and a quotient of two values of each sample. A view that swaps the sizes of two
dimensions does not swap the dimensions, and one with a wrong number of columns has rows of several
samples, or of parts of one. cross_entropy reads the classes from dimension 1, and a
linear layer has them in the last one.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch

from hookcli.catalogue.kinds import CATALOGUE as KINDS
from hookcli.engine.observe.node_owners import NodeOwners
from hookcli.engine.probes.context import ProbeWatcher, Requests, where_possible
from hookcli.engine.probes.trainability.loss_graph import (
    SAME_VALUES,
    GraphWatcher,
    Node,
    dimension_of,
    nodes_behind,
    place_of,
)
from hookcli.engine.probes.trainability.shapes.broadcasts import compared, summed
from hookcli.engine.probes.trainability.shapes.node_shapes import (
    IN_ORDER,
    LINEAR,
    VIEWS,
    Shape,
    shape_of,
    without_ones,
)
from hookcli.engine.probes.trainability.shapes.views import Rows, cuts_patches, mixing_views
from hookcli.models.batch import Batch
from hookcli.models.model import Call, CallInputs, Model
from hookcli.models.nested import argument_leaves, leaves
from hookcli.report.findings import Measurement
from hookcli.spec.request import Spec

BROADCASTS, RESHAPED, CLASSES = "loss_broadcasts", "reshaped_axes", "class_dimension"
_MOST = 5  # findings of one kind
_FIRST_CALLS = 10  # whose inputs may be a view of the batch


def _swapped_classes(start: torch.Tensor) -> Iterator[tuple[Node, tuple[Shape, Shape]]]:
    """Yield the linear layers whose outputs are in the last dimension, if a loss reads another.

    With each, yield the shape of the logits and that of the layer's result. cross_entropy reads the
    classes from dimension 1; torch raises an error unless both dimensions have the same size.
    """
    for node in nodes_behind(start):
        if node.name() != "NllLoss2DBackward0":  # of more than two dimensions
            continue
        logs = node.next_functions[0][0]
        while logs is not None and logs.name() in SAME_VALUES:
            logs = logs.next_functions[0][0]
        if logs is None or logs.name() != "LogSoftmaxBackward0":
            continue
        shape = tuple(logs._saved_result.shape)
        if len(shape) < 3 or shape[1] < 2 or shape[1] != shape[-1] or dimension_of(logs) != 1:
            continue
        layer = _features(logs, shape)
        if layer is not None:
            yield layer, (shape, shape_of(layer) or shape)


def _features(node: Node, shape: Shape) -> Node | None:
    """Return the linear layer whose outputs are the last dimension of what a node gets."""
    behind = _without_bias(node.next_functions[0][0])
    while behind is not None and behind.name() in IN_ORDER:
        if behind.name() in VIEWS and shape_of(behind) != shape:
            return None
        behind = behind.next_functions[0][0]
    if behind is None or behind.name() not in LINEAR:
        return None
    made = shape_of(behind)
    return behind if made is not None and made[-1] == shape[-1] else None


def _without_bias(node: Node | None) -> Node | None:
    """Return the product that a linear layer adds its bias to, if its input is not contiguous."""
    if node is None or node.name() != "AddBackward0":
        return node
    first, second = (behind for behind, _ in node.next_functions)
    bias = getattr(second, "variable", None)
    return first if bias is not None and bias.dim() == 1 else node


class GraphShapes(GraphWatcher):
    """Looks at the shapes in the graph of the loss."""

    def __init__(self, measurements: list[Measurement], probes: tuple[str, ...]) -> None:
        super().__init__(measurements, probes)
        self._inputs: list[torch.Tensor] = []
        self._seen: list[Measurement] = []
        self._outputs: set[Shape] = set()

    def begin(self, model: Model) -> None:
        """Forget an earlier run."""
        super().begin(model)
        self._inputs, self._seen = [], []

    def enter(self, call: Call, batch: CallInputs) -> None:
        """Note the shapes of the batch."""
        super().enter(call, batch)
        if self._has_looked:
            return
        if call.parent is None and not self._inputs:
            given = [tensor for _, tensor, _ in argument_leaves(*batch)]
            self._inputs = [tensor for tensor in given if not tensor.is_nested]  # have no shape
        elif RESHAPED in self._probes and call.order <= _FIRST_CALLS:
            with where_possible():
                self._look_at_input(call, batch)

    def forward_ended(self, model: Model, batch: Batch, output: Any) -> None:
        """Note the shapes of the outputs."""
        if not self._has_looked:
            plain = [tensor for _, tensor, _ in leaves(output) if not tensor.is_nested]
            self._outputs = {tuple(tensor.shape) for tensor in plain}

    def _look_at_input(self, call: Call, batch: CallInputs) -> None:
        """Find an input of the model that reaches a layer with its sizes in another order.

        Without a gradient it has no node in the graph.
        """
        tensor = batch[0][0] if batch[0] else None
        if not isinstance(tensor, torch.Tensor) or tensor.dim() < 3 or tensor.requires_grad:
            return
        for given in self._inputs:
            sizes = [without_ones(one.shape) for one in (given, tensor)]
            alike = given.dim() == tensor.dim() and sorted(sizes[0]) == sorted(sizes[1])
            alike |= call.type == "Linear" and cuts_patches(given.shape, tensor.shape)
            if not alike or sizes[0] == sizes[1] or given.data_ptr() != tensor.data_ptr():
                continue
            if given.is_contiguous() and tensor.is_contiguous():
                value = {
                    "what": "a view", "first": [*given.shape], "second": [*tensor.shape],
                    "module": call.type, "place": call.place,
                }  # fmt: skip
                row = Measurement(RESHAPED, call.name or "", call.index, value, None)
                self._seen.append(row)

    def _look(self, start: torch.Tensor, owners: NodeOwners, calls: dict[int, Call]) -> None:
        given = [tuple(tensor.shape) for tensor in self._inputs]
        outputs, self._outputs = self._outputs, set()
        self.measurements += self._seen[:_MOST]
        self._inputs, self._seen = [], []
        if BROADCASTS in self._probes:
            for node, what, (first, second) in self._known(compared(start, given)):
                self._add(BROADCASTS, node, owners, calls, what, first, second)
            for node, what, (first, second) in self._known(summed(start, given)):
                if shape_of(node) not in outputs:  # the model returns all pairs
                    self._add(BROADCASTS, node, owners, calls, what, first, second)
        if RESHAPED in self._probes:
            rows = Rows({one[0] for one in given if one}, {one[0] for one in outputs if one})
            for node, what, shapes in self._known(mixing_views(start, rows, owners, calls)):
                self._add(RESHAPED, node, owners, calls, what, *shapes)
        if CLASSES in self._probes:
            for node, shapes in self._known(_swapped_classes(start)):
                self._add(CLASSES, node, owners, calls, "cross_entropy", *shapes)

    def _known(self, found: Iterator[Any]) -> Iterator[Any]:
        """Yield the first entries, up to one whose tensors cannot be read."""
        for _ in range(_MOST):
            try:
                yield next(found)
            except (StopIteration, RuntimeError):  # what it saved was changed in place
                return

    def _add(
        self,
        probe: str,
        node: Node,
        owners: NodeOwners,
        calls: dict[int, Call],
        what: str,
        first: Shape,
        second: Shape,
    ) -> None:
        name, index, (kind, place) = place_of(node, owners, calls)
        value = {
            "what": what, "first": [*first], "second": [*second], "module": kind, "place": place,
        }  # fmt: skip
        self.measurements.append(Measurement(probe, name, index, value, None))


def observe(requests: Requests, spec: Spec) -> list[ProbeWatcher]:
    """Return the watcher of the graph; none if that would run a hook which unpacks a tensor."""
    if any(KINDS[hook.kind].pair for hook in spec.hooks):
        return []
    return [GraphShapes([], tuple(request.name for request in requests))]
