"""Patterns in the autograd graph of a loss that show a mistake: no further forward is needed.

`softmax_axes`: a softmax over another dimension than the one that a product sums over, or over one
element. `linear_chains`: two linear layers with nothing in between. `single_norms`: norms over one
value. `loss_sums`: sums in the loss of which one term has no gradient. `custom_functions`: autograd
Functions of the user. `self_similarities`: losses over the products of all samples with each other
that include each sample with itself. `masked_shares`: shares of a softmax that are masked
afterwards. `self_sums`: sums of a tensor and itself. `changed_shortcuts`: sums with the input of a
block that an activation has changed in place. `half_values`: operators whose result is float16.
`norm_dimensions`: norms over other dimensions than that of the features.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
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
    dimension_of,
    nodes_behind,
    place_of,
)
from hookcli.models.model import Call, CallInputs, Model
from hookcli.report.findings import Measurement
from hookcli.spec.request import Spec

AXES, CHAINS, NORMS, SUMS = "softmax_axes", "linear_chains", "single_norms", "loss_sums"
FUNCTIONS, SIMILARITIES = "custom_functions", "self_similarities"
MASKED, DOUBLED, CHANGED = "masked_shares", "self_sums", "changed_shortcuts"
HALF, NORMED = "half_values", "norm_dimensions"
_SOFTMAX, _LAYER_NORM, _GROUP_NORM = (
    "SoftmaxBackward0", "NativeLayerNormBackward0", "NativeGroupNormBackward0",
)  # fmt: skip
_PRODUCTS = {"BmmBackward0", "MmBackward0"}
_LINEAR = {"AddmmBackward0": (1, 2), "MmBackward0": (0, 1)}  # the arguments: input, weight
# A model without any is linear on purpose.
_ACTIVATIONS = {
    f"{name}Backward0"
    for name in ("Relu", "Gelu", "Silu", "Tanh", "Sigmoid", "Elu", "LeakyRelu", "Softplus",
                 "Hardswish", "Mish", "Hardtanh", "Prelu", "LogSigmoid")
}  # fmt: skip
_VIEWS = {
    "ViewBackward0", "UnsafeViewBackward0", "ReshapeAliasBackward0", "ExpandBackward0",
    "CloneBackward0", "ToCopyBackward0", "AliasBackward0", "UnsqueezeBackward0",
    "SqueezeBackward1",
}  # fmt: skip
_MOVES = {"PermuteBackward0", "TransposeBackward0", "TBackward0"}
# Between the scores of an attention and its softmax, and between the softmax and the product.
_SCALED = {"MulBackward0", "DivBackward0", "AddBackward0", "MaskedFillBackward0", "WhereBackward0"}
_MASKED = {"MulBackward0", "DivBackward0", "NativeDropoutBackward0"}
_SCALARS = {"AddBackward0", "SubBackward0", "MulBackward0", "DivBackward0", "NegBackward0"}
_LONGEST = 20  # nodes of a path
_LARGEST = 2**22  # elements of a softmax that is looked at
_MOST = 5  # findings of one kind
_NORMALISED = 1e-3  # how far the sum of shares may be from 1


class GraphPatterns(GraphWatcher):
    """Looks for patterns in the graph of the loss."""

    def begin(self, model: Model) -> None:
        """Forget an earlier run."""
        super().begin(model)
        self._given: dict[int, int] = {}  # the first input of each call that runs, by its order
        self._replaced: dict[Node, tuple[Call, list[int]]] = {}  # by activations in place

    def enter(self, call: Call, batch: CallInputs) -> None:
        """Note the input of a call."""
        super().enter(call, batch)
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
        if FUNCTIONS in self._probes and (found := functions_of(nodes)):
            self.measurements.append(Measurement(FUNCTIONS, "", None, len(found), None))
        if HALF in self._probes and (halves := sum(_is_half(node) for node in nodes)):
            self.measurements.append(Measurement(HALF, "", None, halves, None))
        kinds = {node.name() for node in nodes}
        users: dict[Node, list[Node]] = {}
        chained = CHAINS in self._probes and not kinds.isdisjoint(_ACTIVATIONS)
        if _SOFTMAX in kinds or chained:
            for node in nodes:
                for behind, _ in node.next_functions:
                    if behind is not None:
                        users.setdefault(behind, []).append(node)
        patterns: dict[str, Callable[[], Iterator[tuple[Node, dict[str, Any]]]]] = {
            AXES: lambda: _softmaxes(nodes, users),
            CHAINS: lambda: _chains(nodes if chained else [], users, owners, calls),
            NORMS: lambda: _norms(nodes),
            SIMILARITIES: lambda: _similarities(nodes),
            NORMED: lambda: _other_dimensions(nodes, owners, calls),
            MASKED: lambda: _masked_shares(nodes, users),
            DOUBLED: lambda: _doubled(nodes, owners, calls),
            CHANGED: lambda: self._changed(nodes, owners, calls),
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


def _sums(start: torch.Tensor) -> Iterator[Node]:
    """Yield the sums of scalars that a loss consists of, one operand of which has no gradient."""
    todo = [start.grad_fn]
    for node in todo:  # grows meanwhile
        if node is None or len(todo) > _LONGEST * _LONGEST:
            continue
        name, shape = node.name(), _shape(node)
        if shape is None or math.prod(shape) != 1 or name not in _SCALARS | SAME_VALUES:
            continue
        behind = [other for other, _ in node.next_functions]
        if name in {"AddBackward0", "SubBackward0"} and None in behind:
            yield node
        todo += behind


def _softmaxes(
    nodes: list[Node], users: dict[Node, list[Node]]
) -> Iterator[tuple[Node, dict[str, Any]]]:
    """Yield each softmax whose shares do not sum to 1 in the product that uses them."""
    for node in nodes:
        if node.name() != _SOFTMAX:
            continue
        result, dim = node._saved_result.detach(), dimension_of(node)
        dim = dim % max(1, result.dim())
        if result.dim() and result.shape[dim] == 1 and _is_one_unit(node):
            value = {"dim": dim, "shape": [*result.shape], "summed": None}
            yield node, value
            continue
        if 0 < result.numel() <= _LARGEST and result.shape[dim] > 1 and _are_scores(node):
            summed = _summed(node, result, dim, users)
            if summed is not None:
                yield node, {"dim": dim, "shape": [*result.shape], "summed": summed}


def _is_one_unit(softmax: Node) -> bool:
    """Return whether a layer with one unit made the dimension of size 1 that is normalised."""
    node, _ = softmax.next_functions[0]
    while node is not None and node.name() in _VIEWS:
        node = node.next_functions[0][0]
    shape = None if node is None else _shape(node)
    return shape is not None and shape[-1:] == (1,) and node.name() in _LINEAR


def _are_scores(softmax: Node) -> bool:
    """Return whether a softmax gets products of two computed values, as queries and keys are."""
    node = softmax.next_functions[0][0]
    for _ in range(_LONGEST):
        if node is None:
            return False
        name = node.name()
        if name in {*_PRODUCTS, "BaddbmmBackward0"}:
            given = [behind for behind, _ in node.next_functions[-2:]]
            return all(one is not None and not _is_parameter(one) for one in given)
        if name not in SAME_VALUES | _VIEWS | _MOVES | _SCALED:
            return False
        graded = [behind for behind, _ in node.next_functions if behind is not None]
        if not graded:
            return False
        node = graded[0]
    return False


def _is_parameter(node: Node) -> bool:
    while node is not None and node.name() in SAME_VALUES | _VIEWS | _MOVES:
        node = node.next_functions[0][0]
    return node is not None and hasattr(node, "variable")


def _summed(
    softmax: Node, shares: torch.Tensor, dim: int, users: dict[Node, list[Node]]
) -> int | None:
    """Return the dimension that a product sums over, if the shares do not sum to 1 along it.

    None if they do, or if that is not known: they are used otherwise too, as to divide by their
    sum, or the other factor is normalised.
    """
    path: list[tuple[Node, Node]] = []
    node, moved = softmax, shares
    for _ in range(_LONGEST):
        behind, after = node, users.get(node, [])
        if len(after) != 1:
            return None
        (node,) = after
        if node.name() in _PRODUCTS:
            at = _position(node, behind)
            if at is None or bool(((moved.sum(at) - 1).abs() < _NORMALISED).all()):
                return None
            return next((i for i in range(shares.dim()) if _varies(i, shares, path, at)), None)
        path.append((node, behind))
        replayed = _replayed(node, behind, moved)
        if replayed is None:
            return None
        moved = replayed
    return None


def _position(product: Node, behind: Node) -> int | None:
    """Return the dimension of a factor that a product sums over; None if the other is normalised.

    The weights of a chain of two attentions sum to 1 only after both.
    """
    given = [other for other, _ in product.next_functions]
    if given.count(behind) != 1 or None in given:
        return None
    position = given.index(behind)
    return None if _is_normalised(given[1 - position]) else -1 - position


def _varies(dim: int, shares: torch.Tensor, path: list[tuple[Node, Node]], at: int) -> bool:
    """Return whether the elements of a dimension of a softmax lie along one of its moved result."""
    view = [-1 if i == dim else 1 for i in range(shares.dim())]
    mark: torch.Tensor | None = torch.arange(shares.shape[dim]).view(view).expand(shares.shape)
    for node, behind in path:
        mark = None if mark is None else _replayed(node, behind, mark)
    return mark is not None and mark.shape[at] > 1 and bool((mark.diff(dim=at) != 0).any())


def _replayed(node: Node, behind: Node, tensor: torch.Tensor) -> torch.Tensor | None:
    """Return a tensor after an operator that only moves elements; None if it does more."""
    name, shape = node.name(), _shape(node)
    if shape is None:
        return None
    if name in _MASKED:
        others = [other for other, _ in node.next_functions if other is not behind]
        return tensor if others in ([None], []) and shape == tensor.shape else None
    if name == "ExpandBackward0":
        return tensor.expand(shape)
    if name in _VIEWS:
        return tensor.reshape(shape)
    if name == "PermuteBackward0":
        return tensor.permute([_signed(dim) for dim in node._saved_dims])
    if name == "TransposeBackward0":
        return tensor.transpose(_signed(node._saved_dim0), _signed(node._saved_dim1))
    return tensor.t() if name == "TBackward0" else None


def _is_normalised(node: Node) -> bool:
    """Return whether a factor is the result of another softmax."""
    for _ in range(_LONGEST):
        if node is None or node.name() == _SOFTMAX:
            return node is not None
        if node.name() not in _VIEWS | _MOVES | _MASKED:
            return False
        node = node.next_functions[0][0]
    return False


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
                dims = sorted(_signed(dim) % len(shape) for dim in node._saved_dim)
                sizes = {one.numel() for one in call.module.parameters() if one.dim() == 1}
                reduced = {shape[dim] for dim in dims}
                if sizes == {shape[-1]} and len(shape) > 2 and dims and not sizes & reduced:
                    yield node, {"shape": shape, "dims": dims, "batch_norm": False}
        elif node.name() == "NativeBatchNormBackward0":
            shape = [*(_shape(node) or ())]
            behind = node.next_functions[0][0]
            while behind is not None and behind.name() in _VIEWS | _ACTIVATIONS:
                behind = behind.next_functions[0][0]
            if behind is None or behind.name() not in _LINEAR or len(shape) != 3:
                continue
            if _shape(behind) == (shape[0] * shape[1], shape[2]) and shape[1] != shape[2]:
                yield node, {"shape": shape, "dims": [0, 2], "batch_norm": True}


def _words(kind: str) -> set[str]:
    """Return which words of a layer norm are in the name of a class."""
    return {word for word in ("layer", "norm") if word in kind.lower()}


def _masked_shares(
    nodes: list[Node], users: dict[Node, list[Node]]
) -> Iterator[tuple[Node, dict[str, Any]]]:
    """Yield each mask of the shares of a softmax after which the rows no longer sum to 1."""
    for node in nodes:
        if node.name() != _SOFTMAX or not 0 < node._saved_result.numel() <= _LARGEST:
            continue
        if not _are_scores(node):  # a router that leaves out experts
            continue
        shares, dim, behind = node._saved_result.detach(), dimension_of(node), node
        for _ in range(_LONGEST):
            after = users.get(behind, [])
            if len(after) != 1 or after[0].name() not in _VIEWS | {"NativeDropoutBackward0"}:
                break
            (behind,) = after
        after = users.get(behind, [])
        kept = _kept(after[0], behind) if len(after) == 1 else None
        if kept is None or not _is_summed(after[0], users):
            continue
        left = (shares * kept.expand_as(shares)).sum(dim)
        some = (left > _NORMALISED) & (left < 1 - _NORMALISED)
        if bool(some.any()):
            value = {"rows": int(some.sum()), "of": left.numel(), "shape": [*shares.shape]}
            yield after[0], value


def _kept(node: Node, shares: Node) -> torch.Tensor | None:
    """Return which shares a mask of 0 and 1, or a masked_fill, leaves; None if it is neither."""
    if node.name() == "MaskedFillBackward0":
        return torch.logical_not(node._saved_mask)
    given = [other for other, _ in node.next_functions]
    if node.name() != "MulBackward0" or given.count(None) != 1 or shares not in given:
        return None
    mask = node._saved_other if given[0] is shares else node._saved_self
    if mask is None or mask.numel() < 2 or not bool(((mask == 0) | (mask == 1)).all()):
        return None
    return mask.bool() if bool((mask == 0).any()) else None


def _is_summed(node: Node, users: dict[Node, list[Node]]) -> bool:
    """Return whether only a product uses a result, so that nothing normalises it again."""
    for _ in range(_LONGEST):
        after = users.get(node, [])
        if len(after) != 1:
            return False
        (node,) = after
        if node.name() in _PRODUCTS:
            return True
        if node.name() not in _VIEWS | _MOVES | {"NativeDropoutBackward0"}:
            return False
    return False


def _doubled(
    nodes: list[Node], owners: NodeOwners, calls: dict[int, Call]
) -> Iterator[tuple[Node, dict[str, Any]]]:
    """Yield each sum of a tensor and itself in the user's code."""
    for node in nodes:
        if node.name() != "AddBackward0" or len(node.next_functions) != 2:
            continue
        first, second = node.next_functions
        shape = _shape(node)
        if first[0] is None or first != second or shape is None or len(shape) < 2:
            continue
        kind = place_of(node, owners, calls)[2][0]
        if kind is not None and not hasattr(nn, kind) and float(node._saved_alpha) == 1:
            yield node, {"shape": [*shape]}


