"""Shapes in the autograd graph of a loss that show a mistake: no further forward is needed.

Two tensors that broadcast against each other in a loss, such as [16, 1] and [16], make [16, 16]
terms; so do a sum and a quotient of two values of each sample. A view that swaps the sizes of two
dimensions does not swap the dimensions, and one with a wrong number of columns has rows of several
samples, or of parts of one. cross_entropy reads the classes from dimension 1, and a
linear layer has them in the last one.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import torch
from torch import nn

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
    signed,
)
from hookcli.models.batch import Batch
from hookcli.models.model import Call, CallInputs, Model
from hookcli.models.nested import argument_leaves, leaves
from hookcli.report.findings import Measurement
from hookcli.spec.request import Spec

BROADCASTS, RESHAPED, CLASSES = "loss_broadcasts", "reshaped_axes", "class_dimension"
SAMPLES = "samples"  # what a view joins or cuts
Shape: TypeAlias = tuple[int, ...]

_LOSSES = {
    "MseLossBackward0": "mse_loss",
    "SmoothL1LossBackward0": "smooth_l1_loss",
    "HuberLossBackward0": "huber_loss",
}
_DIFFERENCES = {
    "SubBackward0": "a difference", "MulBackward0": "a product", "RsubBackward0": "a difference",
}  # fmt: skip
_SUMS = {"AddBackward0": "a sum", "DivBackward0": "a quotient"}
# From a loss to what it compares: these keep the shape of their input, or reduce it.
_TAIL = SAME_VALUES | {
    f"{name}Backward0"
    for name in (
        "Mean", "Sum", "Pow", "Abs", "Sqrt", "Div", "Add", "Neg", "Mul", "ClampMin", "Log", "Log1P",
        "Exp", "Where", "Rsub", "Maximum", "Minimum",
    )
} | {"RsubBackward1", "MeanBackward1", "SumBackward1", "ClampBackward1"}  # fmt: skip
_SCALES = {"MulBackward0", "DivBackward0"}
_LINEAR_TAIL = SAME_VALUES | {
    "MeanBackward0", "MeanBackward1", "SumBackward0", "SumBackward1", "AddBackward0",
    "SubBackward0", "RsubBackward0", "RsubBackward1", "NegBackward0",
}  # fmt: skip
_VIEWS = {"ViewBackward0", "UnsafeViewBackward0", "ReshapeAliasBackward0"}
_IN_ORDER = _VIEWS | {
    "CloneBackward0", "AliasBackward0", "UnsqueezeBackward0", "SqueezeBackward0",
    "SqueezeBackward1", "ToCopyBackward0", "ExpandBackward0",
}  # fmt: skip
_MOVES = {"TransposeBackward0", "PermuteBackward0"}
_PRODUCTS = {
    "BmmBackward0", "ScaledDotProductFlashAttentionForCpuBackward0",
    "ScaledDotProductFlashAttentionBackward0", "ScaledDotProductEfficientAttentionBackward0",
    "ScaledDotProductCudnnAttentionBackward0",
}  # fmt: skip
# What gives each dimension its meaning, as that of channels.
_MEANING = {
    f"{name}Backward0"
    for name in (
        "Convolution", "Addmm", "Mm", "Linear", "NativeLayerNorm", "NativeBatchNorm",
        "CudnnBatchNorm", "MiopenBatchNorm", "NativeGroupNorm", "LogSoftmax", "Softmax",
        "MkldnnRnnLayer", "CudnnRnn",
    )
}  # fmt: skip
_LINEAR = {"AddmmBackward0", "MmBackward0", "LinearBackward0"}
_MOST = 5  # findings of one kind
_FIRST_CALLS = 10  # whose inputs may be a view of the batch
_LONGEST_TAIL = 200  # nodes


def _shape(node: Node, output: int = 0) -> Shape | None:
    """Return the shape of what a node computed; None if it is not known."""
    if hasattr(node, "variable"):  # a leaf
        return tuple(node.variable.shape)
    described = getattr(node, "_input_metadata", None)
    if described is None or output >= len(described):
        return None
    return tuple(int(size) for size in described[output].shape)


def _operand(node: Node, argument: int) -> tuple[Node | None, Shape | None]:
    """Return the node of an argument and its shape, before an expansion."""
    behind, output = node.next_functions[argument]
    while behind is not None and behind.name() == "ExpandBackward0":
        behind, output = behind.next_functions[0]
    return behind, None if behind is None else _shape(behind, output)


def _expanded(tensor: torch.Tensor) -> set[int]:
    """Return the dimensions along which a tensor repeats its elements."""
    sizes = zip(tensor.shape, tensor.stride(), strict=True)
    return {dim for dim, (size, stride) in enumerate(sizes) if stride == 0 and size > 1}


def _unexpanded(tensor: torch.Tensor) -> Shape:
    """Return the shape that a tensor had before it was expanded."""
    repeats = _expanded(tensor)
    sizes = [1 if dim in repeats else size for dim, size in enumerate(tensor.shape)]
    while sizes and sizes[0] == 1:
        del sizes[0]
    return tuple(sizes)


def _crosswise(node: Node) -> tuple[Shape, Shape] | None:
    """Return the shapes of two operands of a loss that each broadcast along another dimension."""
    ours, target = node._saved_self, node._saved_target
    first, second = _expanded(ours), _expanded(target)
    if not first - second or not second - first:
        return None
    _, shape = _operand(node, 0)
    return shape or _unexpanded(ours), _unexpanded(target)


def _one_sided(node: Node) -> tuple[Shape, Shape] | None:
    """Return the shapes of predictions and of a target that is repeated for several of them.

    One number of 0 or 1, as a label of all samples, may be meant.
    """
    target = node._saved_target
    repeats = _expanded(target)
    if not repeats or _expanded(node._saved_self) or node.next_functions[1][0] is not None:
        return None
    first = target[tuple(0 if dim in repeats else slice(None) for dim in range(target.dim()))]
    if first.numel() == 1 and float(first) in (0.0, 1.0, -1.0):
        return None
    known = [1 if dim in repeats else size for dim, size in enumerate(target.shape)]
    return tuple(target.shape), tuple(known)


def _squared(node: Node, given: Sequence[Shape]) -> tuple[Shape, Shape] | None:
    """Return the shapes of [n, 1, ...] and [n, ...] whose difference has [n, n, ...].

    Only one of them may have a gradient: differences of all pairs are meant in losses that rank or
    contrast outputs, where both have. If they have more than two dimensions, the shape of the other
    must be known, from the product or from the batch.
    """
    made = _shape(node)
    if made is None or len(made) < 2 or made[0] != made[1] or made[0] < 2:
        return None
    graded = [i for i, (behind, _) in enumerate(node.next_functions) if behind is not None]
    if len(graded) != 1:
        return None
    _, shape = _operand(node, graded[0])
    n, rest = made[0], made[2:]
    column, rows = (n, 1, *rest), {(n, *rest), (1, n, *rest)}
    if shape != column and shape not in rows:
        return None
    others = rows if shape == column else {column}
    if node.name() == "MulBackward0":
        saved = node._saved_other if graded[0] == 0 else node._saved_self
        others = others & {tuple(saved.shape)} if saved is not None else set()
    elif rest:
        others = others & set(given)
    return (shape, min(others, key=len)) if others else None


def _widened(size: Node) -> tuple[Shape, Shape] | None:
    """Return [n, 1] and [n, k] if one prediction of each sample is compared with k targets of its.

    `size` is a square or an absolute value, which has saved the differences: k constants for all
    samples, as of centers, make the same differences between samples in each column.
    """
    node = size.next_functions[0][0]
    if node is None or node.name() != "SubBackward0":
        return None
    made, apart = _shape(node), size._saved_self.detach()
    graded = [i for i, (behind, _) in enumerate(node.next_functions) if behind is not None]
    if made is None or len(made) != 2 or len(graded) != 1 or min(made) < 2:
        return None
    behind, shape = _operand(node, graded[0])
    if behind is None or hasattr(behind, "variable") or shape != (made[0], 1):
        return None
    between = apart - apart[:1]
    constant = torch.allclose(between, between[:, :1].expand_as(between), atol=1e-5)
    return None if constant or apart.shape != made else (shape, made)


def _compared(
    start: torch.Tensor, given: Sequence[Shape]
) -> Iterator[tuple[Node, str, tuple[Shape, Shape]]]:
    """Yield the parts of a loss whose operands broadcast against each other."""
    todo = [start.grad_fn]
    seen: set[Node] = set()
    for node in todo:  # grows meanwhile
        if node is None or node in seen or len(seen) > _LONGEST_TAIL:
            continue
        seen.add(node)
        name = node.name()
        if name in _LOSSES and (shapes := _crosswise(node)) is not None:
            yield node, _LOSSES[name], shapes
        elif name in _LOSSES and (shapes := _one_sided(node)) is not None:
            yield node, f"{_LOSSES[name]} of a target", shapes
        elif name in _DIFFERENCES and (shapes := _squared(node, given)) is not None:
            yield node, _DIFFERENCES[name], shapes
        elif name in {"PowBackward0", "AbsBackward0"} and (shapes := _widened(node)) is not None:
            yield node, "a prediction", shapes
            todo += [behind for behind, _ in node.next_functions]
        elif name in _TAIL:
            todo += [behind for behind, _ in node.next_functions]


def _summed(start: torch.Tensor, given: Sequence[Shape]) -> Iterator[tuple[Node, str, Any]]:
    """Yield sums and quotients of [n, 1] and [n], where n is the number of samples.

    Both have a gradient. Sums over all pairs are meant if a line writes the dimension, as
    `a[:, None] + b`, or if something with a value for each pair joins them, as the products in
    squared distances. The mean over all pairs of a sum is that over the samples: a function that
    is not linear must come after it.
    """
    todo = [(start.grad_fn, False)]
    seen: set[tuple[Node, bool]] = set()
    for node, bent in todo:  # grows meanwhile
        if node is None or (node, bent) in seen or len(seen) > _LONGEST_TAIL:
            continue
        seen.add((node, bent))
        name, made = node.name(), _shape(node)
        if name in _SUMS and (shapes := _column_and_row(node, given)) is not None:
            if bent or name != "AddBackward0":
                yield node, _SUMS[name], shapes
        elif name in _TAIL | _SUMS.keys():
            is_square = made is not None and len(made) == 2 and made[0] == made[1]
            if made is None or not is_square or not _has_pairs(node, made):
                bends = bent or not _is_linear(node)
                todo += [(behind, bends) for behind, _ in node.next_functions]


def _is_linear(node: Node) -> bool:
    """Return whether a node is a sum, a mean, or a product with a constant."""
    graded = [behind for behind, _ in node.next_functions if behind is not None]
    return node.name() in _LINEAR_TAIL or (node.name() in _SCALES and len(graded) == 1)


def _column_and_row(node: Node, given: Sequence[Shape]) -> tuple[Shape, Shape] | None:
    operands = [_operand(node, argument) for argument in range(len(node.next_functions))]
    made = _shape(node)
    if made is None or len(operands) != 2 or any(behind is None for behind, _ in operands):
        return None
    if len(made) != 2 or made[0] != made[1] or made[0] < 2:
        return None
    samples = made[0]
    if {shape for _, shape in operands} != {(samples, 1), (samples,)}:
        return None
    if any(hasattr(behind, "variable") or _is_indexed(behind) for behind, _ in operands):
        return None
    first, second = operands[0][1], operands[1][1]
    known = any(shape[:1] == (samples,) for shape in given)
    return (first, second) if known and first is not None and second is not None else None


def _is_indexed(node: Node) -> bool:
    """Return whether a dimension was added, as by `None` in an index."""
    return bool(node.name() in {"UnsqueezeBackward0", "SliceBackward0"})


def _has_pairs(node: Node, made: Shape) -> bool:
    """Return whether an operand may have a value for each pair that no broadcast has made."""
    todo, seen = [node], {node}
    for one in todo:  # grows meanwhile
        if one.name() == "WhereBackward0":  # its condition may choose pairs
            return True
        for argument, (behind, _) in enumerate(one.next_functions):
            if behind is None:
                constant = getattr(one, "_saved_other" if argument else "_saved_self", None)
                if constant is None or tuple(constant.shape) == made:
                    return True
            elif behind not in seen and _operand(one, argument)[1] == made:
                if behind.name() not in _TAIL | _SUMS.keys() or len(todo) > _LONGEST_TAIL:
                    return True
                seen.add(behind)
                todo.append(behind)
    return False


@dataclass(frozen=True, slots=True)
class _Rows:
    """The sizes of dimension 0 of the model's inputs and outputs."""

    given: set[int]
    returned: set[int]


