"""Softmaxes in the autograd graph of a loss: over which dimension their shares sum to 1.

Shares are replayed through the operators that move elements, up to the product that uses them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import torch

from hookcli.engine.probes.trainability.divergences import same_values, scaled_by
from hookcli.engine.probes.trainability.loss_graph import (
    SAME_VALUES,
    Node,
    dimension_of,
    shape_of_node,
    signed,
)
from hookcli.engine.probes.trainability.patterns.single_axis import is_single

SOFTMAX = "SoftmaxBackward0"
LINEAR = {"AddmmBackward0": (1, 2), "MmBackward0": (0, 1)}  # the arguments: input, weight
VIEWS = {
    "ViewBackward0", "UnsafeViewBackward0", "ReshapeAliasBackward0", "ExpandBackward0",
    "CloneBackward0", "ToCopyBackward0", "AliasBackward0", "UnsqueezeBackward0",
    "SqueezeBackward1",
}  # fmt: skip
_PRODUCTS = {"BmmBackward0", "MmBackward0"}
_MOVES = {"PermuteBackward0", "TransposeBackward0", "TBackward0"}
# Between the scores of an attention and its softmax, and between the softmax and the product.
_SCALED = {"MulBackward0", "DivBackward0", "AddBackward0", "MaskedFillBackward0", "WhereBackward0"}
_MASKED = {"MulBackward0", "DivBackward0", "NativeDropoutBackward0"}
_SHARES = {SOFTMAX, "LogSoftmaxBackward0", "LogsumexpBackward0"}
_SIMILARITIES = _PRODUCTS | {"SumBackward1", "SqueezeBackward1"}
_CHOSEN = {"MaskedFillBackward0", "WhereBackward0", "DivBackward0", "MulBackward0"}
_FILLS = {"MaskedFillBackward0", "WhereBackward0", "MulBackward0"}
_HEADS = 64  # the most heads of an attention
_LONGEST = 20  # nodes of a path
_LARGEST = 2**22  # elements of a softmax that is looked at
_WEAK = 0.2  # of the share that masked scores would have if all scores were equal
_NORMALISED = 1e-3  # how far the sum of shares may be from 1


def softmaxes(
    nodes: list[Node], users: dict[Node, list[Node]]
) -> Iterator[tuple[Node, dict[str, Any]]]:
    """Yield each softmax whose shares do not sum to 1 in the product that uses them."""
    for node in nodes:
        if node.name() != SOFTMAX:
            continue
        result, dim = node._saved_result.detach(), dimension_of(node)
        dim = dim % max(1, result.dim())
        if result.dim() and result.shape[dim] == 1 and is_single(node.next_functions[0], dim):
            value = {"dim": dim, "shape": [*result.shape], "summed": None}
            yield node, value
            continue
        if 0 < result.numel() <= _LARGEST and result.shape[dim] > 1 and _are_scores(node):
            summed = _summed(node, result, dim, users)
            if summed is not None:
                yield node, {"dim": dim, "shape": [*result.shape], "summed": summed}


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
        if name not in SAME_VALUES | VIEWS | _MOVES | _SCALED:
            return False
        graded = [behind for behind, _ in node.next_functions if behind is not None]
        if not graded:
            return False
        node = graded[0]
    return False


def _is_parameter(node: Node) -> bool:
    while node is not None and node.name() in SAME_VALUES | VIEWS | _MOVES:
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
    if not bool(shares.isfinite().all()):
        return None
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
    name, shape = node.name(), shape_of_node(node)
    if shape is None:
        return None
    if name in _MASKED:
        others = [other for other, _ in node.next_functions if other is not behind]
        return tensor if others in ([None], []) and shape == tensor.shape else None
    if name == "ExpandBackward0":
        return tensor.expand(shape)
    if name in VIEWS:
        return tensor.reshape(shape)
    if name == "PermuteBackward0":
        return tensor.permute([signed(dim) for dim in node._saved_dims])
    if name == "TransposeBackward0":
        return tensor.transpose(signed(node._saved_dim0), signed(node._saved_dim1))
    return tensor.t() if name == "TBackward0" else None


def _is_normalised(node: Node) -> bool:
    """Return whether a factor is the result of another softmax."""
    for _ in range(_LONGEST):
        if node is None or node.name() == SOFTMAX:
            return node is not None
        if node.name() not in VIEWS | _MOVES | _MASKED:
            return False
        node = node.next_functions[0][0]
    return False


def masked_shares(
    nodes: list[Node], users: dict[Node, list[Node]]
) -> Iterator[tuple[Node, dict[str, Any]]]:
    """Yield each mask of the shares of a softmax after which the rows no longer sum to 1."""
    for node in nodes:
        if node.name() != SOFTMAX or not 0 < node._saved_result.numel() <= _LARGEST:
            continue
        if not _are_scores(node):  # a router that leaves out experts
            continue
        shares, dim, behind = node._saved_result.detach(), dimension_of(node), node
        for _ in range(_LONGEST):
            after = users.get(behind, [])
            if len(after) != 1 or after[0].name() not in VIEWS | {"NativeDropoutBackward0"}:
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


def weak_masks(nodes: list[Node]) -> Iterator[tuple[Node, dict[str, Any]]]:
    """Yield each softmax whose masked scores keep a share, as of a fill value near 0."""
    for node in nodes:
        if node.name() != SOFTMAX or not 0 < node._saved_result.numel() <= _LARGEST:
            continue
        masked = _masked_scores(node)
        if masked is None:
            continue
        shares, dim = node._saved_result.detach(), dimension_of(node)
        masked = masked.expand_as(shares)
        some = masked.any(dim) & ~masked.all(dim)  # rows with scores of both kinds
        if not bool(some.any()):
            continue
        share = float((shares * masked).sum(dim)[some].mean())
        if share >= _WEAK * float(masked.float().mean(dim)[some].mean()):
            yield node, {"share": share, "rows": int(some.sum()), "shape": [*shares.shape]}


def unequal_scales(nodes: list[Node]) -> Iterator[tuple[Node, dict[str, Any]]]:
    """Yield each softmax over scores of which one part is divided by a number, and others not."""
    for node in nodes:
        if node.name() not in _SHARES:
            continue
        joined = same_values(node.next_functions[0][0])
        if joined is None or joined.name() != "CatBackward0":
            continue
        scales = [_scale_of(part) for part, _ in joined.next_functions]
        if len(scales) > 1 and None not in scales and len({*scales}) > 1 and 1.0 in scales:
            yield joined, {"scales": [scale for scale in scales if scale is not None]}


def _scale_of(node: Node | None) -> float | None:
    """Return the number that a similarity is multiplied by; None if it is no sum of products."""
    factor, source = scaled_by(node)
    for _ in range(_LONGEST):  # masks, means over some of the products, and choices of them
        source = same_values(source)
        given = [one for one, _ in getattr(source, "next_functions", ()) if one is not None]
        if source is None or source.name() not in _CHOSEN or len(given) != 1:
            break
        more, source = scaled_by(given[0])
        factor *= more
    return factor if source is not None and source.name() in _SIMILARITIES else None


def _masked_scores(softmax: Node) -> torch.Tensor | None:
    """Return which scores of a softmax were filled with a constant; None if none were."""
    node = softmax.next_functions[0][0]
    if node is None or node.name() not in _FILLS or not _are_scores(softmax):
        return None
    if node.name() == "MulBackward0":
        given = [behind for behind, _ in node.next_functions]
        bits = node._saved_other if given[1] is None else node._saved_self
        if given.count(None) != 1 or bits is None or bits.numel() < 2:
            return None
        are_bits = bool(((bits == 0) | (bits == 1)).all())
        return bits == 0 if are_bits and bool((bits == 0).any()) else None
    if node.name() == "MaskedFillBackward0":
        mask: torch.Tensor = node._saved_mask
        return mask
    graded = [behind is not None for behind, _ in node.next_functions]
    condition: torch.Tensor = node._saved_condition
    return None if sum(graded) != 1 else ~condition if graded[0] else condition


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
        if node.name() not in VIEWS | _MOVES | {"NativeDropoutBackward0"}:
            return False
    return False


def scaled_shares(
    nodes: list[Node], users: dict[Node, list[Node]]
) -> Iterator[tuple[Node, dict[str, Any]]]:
    """Yield each softmax of scores whose shares are multiplied by one number, and then summed."""
    for node in nodes:
        if node.name() != SOFTMAX or not _are_scores(node):
            continue
        behind = node
        for _ in range(_LONGEST):
            after = users.get(behind, [])
            if len(after) != 1:
                break
            (behind,) = after
            if behind.name() in ("MulBackward0", "DivBackward0"):
                factor = _number_of(behind)
                changes = factor is not None and _NORMALISED < abs(factor - 1) < math.inf
                if changes and _is_summed(behind, users):
                    yield behind, {"factor": factor}
                break
            if behind.name() not in VIEWS | _MOVES:
                break


def _number_of(node: Node) -> float | None:
    """Return the number that a tensor is multiplied by; None if it is not one number."""
    given = [other for other, _ in node.next_functions]
    if given.count(None) != len(given) - 1:
        return None
    other = node._saved_other if given[0] is not None else getattr(node, "_saved_self", None)
    if not isinstance(other, torch.Tensor) or other.numel() != 1:
        return None
    value = float(other)
    if node.name() == "DivBackward0":
        return 1 / value if value and given[0] is not None else None
    return value


def sharp_scores(nodes: list[Node]) -> Iterator[tuple[Node, dict[str, Any]]]:
    """Yield each softmax of products of many terms that nothing scales, and that is one-hot.

    A norm of queries or keys, or a factor in front of the product, scales them too. Yield also
    products that are multiplied by the root of the number of their terms, and those that are
    divided by the root of the size of all heads.
    """
    for node in nodes:
        if node.name() != SOFTMAX or not 0 < node._saved_result.numel() <= _LARGEST:
            continue
        wrong = _wrongly_scaled(node)
        if wrong is not None:
            yield node, {"terms": wrong[0], "share": 0.0, "heads": wrong[1]}
            continue
        shares, dim = node._saved_result.detach(), dimension_of(node)
        if shares.dim() < 2 or shares.shape[dim] < _KEYS:
            continue
        product = _unscaled_product(node)
        if product is None:
            continue
        factors = [product._saved_self, product._saved_mat2]
        known = next((one for one in factors if one is not None), None)
        terms = 0 if known is None else int(known.shape[-1 if known is factors[0] else -2])
        largest = shares.amax(dim)
        share = float((largest > _SHARP).double().mean())
        if terms >= _TERMS and share >= _ROWS:
            yield node, {"terms": terms, "share": share, "heads": 1}


def _scaled_product(softmax: Node) -> tuple[float, int, int]:
    """Return the factor of the scores of an attention, their terms and matrices; 0 if not known."""
    node, factor = softmax.next_functions[0][0], 1.0
    for _ in range(_LONGEST):
        if node is None:
            break
        if node.name() in _PRODUCTS:
            known = [one for one in (node._saved_self, node._saved_mat2) if one is not None]
            if not known or not _are_scores(softmax):
                break
            terms = int(known[0].shape[-1 if known[0] is node._saved_self else -2])
            for given, _ in node.next_functions:
                source: Node | None = given
                while source is not None and source.name() in VIEWS | _MOVES:
                    source = source.next_functions[0][0]
                factor *= scaled_by(source)[0]
            return factor, terms, len(known[0]) if known[0].dim() > 2 else 1
        if node.name() in {"MulBackward0", "DivBackward0"}:
            number = _number_of(node)
            if number is None:
                break
            factor *= number
        elif node.name() not in SAME_VALUES | VIEWS | _MOVES | {"MaskedFillBackward0"}:
            break
        graded = [behind for behind, _ in node.next_functions if behind is not None]
        node = graded[0] if graded else None
    return 0.0, 0, 0


def _wrongly_scaled(softmax: Node) -> tuple[int, int] | None:
    """Return the terms of products whose scale is that of others, and for how many times as many.

    1 if they are multiplied by the root of the number of their terms; several if they are divided
    by the root of the size of all heads together.
    """
    factor, terms, matrices = _scaled_product(softmax)
    if terms < _KEYS or factor <= 0:
        return None
    if abs(factor - math.sqrt(terms)) <= _NORMALISED * factor:
        return terms, 1
    heads = round(1 / (factor * factor * terms))
    exact = abs(factor * math.sqrt(heads * terms) - 1) <= _NORMALISED if heads > 1 else False
    return (terms, heads) if exact and heads <= _HEADS and matrices % heads == 0 else None


def _unscaled_product(softmax: Node) -> Node | None:
    """Return the product that a softmax gets, if nothing multiplies its factors or its result."""
    node = softmax.next_functions[0][0]
    for _ in range(_LONGEST):
        if node is None:
            return None
        if node.name() in _PRODUCTS:
            sides = [behind for behind, _ in node.next_functions]
            return node if all(one and _is_plain(one) for one in sides) else None
        if node.name() not in SAME_VALUES | VIEWS | _MOVES | {"MaskedFillBackward0"}:
            return None
        node = node.next_functions[0][0]
    return None


def _is_plain(node: Node) -> bool:
    """Return whether a linear layer, with nothing after it but views, made a tensor."""
    for _ in range(_LONGEST):
        if node is None or node.name() in LINEAR:
            return node is not None
        if node.name() not in SAME_VALUES | VIEWS | _MOVES | {"UnbindBackward0", "SplitBackward0"}:
            return False
        node = node.next_functions[0][0]
    return False


_KEYS, _TERMS = 4, 16  # of a softmax, and of the product of a query and a key
_SHARP, _ROWS = 0.9, 0.5  # the largest share, and for how many rows
