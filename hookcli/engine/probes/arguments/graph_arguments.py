"""Dimensions that functions in the graph of a loss get, and that do not fit each other."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence

import torch

from hookcli.engine.probes.arguments import operator_arguments
from hookcli.engine.probes.arguments.attention_arguments import fused_attentions, masked_weights
from hookcli.engine.probes.trainability.loss_graph import (
    SAME_VALUES,
    Found,
    Node,
    behind,
    dimension_of,
    shape_of_node,
    signed,
)
from hookcli.engine.probes.trainability.patterns.linear_maps import BATCH_NORMS
from hookcli.engine.probes.trainability.unregistered import leaves_behind
from hookcli.refusals import raise_if_external

Heads = Callable[[Node], set[int]]

_SOFTMAX = ("SoftmaxBackward0", "SafeSoftmaxBackward0")
_ATTENTION, _FILL = "ScaledDotProduct", "MaskedFillBackward0"
_SUMS = {"AddBackward0", "SubBackward0"}
_PRODUCTS = {"BmmBackward0", "UnsafeViewBackward0"}
_ONWARDS = {"DivBackward0", "MulBackward0", "AddBackward0"}  # from a mask to its softmax
_OFFSETS = {"AddBackward0", "ClampMinBackward0", "ClampBackward1", "ExpandBackward0"}
_AVERAGES = ("MeanBackward1", "SumBackward1")
_LONGEST = 6  # nodes of a path
_LARGEST = 1 << 22  # elements of a mask


def constant_masks(nodes: Sequence[Node]) -> Iterator[Found]:
    """Yield the softmaxes of masked scores whose mask is the same along the softmax's dimension.

    Then it hides a row as a whole, which changes no share.
    """
    for node in nodes:
        if node.name() not in _SOFTMAX:
            continue
        shape, fill = node._saved_result.shape, _before(node, {_FILL}, _ONWARDS)
        mask = None if fill is None else fill._saved_mask
        if mask is None or not 0 < mask.numel() <= _LARGEST or mask.is_meta:
            continue
        dim = dimension_of(node) % max(1, len(shape))
        at = dim - len(shape) + mask.dim()  # in the mask, which may have fewer dimensions
        if shape[dim] < 2 or not bool(mask.any()) or bool(mask.all()):
            continue
        if at < 0 or bool((mask.any(at) == mask.all(at)).all()):
            yield node, "constant_mask", {"shape": [*shape], "mask": [*mask.shape], "dim": dim}


def _before(node: Node, ends: set[str], through: set[str]) -> Node | None:
    """Return the nearest node with one of these names behind a node, only `through` others."""
    current = behind(node)
    for _ in range(_LONGEST):
        if current is None or current.name() in ends:
            return current
        if current.name() not in through:
            return None
        current = behind(current)
    return None


def attention_among_heads(nodes: Sequence[Node], heads: Heads) -> Iterator[Found]:
    """Yield attentions whose positions are heads: [batch, positions, heads, size].

    `heads` returns the numbers of heads that the module of a node has.
    """
    for node in nodes:
        name = node.name()
        if name.startswith(_ATTENTION):
            shape = [*node._saved_query.shape]
            at = shape[-2] if len(shape) == 4 else 0
        elif name in _SOFTMAX:
            shape = [*node._saved_result.shape]
            if (
                len(shape) != 4
                or shape[-1] != shape[-2]
                or (_before(node, _PRODUCTS, _ONWARDS | {_FILL}) is None)
            ):
                continue
            at = shape[-1]
        else:
            continue
        if at > 1 and at in heads(node) and shape[1] != at:
            yield node, "heads", {"heads": at, "positions": shape[1], "shape": shape}


def mixture_dimensions(nodes: Sequence[Node]) -> Iterator[Found]:
    """Yield sums of probabilities, by logsumexp, with weights that add up to 1 over another dim."""
    for node in nodes:
        if node.name() != "LogsumexpBackward0":
            continue
        terms = node._saved_self
        dims = {signed(int(dim)) % terms.dim() for dim in node._saved_dim}
        total = node.next_functions[0][0]
        if total is None or total.name() not in _SUMS or len(dims) != 1:
            continue
        for term, _ in total.next_functions:
            if term is None or term.name() != "LogSoftmaxBackward0":
                continue
            dim = dimension_of(term) % term._saved_result.dim()
            if term._saved_result.shape == terms.shape and dim not in dims:
                yield node, "mixture", {"summed": min(dims), "normalized": dim}


def whole_norms(nodes: Sequence[Node], samples: int) -> Iterator[Found]:
    """Yield batches that are divided by one norm of all their samples."""
    for node in nodes:
        if node.name() != "DivBackward0" or len(node.next_functions) < 2 or samples < 2:
            continue
        (given, number), (divisor, _) = node.next_functions[:2]
        for _ in range(_LONGEST):
            if divisor is None or divisor.name() not in _OFFSETS | SAME_VALUES:
                break
            divisor = divisor.next_functions[0][0]
        if divisor is None or divisor.name() != "LinalgVectorNormBackward0":
            continue
        dims, shape = divisor._saved_dim, divisor._saved_self.shape
        is_whole = dims is None or len({signed(dim) % len(shape) for dim in dims}) == len(shape)
        is_batch = len(shape) > 1 and shape[0] == samples
        if is_whole and is_batch and divisor.next_functions[0] == (given, number):
            yield node, "whole_norm", {"shape": [*shape]}


def joined_samples(nodes: Sequence[Node], samples: int) -> Iterator[Found]:
    """Yield what different layers return of the same samples, joined along the samples."""
    for node in nodes:
        if node.name() != "CatBackward0" or samples < 2:
            continue
        shape, parts = shape_of_node(node), [one for one, _ in node.next_functions]
        if shape is None or len(shape) < 2 or len(parts) < 2 or dimension_of(node) % len(shape):
            continue
        shapes = [None if one is None else shape_of_node(one) for one in parts]
        if any(one is None or one[:1] != (samples,) for one in shapes):
            continue
        weights = [{id(leaf) for leaf, _ in leaves_behind(one)} for one in parts]
        apart = all(own for own in weights)
        apart &= len(set().union(*weights)) == sum(len(own) for own in weights)
        if apart:
            yield node, "joined_samples", {
                "parts": len(parts), "shape": [*(shapes[0] or ())], "rows": shape[0]
            }  # fmt: skip


def constant_averages(nodes: Sequence[Node]) -> Iterator[Found]:
    """Yield averages over what was normalized over the same positions: they are constant.

    An instance norm has mean 0 over the positions of each channel, and its bias with affine=True. A
    softmax adds up to 1.
    """
    for node in nodes:
        if node.name() not in _AVERAGES:
            continue
        source, shape = behind(node), tuple(map(int, node._saved_self_sym_sizes))
        dims = {signed(int(dim)) % len(shape) for dim in node._saved_dim or range(len(shape))}
        if source is None:
            continue
        if source.name() in _SOFTMAX:
            result = source._saved_result
            dim = dimension_of(source) % max(1, result.dim())
            # With keepdim=True, shares are divided by it, as torch.distributions does.
            is_alone = not node._saved_keepdim and tuple(result.shape) == shape
            if is_alone and shape[dim] > 1 and dim in dims:
                yield node, "constant_average", {"of": "softmax", "shape": [*shape]}
            continue
        averaged = math.prod(shape[dim] for dim in dims if dim > 1)
        if averaged > 1 and averaged == _instance_size(source, shape):
            yield node, "constant_average", {"of": "instance norm", "shape": [*shape]}


def _instance_size(node: Node, shape: Sequence[int]) -> int:
    """Return over how many positions an instance norm normalizes; 0 if it is none."""
    if len(shape) < 3:
        return 0
    name, (samples, channels) = node.name(), shape[:2]
    if name == "NativeGroupNormBackward0" and node._saved_group == node._saved_C == channels:
        return int(node._saved_HxW)
    if name not in BATCH_NORMS or not getattr(node, "_saved_training", True):
        return 0
    given = tuple(node._saved_input.shape)  # F.instance_norm joins samples and channels
    is_instance = given[0] == 1 and samples > 1 and given[1] == samples * channels
    return math.prod(given[2:]) if is_instance else 0


def in_graph(nodes: Sequence[Node], heads: Heads, samples: int) -> Iterator[Found]:
    """Yield all that is found; what cannot be read, as it was changed in place, is left out."""
    for rows in (
        constant_masks(nodes),
        attention_among_heads(nodes, heads),
        mixture_dimensions(nodes),
        whole_norms(nodes, samples),
        joined_samples(nodes, samples),
        constant_averages(nodes),
        fused_attentions(nodes),
        masked_weights(nodes),
        *(look(nodes) for look in operator_arguments.LOOKS),
    ):
        while True:
            try:
                found = next(rows, None)
            except RuntimeError as error:
                raise_if_external(error)
                break
            if found is None:
                break
            yield found


def number_of_samples(tensors: Sequence[torch.Tensor]) -> int:
    """Return the size of dimension 0 that all inputs with dimensions have; 0 if they differ."""
    sizes = {int(one.shape[0]) for one in tensors if one.dim() and not one.is_nested}
    return sizes.pop() if len(sizes) == 1 else 0