def _views(
    start: torch.Tensor, rows: _Rows, owners: NodeOwners, calls: dict[int, Call]
) -> Iterator[tuple[Node, str, tuple[Shape, Shape]]]:
    """Yield the views in the user's code that swap sizes or regroup samples, with their shapes.

    The result is used as it is by an operator that gives each dimension its meaning. Views that
    skew a matrix are followed by a slice, and those that split heads by a transpose.
    """
    users: dict[Node, list[Node]] = {}
    views = []
    for node in nodes_behind(start):
        views += [node] if node.name() in _VIEWS else []
        for behind, _ in node.next_functions:
            if behind is not None and behind.name() in _IN_ORDER | _MOVES:
                users.setdefault(behind, []).append(node)
    for node in views:
        shapes, what = _swapped(node) or _flattened(node) or _mixed(node), "a view"
        if shapes is None:
            shapes, what = _regrouped(node, rows), SAMPLES
        if shapes is not None and _is_used(node, users):
            kind = place_of(node, owners, calls)[2][0]
            if kind is None or not hasattr(nn, kind):  # torch's own views are right
                yield node, what, shapes


def _is_used(view: Node, users: dict[Node, list[Node]]) -> bool:
    """Return whether an operator that gives dimensions their meaning gets the result of a view.

    After a transpose, heads and samples that are one dimension have their meaning by a product.
    """
    todo = [(node, False) for node in users.get(view, ())]
    for node, moved in todo:  # grows meanwhile
        name = node.name()
        if name in _MEANING or (name in _PRODUCTS and not moved):
            return True
        if name in _IN_ORDER | _MOVES and len(todo) < _LONGEST_TAIL:
            todo += [(user, moved or name in _MOVES) for user in users.get(node, ())]
    return False


