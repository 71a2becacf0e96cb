"""Patterns in the autograd graph of a loss that show a mistake: no further forward is needed.

`softmax_axes`: a softmax over another dimension than the one that a product sums over, or over one
element. `linear_chains`: two linear layers with nothing in between. `single_norms`: norms over one
value. `loss_sums`: sums in the loss of which one term has no gradient. `custom_functions`: autograd
Functions of the user. `self_similarities`: losses over the products of all samples with each other
that include each sample with itself. `masked_shares`: shares of a softmax that are masked
afterwards. `self_sums`: sums of a tensor and itself. `changed_shortcuts`: sums with the input of a
block that an activation has changed in place. `half_values`: operators whose result is float16.
`norm_dimensions`: norms over other dimensions than that of the features. `scaled_shares`: shares of
a softmax that are multiplied by a number. `sharp_scores`: scores that nothing scales, whose softmax
is one-hot. `weak_masks`: softmaxes in which masked scores keep a share. `unequal_scales`: softmaxes
over parts that are scaled differently. `narrow_units`: layers of one unit between others.
`equal_choices`: choices among equal values. `pooled_padding`: means over the vectors of tokens that
count padding. `relu_outputs`: outputs of the model that are those of a ReLU behind a linear layer.
`rotary_axes`: rotary embeddings whose angles differ along another dimension than the positions.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from itertools import chain
from typing import Any

import torch
from torch import nn

from hookcli.catalogue.kinds import CATALOGUE as KINDS
from hookcli.engine.observe.node_owners import NodeOwners
from hookcli.engine.probes.context import ProbeWatcher, Requests, where_possible
from hookcli.engine.probes.gradients.function_gradients import functions_of
from hookcli.engine.probes.trainability.loss_graph import (
    SAME_VALUES,
    GraphWatcher,
    Node,
    nodes_behind,
    place_of,
    shape_of_node,
    signed,
)
from hookcli.engine.probes.trainability.patterns.equal_choices import equal_choices
from hookcli.engine.probes.trainability.patterns.linear_maps import (
    BATCH_NORMS,
    chains,
    convolutions_in_a_row,
    linear_model,
    weight_of,
)
from hookcli.engine.probes.trainability.patterns.narrow_units import narrow_units
from hookcli.engine.probes.trainability.patterns.rotations import misplaced_rotations
from hookcli.engine.probes.trainability.patterns.softmax_graph import (
    LINEAR,
    SOFTMAX,
    VIEWS,
    masked_shares,
    scaled_shares,
    sharp_scores,
    softmaxes,
    unequal_scales,
    weak_masks,
)
from hookcli.models.batch import Batch
from hookcli.models.model import Call, CallInputs, Model
from hookcli.models.nested import argument_leaves, leaves
from hookcli.report.findings import Measurement
from hookcli.spec.request import Spec

AXES, CHAINS, NORMS, SUMS = "softmax_axes", "linear_chains", "single_norms", "loss_sums"
FUNCTIONS, SIMILARITIES = "custom_functions", "self_similarities"
MASKED, DOUBLED, CHANGED = "masked_shares", "self_sums", "changed_shortcuts"
HALF, NORMED = "half_values", "norm_dimensions"
AFTER, SHARP, POOLED = "scaled_shares", "sharp_scores", "pooled_padding"
WEAK, SCALES, NARROW = "weak_masks", "unequal_scales", "narrow_units"
CHOICES = "equal_choices"
ENDS, ROTARY = "relu_outputs", "rotary_axes"
_LAYER_NORM, _GROUP_NORM = "NativeLayerNormBackward0", "NativeGroupNormBackward0"
# A model without any is linear on purpose.
_ACTIVATIONS = {
    f"{name}Backward0"
    for name in ("Relu", "Gelu", "Silu", "Tanh", "Sigmoid", "Elu", "LeakyRelu", "Softplus",
                 "Hardswish", "Mish", "Hardtanh", "Prelu", "LogSigmoid")
}  # fmt: skip
_SCALARS = {"AddBackward0", "SubBackward0", "MulBackward0", "DivBackward0", "NegBackward0"}
_LONGEST = 20  # nodes of a path
_MOST = 5  # findings of one kind
_OFTEN_ENDS = 0.25  # the share of the ends in the results of a clamp
_OFTEN_ZERO = 0.1  # the share of zeros in the outputs of a ReLU
_BY_CHANCE = 2  # tokens of padding at the ends of rows


class GraphPatterns(GraphWatcher):
    """Looks for patterns in the graph of the loss."""

    def __init__(self, measurements: list[Measurement], probes: tuple[str, ...]) -> None:
        super().__init__(measurements, probes)
        self._given: dict[int, int] = {}  # the first input of each call that runs, by its order
        self._replaced: dict[Node, tuple[Call, list[int]]] = {}  # by activations in place
        self._end: tuple[Node, dict[str, Any]] | None = None  # a linear layer before the outputs
        self._lengths: set[int] = set()  # of the sequences that the model got
        self._padded: dict[tuple[int, int], torch.Tensor] = {}  # positions, by their shape

    def begin(self, model: Model) -> None:
        """Forget an earlier run."""
        super().begin(model)
        self._given.clear()
        self._replaced.clear()
        self._lengths.clear()
        self._padded.clear()
        self._end = None

    def forward_ended(self, model: Model, batch: Batch, output: Any) -> None:
        """Note a linear layer whose outputs, cut off at zero, are the only output of the model."""
        if not self._has_looked and ENDS in self._probes:
            with where_possible():
                self._end = _cut_at_zero([tensor for _, tensor, _ in leaves(output)])

    def enter(self, call: Call, batch: CallInputs) -> None:
        """Note the input of a call."""
        super().enter(call, batch)
        if not self._has_looked and ROTARY in self._probes and call.parent is None:
            given = (tensor for _, tensor, _ in argument_leaves(*batch))
            self._lengths |= {one.shape[1] for one in given if _counts_positions(one)}
        if not self._has_looked and POOLED in self._probes and call.parent is None:
            with where_possible():
                found = (_padded_positions(one) for _, one, _ in argument_leaves(*batch))
                self._padded |= {(len(one), one.shape[1]): one for one in found if one is not None}
        if not self._has_looked and CHANGED in self._probes and batch[0]:
            self._given[call.order] = id(batch[0][0])

    def leave(self, call: Call, output: Any, error: BaseException | None) -> None:
        """Note an activation that changes the input of the calls around it in place."""
        given = self._given.pop(call.order, None)
        if given is None or not getattr(call.module, "inplace", False) or id(output) != given:
            return
        around = [order for order, other in self._given.items() if other == given]
        node = getattr(output, "grad_fn", None)
        if around and node is not None:
            self._replaced[node] = call, around

    def _changed(
        self, nodes: list[Node], owners: NodeOwners, calls: dict[int, Call]
    ) -> Iterator[tuple[Node, dict[str, Any]]]:
        """Yield the sums with the input of a block that an activation has changed in place."""
        replaced, self._replaced = self._replaced, {}
        for node in nodes if replaced else ():
            if node.name() != "AddBackward0":
                continue
            for behind, _ in node.next_functions:
                call, around = replaced.get(behind, (None, []))
                if call is not None and owners.of(node._sequence_nr()) in around:
                    yield node, {"by": call.name or "", "type": call.type}

    def _look(self, start: torch.Tensor, owners: NodeOwners, calls: dict[int, Call]) -> None:
        with where_possible():
            self._look_for(start, owners, calls)

    def _look_for(self, start: torch.Tensor, owners: NodeOwners, calls: dict[int, Call]) -> None:
        if SUMS in self._probes:
            count = sum(1 for _ in _sums(start))
            self.measurements += [Measurement(SUMS, "", None, count, None)] if count else []
        nodes = list(nodes_behind(start))
        end, self._end = self._end, None
        if FUNCTIONS in self._probes and (found := functions_of(nodes)):
            self.measurements.append(Measurement(FUNCTIONS, "", None, len(found), None))
        if HALF in self._probes and (halves := sum(_is_half(node) for node in nodes)):
            self.measurements.append(Measurement(HALF, "", None, halves, None))
        kinds = {node.name() for node in nodes}
        users: dict[Node, list[Node]] = {}
        chained = CHAINS in self._probes and not kinds.isdisjoint(_ACTIVATIONS)
        if SOFTMAX in kinds or CHAINS in self._probes:
            for node in nodes:
                for behind, _ in node.next_functions:
                    if behind is not None:
                        users.setdefault(behind, []).append(node)
        patterns: dict[str, Callable[[], Iterator[tuple[Node, dict[str, Any]]]]] = {
            AXES: lambda: softmaxes(nodes, users),
            CHAINS: lambda: (
                iter(whole)
                if (whole := [] if chained else [*_whole(start, owners, calls)])
                else chain(
                    chains(nodes, users, owners, calls),
                    convolutions_in_a_row(nodes, users, owners, calls),
                )
            ),
            NORMS: lambda: _norms(nodes),
            SIMILARITIES: lambda: _similarities(nodes),
            NORMED: lambda: _other_dimensions(nodes, owners, calls),
            MASKED: lambda: masked_shares(nodes, users),
            AFTER: lambda: scaled_shares(nodes, users),
            SHARP: lambda: sharp_scores(nodes),
            WEAK: lambda: weak_masks(nodes),
            SCALES: lambda: unequal_scales(nodes),
            NARROW: lambda: narrow_units(nodes),
            CHOICES: lambda: equal_choices(nodes),
            POOLED: lambda: _pooled(nodes, self._padded),
            DOUBLED: lambda: _doubled(nodes, owners, calls),
            CHANGED: lambda: self._changed(nodes, owners, calls),
            ENDS: lambda: iter(() if end is None else (end,)),
            ROTARY: lambda: misplaced_rotations(nodes, self._lengths),
        }
        for probe, rows in patterns.items():
            if probe in self._probes:
                self._note(probe, rows(), owners, calls)

    def _note(
        self,
        probe: str,
        rows: Iterator[tuple[Node, dict[str, Any]]],
        owners: NodeOwners,
        calls: dict[int, Call],
    ) -> None:
        for _ in range(_MOST):
            try:
                node, value = next(rows)
            except (StopIteration, RuntimeError):  # what a node saved was changed in place
                return
            name, index, (kind, place) = place_of(node, owners, calls)
            value = {**value, "module": kind, "place": place}
            self.measurements.append(Measurement(probe, name, index, value, None))


def _counts_positions(tensor: torch.Tensor) -> bool:
    """Return whether dimension 1 of an input may count the positions of a sequence."""
    if tensor.is_nested:
        return False
    return tensor.dim() == 3 or (tensor.dim() == 2 and not tensor.is_floating_point())


def _padded_positions(tensor: torch.Tensor) -> torch.Tensor | None:
    """Return which positions an input tells to be padding, if it is a mask of sequences.

    A mask has two values, of which each row begins with the same one, and ends with the other.
    """
    if tensor.is_nested or tensor.is_meta or tensor.dim() != 2 or tensor.is_complex():
        return None
    if min(tensor.shape) < 2 or not bool(((tensor == 0) | (tensor == 1)).all()):
        return None
    padded = tensor != tensor[0, 0]
    is_mask = not bool(padded[:, 0].any()) and bool((padded.int().diff(dim=1) >= 0).all())
    return padded if is_mask and int(padded.sum()) > _BY_CHANCE else None


def _cut_at_zero(outputs: list[torch.Tensor]) -> tuple[Node, dict[str, Any]] | None:
    """Return the layer directly before a ReLU or a clamp that makes the only output of a model."""
    if len(outputs) != 1 or outputs[0].is_meta:
        return None
    clamped = _clamped(outputs[0])
    if clamped is not None or outputs[0].dim() != 2 or outputs[0].shape[1] < 2:
        return clamped
    output, relu = outputs[0], outputs[0].grad_fn
    if relu is None or relu.name() != "ReluBackward0":
        return None
    layer: Node = relu.next_functions[0][0]
    zero = float((output.detach() == 0).double().mean())
    if layer is None or layer.name() not in LINEAR or zero < _OFTEN_ZERO:
        return None
    return layer, {"outputs": output.shape[1], "zero": zero}


def _clamped(output: torch.Tensor) -> tuple[Node, dict[str, Any]] | None:
    """Return the layer directly before a clamp to an interval, many results of which are ends."""
    clamp = output.grad_fn
    if clamp is None or clamp.name() not in {"ClampBackward1", "HardtanhBackward0"}:
        return None
    low = getattr(clamp, "_saved_min", getattr(clamp, "_saved_min_val", None))
    high = getattr(clamp, "_saved_max", getattr(clamp, "_saved_max_val", None))
    layer: Node = clamp.next_functions[0][0]
    if low is None or high is None or layer is None:
        return None
    if layer.name() not in LINEAR and layer.name() != "ConvolutionBackward0":
        return None
    plain = output.detach()
    ends = float(((plain <= low) | (plain >= high)).double().mean())
    found = {"outputs": output[0].numel() if output.dim() else 1, "zero": ends, "by": "clamp"}
    return (layer, found) if ends >= _OFTEN_ENDS else None


def _sums(start: torch.Tensor) -> Iterator[Node]:
    """Yield the sums of scalars that a loss consists of, one operand of which has no gradient."""
    todo = [start.grad_fn]
    for node in todo:  # grows meanwhile
        if node is None or len(todo) > _LONGEST * _LONGEST:
            continue
        name, shape = node.name(), shape_of_node(node)
        if shape is None or math.prod(shape) != 1 or name not in _SCALARS | SAME_VALUES:
            continue
        behind = [other for other, _ in node.next_functions]
        if name in {"AddBackward0", "SubBackward0"} and None in behind:
            yield node
        todo += behind


def _other_dimensions(
    nodes: list[Node], owners: NodeOwners, calls: dict[int, Call]
) -> Iterator[tuple[Node, dict[str, Any]]]:
    """Yield norms that do not normalise features, which the last dimension has.

    A layer norm that is written by hand averages over other dimensions than that of its weights.
    A BatchNorm1d gets [samples, positions, features] from a linear layer.
    """
    for node in nodes:
        if node.name() == "MeanBackward1":
            order = owners.of(node._sequence_nr())
            call = None if order is None else calls.get(order)
            if call is not None and {"layer", "norm"} <= _words(call.type):
                shape = [int(size) for size in node._saved_self_sym_sizes]
                dims = sorted(signed(dim) % len(shape) for dim in node._saved_dim)
                sizes = {one.numel() for one in call.module.parameters() if one.dim() == 1}
                reduced = {shape[dim] for dim in dims}
                if sizes == {shape[-1]} and len(shape) > 2 and dims and not sizes & reduced:
                    yield node, _normed(shape, dims, batch_norm=False)
        elif node.name() in BATCH_NORMS:
            shape = [*(shape_of_node(node) or ())]
            behind = node.next_functions[0][0]
            while behind is not None and behind.name() in VIEWS | _ACTIVATIONS:
                behind = behind.next_functions[0][0]
            if behind is None or behind.name() not in LINEAR or len(shape) != 3:
                continue
            if shape_of_node(behind) == (shape[0] * shape[1], shape[2]) and shape[1] != shape[2]:
                yield node, _normed(shape, [0, 2], batch_norm=True)


def _normed(shape: list[int], dims: list[int], *, batch_norm: bool) -> dict[str, Any]:
    return {
        "shape": shape, "dims": dims, "positions": shape[1], "features": shape[-1],
        "last": len(shape) - 1, "batch_norm": batch_norm,
    }  # fmt: skip


def _pooled(
    nodes: list[Node], padded: dict[tuple[int, int], torch.Tensor]
) -> Iterator[tuple[Node, dict[str, Any]]]:
    """Yield each mean over the tokens of an embedding of which some rows have padding.

    Also a mean over the positions of sequences, some of which the model got as `padded`.
    """
    for node in nodes:
        behind = node.next_functions[0][0] if node.name() == "MeanBackward1" else None
        sizes = [int(size) for size in node._saved_self_sym_sizes] if behind is not None else []
        if behind is None or len(sizes) != 3 or [signed(dim) % 3 for dim in node._saved_dim] != [1]:
            continue
        hidden = padded.get((sizes[0], sizes[1]))
        if behind.name() == "EmbeddingBackward0":
            ids, padding = behind._saved_indices, signed(behind._saved_padding_idx)
            if padding < 0 or ids.dim() != 2 or ids.is_meta:
                continue
            empty = ids == padding
            ends = any(bool((one.int().diff(dim=1) >= 0).all()) for one in (empty, empty.flip(1)))
            if ends and int(empty.sum()) > _BY_CHANCE:
                yield node, {"share": float(empty.double().mean()), "token": padding}
        elif hidden is not None and behind.name() != "MulBackward0":  # by the mask
            yield node, {"share": float(hidden.double().mean()), "token": None}


def _words(kind: str) -> set[str]:
    """Return which words of a layer norm are in the name of a class."""
    return {word for word in ("layer", "norm") if word in kind.lower()}


def _doubled(
    nodes: list[Node], owners: NodeOwners, calls: dict[int, Call]
) -> Iterator[tuple[Node, dict[str, Any]]]:
    """Yield each sum of a tensor and itself in the user's code, or of one that has it already."""
    for node in nodes:
        if not _is_sum(node):
            continue
        first, second = node.next_functions
        shape = shape_of_node(node)
        if first[0] is None or second[0] is None or shape is None or len(shape) < 2:
            continue
        is_again = _has_term(first, second, node, owners) or _has_term(second, first, node, owners)
        if first != second and not is_again:
            continue
        kind = place_of(node, owners, calls)[2][0]
        if kind is not None and not hasattr(nn, kind):
            yield node, {"shape": [*shape], "is_again": is_again}


