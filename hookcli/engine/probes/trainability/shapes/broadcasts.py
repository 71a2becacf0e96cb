"""Operands of a loss that broadcast against each other: each is combined with every other one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import torch

from hookcli.engine.probes.trainability.loss_graph import SAME_VALUES, Node
from hookcli.engine.probes.trainability.shapes.node_shapes import LONGEST, TAIL, Shape, shape_of

_LOSSES = {
    "MseLossBackward0": "mse_loss",
    "SmoothL1LossBackward0": "smooth_l1_loss",
    "HuberLossBackward0": "huber_loss",
}
_DIFFERENCES = {
    "SubBackward0": "a difference", "MulBackward0": "a product", "RsubBackward0": "a difference",
}  # fmt: skip
_SUMS = {"AddBackward0": "a sum", "DivBackward0": "a quotient"}
_SCALES = {"MulBackward0", "DivBackward0"}
_LINEAR_TAIL = SAME_VALUES | {
    "MeanBackward0", "MeanBackward1", "SumBackward0", "SumBackward1", "AddBackward0",
    "SubBackward0", "RsubBackward0", "RsubBackward1", "NegBackward0",
}  # fmt: skip


def _operand(node: Node, argument: int) -> tuple[Node | None, Shape | None]:
    """Return the node of an argument and its shape, before an expansion."""
    behind, output = node.next_functions[argument]
    while behind is not None and behind.name() == "ExpandBackward0":
        behind, output = behind.next_functions[0]
    return behind, None if behind is None else shape_of(behind, output)


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

    Or those of [n, k, 1, 1] and [n, k], whose difference has [n, k, n, k].

    Only one of them may have a gradient: differences of all pairs are meant in losses that rank or
    contrast outputs, where both have. If they have more than two dimensions, the shape of the other
    must be known, from the product or from the batch.
    """
    made = shape_of(node)
    if made is None or len(made) < 2 or made[0] < 2 or made[0] not in made[1:]:
        return None
    graded = [i for i, (behind, _) in enumerate(node.next_functions) if behind is not None]
    if len(graded) != 1:
        return None
    operand, shape = _operand(node, graded[0])
    half = made[: len(made) // 2]
    if len(half) > 1 and made == half + half and shape == half + (1,) * len(half):
        return shape, half  # [n, k, 1, 1] and [n, k]
    if made[0] != made[1]:
        return None
    n, rest = made[0], made[2:]
    if rest and operand is not None and _is_indexed(operand):  # distances of all pairs are meant
        return None
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
    made, apart = shape_of(node), size._saved_self.detach()
    graded = [i for i, (behind, _) in enumerate(node.next_functions) if behind is not None]
    if made is None or len(made) != 2 or len(graded) != 1 or min(made) < 2:
        return None
    behind, shape = _operand(node, graded[0])
    if behind is None or hasattr(behind, "variable") or shape != (made[0], 1):
        return None
    between = apart - apart[:1]
    constant = torch.allclose(between, between[:, :1].expand_as(between), atol=1e-5)
    return None if constant or apart.shape != made else (shape, made)


def compared(
    start: torch.Tensor, given: Sequence[Shape]
) -> Iterator[tuple[Node, str, tuple[Shape, Shape]]]:
    """Yield the parts of a loss whose operands broadcast against each other."""
    todo = [start.grad_fn]
    seen: set[Node] = set()
    for node in todo:  # grows meanwhile
        if node is None or node in seen or len(seen) > LONGEST:
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
        elif name in TAIL:
            todo += [behind for behind, _ in node.next_functions]


def summed(start: torch.Tensor, given: Sequence[Shape]) -> Iterator[tuple[Node, str, Any]]:
    """Yield sums and quotients of [n, 1] and [n], where n is the number of samples.

    Both have a gradient. Sums over all pairs are meant if a line writes the dimension, as
    `a[:, None] + b`, or if something with a value for each pair joins them, as the products in
    squared distances. The mean over all pairs of a sum is that over the samples: a function that
    is not linear must come after it.
    """
    todo = [(start.grad_fn, False)]
    seen: set[tuple[Node, bool]] = set()
    for node, bent in todo:  # grows meanwhile
        if node is None or (node, bent) in seen or len(seen) > LONGEST:
            continue
        seen.add((node, bent))
        name, made = node.name(), shape_of(node)
        if name in _SUMS and (shapes := _column_and_row(node, given)) is not None:
            if bent or name != "AddBackward0":
                yield node, _SUMS[name], shapes
        elif name in TAIL | _SUMS.keys():
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
    made = shape_of(node)
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
                if behind.name() not in TAIL | _SUMS.keys() or len(todo) > LONGEST:
                    return True
                seen.add(behind)
                todo.append(behind)
    return False