def _swapped(node: Node) -> tuple[Shape, Shape] | None:
    """Return the shapes before and after a view that moves a dimension past another one.

    Its result has the same sizes in another order, or splits or merges the dimension of heads with
    a dimension that it does not lie beside. Dimensions of size 1 do not count: no element moves if
    they do.
    """
    after = _shape(node)
    if after is None:
        return None
    before = tuple(int(size) for size in node._saved_self_sym_sizes)
    old, new = _without_ones(before), _without_ones(after)
    if len(before) == len(after):
        return (before, after) if old != new and sorted(old) == sorted(new) else None
    if _passes_by(old, new) or _passes_by(new, old) or _puts_channels_last(old, new):
        return before, after
    return None


def _mixed(node: Node) -> tuple[Shape, Shape] | None:
    """Return the shapes around a view that takes the samples from another dimension than theirs.

    A permutation has moved dimension 0, and the view gives dimension 0 the size that it had.
    """
    moved = node.next_functions[0][0]
    while moved is not None and moved.name() == "CloneBackward0":
        moved = moved.next_functions[0][0]
    before, after = tuple(int(size) for size in node._saved_self_sym_sizes), _shape(node)
    if moved is None or moved.name() not in _MOVES or after is None or len(before) < 3:
        return None
    if moved.name() == "TransposeBackward0":
        pair = sorted(signed(dim) % len(before) for dim in (moved._saved_dim0, moved._saved_dim1))
        at = pair[1] if pair[0] == 0 else 0
    else:
        dims = [signed(dim) % len(before) for dim in moved._saved_dims]
        at = dims.index(0)
    samples = before[at]
    is_moved = max(before[:at], default=1) > 1  # past a dimension that has elements
    is_mixed = is_moved and samples > 1 and after[0] == samples != before[0]
    return (before, after) if is_mixed and len(after) < len(before) else None


