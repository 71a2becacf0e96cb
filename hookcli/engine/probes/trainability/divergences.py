"""Terms of a loss that are the KL divergence of a normal distribution from the standard one.

It is (exp(c x) + mu^2 - 1 - c x) / 2, where exp(c x) is the variance.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import torch

from hookcli.engine.probes.trainability.loss_graph import SAME_VALUES, Node

_SUMS = SAME_VALUES | {
    "MeanBackward0", "MeanBackward1", "SumBackward0", "SumBackward1", "ExpandBackward0",
}  # fmt: skip
_MOST_TERMS = 200


def terms(start: Node | None) -> Iterator[tuple[float, Node]]:
    """Yield the terms that a value is a linear combination of, with their factors.

    The factor of a mean is that of its sum.
    """
    todo: list[tuple[float, Node | None]] = [(1.0, start)]
    for factor, node in todo:  # grows meanwhile
        if node is None or len(todo) > _MOST_TERMS:
            continue
        name, inputs = node.name(), [one for one, _ in node.next_functions]
        if name in _SUMS:
            todo.append((factor, inputs[0]))
        elif name == "NegBackward0":
            todo.append((-factor, inputs[0]))
        elif name in {"AddBackward0", "SubBackward0"}:
            second = float(node._saved_alpha) * (1 if name == "AddBackward0" else -1)
            todo += [(factor, inputs[0]), (factor * second, inputs[1])]
        elif name.startswith("RsubBackward"):
            todo.append((-factor * float(node._saved_alpha), inputs[0]))
        elif (scaled := _times_number(node)) is not None:
            todo.append((factor * scaled[0], scaled[1]))
        else:
            yield factor, node


def _times_number(node: Node) -> tuple[float, Node] | None:
    """Return the number that an operator multiplies with, and what it multiplies; else None."""
    name, inputs = node.name(), [one for one, _ in node.next_functions]
    if name not in {"MulBackward0", "DivBackward0"} or inputs.count(None) != 1:
        return None
    if inputs[0] is None and name == "DivBackward0":
        return None
    other = node._saved_other if inputs[0] is not None else node._saved_self
    if other is None or other.numel() != 1:
        return None
    number = float(other)
    if name == "DivBackward0":
        number = 1 / number if number else math.nan
    return number, inputs[0] if inputs[0] is not None else inputs[1]


def scaled_by(node: Node | None) -> tuple[float, Node | None]:
    """Return the factor of numbers before a value, and the value."""
    factor = 1.0
    for _ in range(_MOST_TERMS):
        if node is None:
            break
        scaled = _times_number(node)
        if scaled is not None:
            factor, node = factor * scaled[0], scaled[1]
        elif node.name() in SAME_VALUES:
            node = node.next_functions[0][0]
        elif node.name() == "NegBackward0":
            factor, node = -factor, node.next_functions[0][0]
        else:
            break
    return factor, node


def exponential_of(node: Node | None) -> tuple[float, Node] | None:
    """Return c and x if a value is exp(c x), or its square; else None."""
    node = same_values(node)
    if node is None:
        return None
    if node.name() == "ExpBackward0":
        factor, source = scaled_by(node.next_functions[0][0])
        return None if source is None else (factor, source)
    inputs = [one for one, _ in node.next_functions]
    squared = node.name() == "PowBackward0" and float(node._saved_exponent) == 2
    if squared or (node.name() == "MulBackward0" and inputs[0] is inputs[1]):
        inner = exponential_of(inputs[0])
        return None if inner is None else (2 * inner[0], inner[1])
    return None


def same_values(node: Node | None) -> Node | None:
    """Return the node that computed the values of a node, before changes of shape and dtype."""
    while node is not None and node.name() in SAME_VALUES:
        node = node.next_functions[0][0]
    return node


def formulas(start: torch.Tensor) -> Iterator[tuple[Node, float, float, float]]:
    """Yield what the KL divergences from a normal distribution are computed from.

    Each is a node x, with the numbers a, b, c of the terms a exp(c x) + b x of the loss.
    """
    found = list(terms(start.grad_fn))
    for factor, node in found:
        exponential = exponential_of(node)
        if exponential is None:
            continue
        exponent, source = exponential
        linear = sum(other for other, one in found if one is source)
        if linear and exponent:
            yield source, factor, linear, exponent


def divergences(start: torch.Tensor) -> Iterator[tuple[Node, Node]]:
    """Yield the node x of each divergence, and the node of its exponential."""
    found = list(terms(start.grad_fn))
    for factor, node in found:
        exponential = exponential_of(node)
        if exponential is None or factor <= 0:
            continue
        exponent, source = exponential
        linear = sum(other for other, one in found if one is source)
        if linear * exponent < 0:
            yield source, node