def _chains(
    nodes: list[Node], users: dict[Node, list[Node]], owners: NodeOwners, calls: dict[int, Call]
) -> Iterator[tuple[Node, dict[str, Any]]]:
    """Yield each nn.Linear that only another nn.Linear feeds, if that is no bottleneck."""
    for node in nodes:
        argument, weight = _LINEAR.get(node.name(), (0, 0))
        if not weight:
            continue
        before = node.next_functions[argument][0]
        while before is not None and before.name() in _VIEWS and len(users[before]) == 1:
            before = before.next_functions[0][0]
        if before is None or before.name() not in _LINEAR or len(users[before]) != 1:
            continue
        first, second = (_weight(one) for one in (before, node))
        kinds = [place_of(one, owners, calls) for one in (before, node)]
        if first is None or second is None or any(kind[2][0] != "Linear" for kind in kinds):
            continue
        hidden, narrow = first.shape[0], min(first.shape[1], second.shape[0])
        if hidden >= narrow and second.shape[1] == hidden and first is not second:
            yield node, {"first": kinds[0][0], "hidden": hidden}


def _weight(node: Node) -> torch.Tensor | None:
    """Return the trainable weight of a linear layer."""
    behind = node.next_functions[_LINEAR[node.name()][1]][0]
    while behind is not None and behind.name() in {"TBackward0", "TransposeBackward0"}:
        behind = behind.next_functions[0][0]
    variable = getattr(behind, "variable", None)
    return variable if variable is not None and variable.dim() == 2 else None