def _is_sum(node: Node) -> bool:
    is_sum = node.name() == "AddBackward0" and len(node.next_functions) == 2
    return is_sum and float(node._saved_alpha) == 1


def _has_term(
    inner: tuple[Node, int], term: tuple[Node, int], outer: Node, owners: NodeOwners
) -> bool:
    """Return whether a term of a sum is itself a sum with the other term, in the same forward."""
    if not _is_sum(inner[0]) or term not in inner[0].next_functions:
        return False
    order = owners.of(outer._sequence_nr())
    return order is not None and order == owners.of(inner[0]._sequence_nr())


def _norms(nodes: list[Node]) -> Iterator[tuple[Node, dict[str, Any]]]:
    """Yield each norm over groups of one value."""
    for node in nodes:
        name = node.name()
        if name == _LAYER_NORM and math.prod(node._saved_normalized_shape) == 1:
            yield node, {"shape": [*(shape_of_node(node) or ())]}
        elif name == _GROUP_NORM:
            channels, size, groups = node._saved_C, node._saved_HxW, node._saved_group
            if int(channels) * int(size) == int(groups):
                yield node, {"shape": [*(shape_of_node(node) or ())]}


def _whole(
    start: torch.Tensor, owners: NodeOwners, calls: dict[int, Call]
) -> Iterator[tuple[Node, dict[str, Any]]]:
    """Yield the last layer of a model that computes one linear map."""
    found = linear_model(start)
    if found is not None:
        layers, hidden = found
        first = place_of(layers[-1], owners, calls)[0]
        count = len({id(weight_of(node)) for node in layers})
        yield layers[0], {"first": first, "hidden": hidden, "layers": count, "whole": True}