def _regrouped(node: Node, rows: _Rows) -> tuple[Shape, Shape] | None:
    """Return the shapes around a view of [B, C, H, W] whose rows are not the B samples.

    The model returns as many rows as the view makes, and takes B samples. Rows of the last
    dimensions, such as those of each channel, are cut on purpose.
    """
    before, after = tuple(int(size) for size in node._saved_self_sym_sizes), _shape(node)
    if after is None or len(before) < 4 or len(after) != 2 or before[0] == after[0]:
        return None
    samples, count = before[0], after[0]
    if samples not in rows.given or samples in rows.returned or count not in rows.returned:
        return None
    wholes = {math.prod(before[dim:]) for dim in range(2, len(before))}
    moved = node.next_functions[0][0]
    while moved is not None and moved.name() in _IN_ORDER:
        moved = moved.next_functions[0][0]
    is_cut = moved is None or moved.name() in _MOVES or after[1] in wholes
    return None if is_cut else (before, after)


def _puts_channels_last(old: Sequence[int], new: Sequence[int]) -> bool:
    """Return whether [n, c, h, w] became [n h w, c] or [n, h w, c]."""
    if len(old) < 3 or old[-1] == old[1]:
        return False
    samples, channels, places = old[0], old[1], math.prod(old[2:])
    flat = [samples * places, channels], [samples, places, channels]
    return [*new] in flat and places != channels