def _norms(nodes: list[Node]) -> Iterator[tuple[Node, dict[str, Any]]]:
    """Yield each norm over groups of one value."""
    for node in nodes:
        name = node.name()
        if name == _LAYER_NORM and math.prod(node._saved_normalized_shape) == 1:
            yield node, {"shape": [*(_shape(node) or ())]}
        elif name == _GROUP_NORM:
            channels, size, groups = node._saved_C, node._saved_HxW, node._saved_group
            if int(channels) * int(size) == int(groups):
                yield node, {"shape": [*(_shape(node) or ())]}


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


def _shape(node: Node) -> tuple[int, ...] | None:
    described = getattr(node, "_input_metadata", None)
    return None if not described else tuple(int(size) for size in described[0].shape)


def _is_half(node: Node) -> bool:
    described = getattr(node, "_input_metadata", None) or ()
    return any(one.dtype is torch.float16 for one in described[:1])


def _signed(dim: int) -> int:
    return dim - 2**64 if dim >= 2**63 else dim  # torch reads a negative one as unsigned


def observe(requests: Requests, spec: Spec) -> list[ProbeWatcher]:
    """Return the watcher of the graph; none if that would run a hook which unpacks a tensor."""
    if any(KINDS[hook.kind].pair for hook in spec.hooks):
        return []
    return [GraphPatterns([], tuple(request.name for request in requests))]