def _similarities(nodes: list[Node]) -> Iterator[tuple[Node, dict[str, Any]]]:
    """Yield each cross entropy of a matrix times its transpose, whose target is never the diagonal.

    In each row, the diagonal must be the largest value, so that it is the strongest negative.
    """
    for node in nodes:
        if node.name() != "NllLossBackward0":
            continue
        log_softmax = node.next_functions[0][0]
        product = None if log_softmax is None else _unscaled(log_softmax.next_functions[0][0])
        if product is None or product.name() != "MmBackward0":
            continue
        ours, theirs = product._saved_self, product._saved_mat2
        count = len(ours)
        alike = ours.data_ptr() == theirs.data_ptr() and ours.shape == theirs.t().shape
        target, logs = node._saved_target, node._saved_self
        if not alike or count < 3 or logs.shape != (count, count) or target.shape != (count,):
            continue
        itself = torch.arange(count, device=target.device)
        if bool((target != itself).all()) and bool((logs.argmax(1) == itself).all()):
            yield node, {"samples": count}


def _unscaled(node: Node | None) -> Node | None:
    """Return the node before products with numbers, and changes of shape and dtype."""
    for _ in range(_LONGEST):
        if node is None or node.name() not in SAME_VALUES | {"MulBackward0", "DivBackward0"}:
            return node
        node = node.next_functions[0][0]
    return None


def _is_half(node: Node) -> bool:
    described = getattr(node, "_input_metadata", None) or ()
    return any(one.dtype is torch.float16 for one in described[:1])


def observe(requests: Requests, spec: Spec) -> list[ProbeWatcher]:
    """Return the watcher of the graph; none if that would run a hook which unpacks a tensor."""
    if any(KINDS[hook.kind].pair for hook in spec.hooks):
        return []
    return [GraphPatterns([], tuple(request.name for request in requests))]