def _passes_by(short: Sequence[int], long: Sequence[int]) -> bool:
    """Return whether [..., t, h d] became [..., h, t, d], as heads do without a transpose."""
    if len(long) != len(short) + 1 or len(short) < 2 or short[:-2] != long[:-3]:
        return False
    (time, width), (heads, passed, depth) = short[-2:], long[-3:]
    return passed == time != heads and heads * depth == width and time not in {depth, width}


_STATES = ("StackBackward0", "CudnnRnnBackward0")


def _flattened(node: Node) -> tuple[Shape, Shape] | None:
    """Return the shapes of a view of stacked states that has the second dimension as its first.

    Such as [layers, batch, size], the last states of an RNN, as [batch, layers * size].
    """
    after = _shape(node)
    before = tuple(int(size) for size in node._saved_self_sym_sizes)
    behind = node.next_functions[0][0]
    if after is None or len(before) != 3 or len(after) != 2 or behind is None:
        return None
    first, second, last = before
    if behind.name() not in _STATES or min(first, second) < 2 or first == second:
        return None
    return (before, after) if after == (second, first * last) else None


def _without_ones(shape: Sequence[int]) -> list[int]:
    return [size for size in shape if size != 1]


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
            yield layer, (shape, _shape(layer) or shape)


def _features(node: Node, shape: Shape) -> Node | None:
    """Return the linear layer whose outputs are the last dimension of what a node gets."""
    behind = _without_bias(node.next_functions[0][0])
    while behind is not None and behind.name() in _IN_ORDER:
        if behind.name() in _VIEWS and _shape(behind) != shape:
            return None
        behind = behind.next_functions[0][0]
    if behind is None or behind.name() not in _LINEAR:
        return None
    made = _shape(behind)
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
            sizes = [_without_ones(one.shape) for one in (given, tensor)]
            alike = given.dim() == tensor.dim() and sorted(sizes[0]) == sorted(sizes[1])
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
            for node, what, (first, second) in self._known(_compared(start, given)):
                self._add(BROADCASTS, node, owners, calls, what, first, second)
            for node, what, (first, second) in self._known(_summed(start, given)):
                if _shape(node) not in outputs:  # the model returns all pairs
                    self._add(BROADCASTS, node, owners, calls, what, first, second)
        if RESHAPED in self._probes:
            rows = _Rows({one[0] for one in given if one}, {one[0] for one in outputs if one})
            for node, what, shapes in self._known(_views(start, rows, owners, calls)):
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
