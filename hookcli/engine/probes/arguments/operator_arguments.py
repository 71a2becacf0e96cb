"""Indices, dimensions and signs of operators in the graph of a loss that do not fit."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import torch

from hookcli.engine.probes.trainability.loss_graph import (
    Found,
    Node,
    behind,
    dimension_of,
    shape_of_node,
    signed,
)
from hookcli.hooks.attach.graph import saved_tensor

_LARGEST = 1 << 22  # elements of a tensor that is read
_SAME = 1e-3  # relative: a scale in half precision
_LONGEST = 6  # nodes of a path
_SOFTMAX = ("SoftmaxBackward0", "SafeSoftmaxBackward0", "LogSoftmaxBackward0")
_SCALED = {"DivBackward0", "MulBackward0"}
_CONVOLUTION = "ConvolutionBackward0"
_OF_SELF = {"mean", "prod", "amin"}  # reductions that zeros of the target change
_REDUCTIONS = {
    "SumBackward1": "sum", "MeanBackward1": "mean", "AmaxBackward0": "amax",
    "AminBackward0": "amin", "StdBackward0": "std", "VarBackward0": "var",
    "LogsumexpBackward0": "logsumexp", "LinalgVectorNormBackward0": "norm",
}  # fmt: skip
_ONE_LESS = "RsubBackward1"
_ONES_LESS = {_ONE_LESS, "AddBackward0", "ClampMinBackward0", "ClampBackward1"}


def crossed_indices(nodes: Sequence[Node]) -> Iterator[Found]:
    """Yield x[:, index] with an index for each sample, which is read for all samples."""
    for node in nodes:
        if node.name() != "IndexBackward0" or len(node._saved_indices) < 2:
            continue
        first, index = node._saved_indices[:2]
        shape = tuple(map(int, node._saved_self_sym_sizes))
        if first is not None or index is None or index.dim() != 2 or index.dtype is torch.bool:
            continue
        given = node.next_functions[0][0]  # a parameter, as a table of biases, has no samples
        is_batch = given is not None and not given.name().endswith("AccumulateGrad")
        if is_batch and len(index) == shape[0] > 1 and not bool((index == index[:1]).all()):
            made = [shape[0], *index.shape, *shape[2:]]
            yield node, "crossed_index", {
                "shape": [*shape], "index": [*index.shape], "result": made
            }  # fmt: skip


def own_transmittances(nodes: Sequence[Node]) -> Iterator[Found]:
    """Yield the products of an opacity a and cumprod(1 - a), in which each a is counted too."""
    for node in nodes:
        if node.name() != "MulBackward0":
            continue
        for argument in (0, 1):
            product, opacity = behind(node, argument), behind(node, 1 - argument)
            if product is None or opacity is None or product.name() != "CumprodBackward0":
                continue
            source, is_rest = behind(product), False
            for _ in range(_LONGEST):
                if source is None or source.name() not in _ONES_LESS or source == opacity:
                    break
                is_rest |= source.name() == _ONE_LESS
                source = behind(source)
            if is_rest and source is not None and source == opacity:
                yield node, "own_transmittance", {"shape": [*product._saved_self.shape]}


def distance_signs(nodes: Sequence[Node]) -> Iterator[Found]:
    """Yield the softmaxes of distances without a minus: the farthest has the largest weight."""
    for node in nodes:
        if node.name() not in _SOFTMAX:
            continue
        source = behind(node)
        while source is not None and source.name() in _SCALED and _factor(source) > 0:
            source = behind(source)
        if source is not None and _is_distance(source):
            yield node, "distance_sign", {"shape": [*node._saved_result.shape]}


def _factor(node: Node) -> float:
    """Return the number by which a node multiplies or divides; 0 if it is a tensor."""
    other = saved_tensor(node, "other")
    return float(other) if other is not None and other.numel() == 1 and not other.is_meta else 0.0


def _is_distance(node: Node) -> bool:
    name = node.name()
    if name in {"CdistBackward0", "EuclideanDistBackward0"}:
        return True
    if name == "SqrtBackward0":
        inner = behind(node)
        return inner is not None and _is_distance(inner)
    if name == "LinalgVectorNormBackward0":
        return _is_difference(behind(node))
    if name in {"SumBackward1", "MeanBackward1"}:
        power = behind(node)
        if power is not None and power.name() == "AbsBackward0":
            return _is_difference(behind(power))
        if power is None or power.name() != "PowBackward0" or power._saved_exponent != 2:
            return False
        return _is_difference(behind(power))
    return False


def _is_difference(node: Node | None) -> bool:
    return node is not None and node.name() == "SubBackward0"


def glued_positions(nodes: Sequence[Node]) -> Iterator[Found]:
    """Yield GLUs of what a convolution returns that split its positions, and not its channels."""
    for node in nodes:
        if node.name() != "GluBackward0":
            continue
        given = node._saved_self
        dim = dimension_of(node) % max(1, given.dim())
        made = node.next_functions[0][0]
        if made is not None and made.name() == _CONVOLUTION and dim > 1:
            yield node, "glu_positions", {"dim": dim, "shape": [*given.shape]}


def kept_zeros(nodes: Sequence[Node]) -> Iterator[Found]:
    """Yield scatter_reduce into zeros with include_self=True, which counts the zeros."""
    for node in nodes:
        if node.name() != "ScatterReduceBackward0" or not node._saved_include_self:
            continue
        target = node._saved_self
        is_fresh = node.next_functions[0][0] is None and not target.is_meta
        if node._saved_reduce in _OF_SELF and is_fresh and not bool(target.any()):
            yield node, "kept_zeros", {"reduce": node._saved_reduce}


def lost_duplicates(nodes: Sequence[Node]) -> Iterator[Found]:
    """Yield `out[index] += value` with an index that has an entry twice: one of both is lost."""
    for node in nodes:
        if node.name() != "IndexPutBackward0" or node._saved_accumulate:
            continue
        indices = [one for one in node._saved_indices if one is not None]
        added = node.next_functions[1][0] if len(node.next_functions) > 1 else None
        if len(indices) != 1 or added is None or added.name() != "AddBackward0":
            continue
        index = indices[0]
        if index.dtype is torch.bool or index.is_meta or not 1 < index.numel() <= _LARGEST:
            continue
        if _reads_at(added, index) or added.next_functions[0][0] is None:
            different = len(torch.unique(index))
            if different < index.numel():
                found = {"indices": index.numel(), "different": different}
                yield node, "lost_duplicates", found


def _reads_at(added: Node, index: torch.Tensor) -> bool:
    """Return whether the first term of a sum was read at the same index."""
    first = added.next_functions[0][0]
    if first is None or first.name() != "IndexBackward0":
        return False
    read = [one for one in first._saved_indices if one is not None]
    return len(read) == 1 and read[0].shape == index.shape and torch.equal(read[0], index)


def torn_rows(nodes: Sequence[Node]) -> Iterator[Found]:
    """Yield sorts of the positions of vectors, which order each of their columns by itself."""
    for node in nodes:
        if node.name() != "SortBackward0":
            continue
        shape = tuple(map(int, node._saved_self_sym_sizes))
        dim, order = dimension_of(node) % max(1, len(shape)), node._saved_indices
        if len(shape) != 3 or dim != 1 or not 1 < shape[2] <= 16 or order.is_meta:
            continue
        if not bool((order == order[..., :1]).all()):
            yield node, "torn_rows", {"shape": [*shape]}


def unscaled_folds(nodes: Sequence[Node]) -> Iterator[Found]:
    """Yield folds of patches that overlap, whose sums nothing divides or weighs."""
    scaled = {edge for node in nodes if node.name() in _SCALED for edge, _ in node.next_functions}
    for node in nodes:
        if node.name() != "Col2ImBackward0" or node in scaled:
            continue
        size, stride = tuple(node._saved_kernel_size), tuple(node._saved_stride)
        dilated = tuple(node._saved_dilation)
        if any(dilation != 1 for dilation in dilated):
            continue
        overlaps = math.prod(math.ceil(s / t) for s, t in zip(size, stride, strict=True))
        patches = behind(node)
        if overlaps > 1 and (patches is None or patches.name() not in _SCALED):
            yield node, "unscaled_fold", {
                "size": [*size], "stride": [*stride], "overlaps": overlaps
            }  # fmt: skip


def scaled_biases(nodes: Sequence[Node]) -> Iterator[Found]:
    """Yield baddbmm with the scale of an attention as beta, which is that of what is added."""
    for node in nodes:
        if node.name() not in {"BaddbmmBackward0", "AddbmmBackward0"}:
            continue
        shape = shape_of_node(node)
        first = saved_tensor(node, "batch1")
        if shape is None or first is None or node._saved_alpha != 1:
            continue
        size, beta = int(first.shape[-1]), float(node._saved_beta)
        if size > 1 and math.isclose(beta, 1 / math.sqrt(size), rel_tol=_SAME):
            yield node, "scaled_bias", {"beta": beta, "size": size}


def single_norms(nodes: Sequence[Node]) -> Iterator[Found]:
    """Yield divisions by a norm over one element, which leave a sign only."""
    for node in nodes:
        if node.name() != "DivBackward0" or len(node.next_functions) < 2:
            continue
        divisor = node.next_functions[1][0]
        while divisor is not None and divisor.name() in {"ExpandBackward0", "ClampMinBackward0"}:
            divisor = divisor.next_functions[0][0]
        if divisor is None or divisor.name() != "LinalgVectorNormBackward0":
            continue
        given, dims = divisor._saved_self, divisor._saved_dim
        if dims is None or divisor.next_functions[0] != node.next_functions[0]:
            continue
        shape = tuple(given.shape)
        over = [signed(int(dim)) % len(shape) for dim in dims] if shape else []
        if over and given.numel() > 1 and all(shape[dim] == 1 for dim in over):
            yield node, "single_norm", {"dim": over[0], "shape": [*shape]}


def broadcast_similarities(nodes: Sequence[Node]) -> Iterator[Found]:
    """Yield cosine similarities over a dimension in which one tensor has a single value.

    It is repeated there, and its norm is that of copies of one number.
    """
    for node in nodes:
        product = behind(node) if node.name() == "SumBackward1" else None
        dims: tuple[int, ...] = node._saved_dim if product is not None else ()
        shape = _shape_before(node)
        if product is None or product.name() != "MulBackward0" or len(dims) != 1 or not shape:
            continue
        dim = signed(int(dims[0])) % len(shape)
        factors = [behind(product, 0), behind(product, 1)]
        if any(one is None or one.name() != "DivBackward0" for one in factors):
            continue
        given = [_shape_of_expanded(behind(one)) for one in factors if one is not None]
        if shape[dim] > 1 and 1 in [one[dim] for one in given if one is not None]:
            yield node, "broadcast_similarity", {
                "dim": dim, "shapes": [[*(shape if one is None else one)] for one in given]
            }  # fmt: skip


def _shape_of_expanded(node: Node | None) -> tuple[int, ...] | None:
    """Return the shape of what is repeated along its dimensions of size 1; None if nothing is."""
    if node is None or node.name() != "ExpandBackward0":
        return None
    return tuple(map(int, node._saved_self_sym_sizes))


def lost_dimensions(nodes: Sequence[Node]) -> Iterator[Found]:
    """Yield x / x.sum(1) and its like without keepdim=True, which divide other rows.

    It runs if two dimensions have one size. Over the first dimension, the result fits as it is.
    """
    for node in nodes:
        if node.name() not in {"DivBackward0", "SubBackward0"} or len(node.next_functions) < 2:
            continue
        given, reduced = node.next_functions[0], node.next_functions[1][0]
        while reduced is not None and reduced.name() in {"AddBackward0", "ClampMinBackward0"}:
            reduced = reduced.next_functions[0][0]
        if reduced is None or reduced.name() not in _REDUCTIONS or given[0] is None:
            continue
        shape = _shape_before(reduced)
        if reduced.next_functions[0] != given or getattr(reduced, "_saved_keepdim", True):
            continue
        dims = reduced._saved_dim
        dims = dims if isinstance(dims, tuple | list) else (dims,)
        over = {signed(int(dim)) % len(shape) for dim in dims if dim is not None} if shape else {}
        if len(over) == 1 and (dim := next(iter(over))) > 0 and shape[dim] > 1:
            found = {"function": _REDUCTIONS[reduced.name()], "dim": dim, "shape": [*shape]}
            yield node, "lost_dimension", {"divides": node.name() == "DivBackward0", **found}


def _shape_before(node: Node) -> tuple[int, ...]:
    """Return the shape of what a reduction reduces; () if it is not known."""
    sizes = getattr(node, "_saved_self_sym_sizes", None)
    if sizes is None:
        saved = saved_tensor(node, "self")
        sizes = () if saved is None else saved.shape
    return tuple(map(int, sizes))


LOOKS = (
    broadcast_similarities, lost_dimensions,
    crossed_indices, own_transmittances, distance_signs, glued_positions, kept_zeros,
    lost_duplicates, torn_rows, unscaled_folds, scaled_biases, single_norms,
)  # fmt: skip
