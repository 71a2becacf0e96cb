"""Terms of a loss that are the KL divergence of a normal distribution from the standard one.

It is (exp(c x) + mu^2 - 1 - c x) / 2, where exp(c x) is the variance.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import torch

from hookcli.engine.probes.trainability.loss_graph import SAME_VALUES, Node, signed

_SUMS = SAME_VALUES | {"SumBackward0", "SumBackward1", "ExpandBackward0"}
_HALVES = (0.5, 1.0, 2.0)  # numbers of the formulas, which are no weights
_MOST_TERMS = 200


class WeighedTerm(NamedTuple):
    """A term that a value is a linear combination of.

    `factor` multiplies it, where that of a mean is that of its sum. The term is a mean over
    `divisor` elements; `is_weighted` if a number weighs it that is none of a usual formula.
    """

    factor: float
    node: Node
    divisor: float
    is_weighted: bool


def weighed_terms(start: Node | None, ends: frozenset[Node] = frozenset()) -> Iterator[WeighedTerm]:
    """Yield the terms that a value is a linear combination of. Nodes of `ends` are terms, too."""
    todo: list[tuple[Node | None, float, float, bool]] = [(start, 1.0, 1.0, False)]
    for node, factor, divisor, weighted in todo:  # grows meanwhile
        if node is None or len(todo) > _MOST_TERMS:
            continue
        name, inputs = node.name(), [one for one, _ in node.next_functions]
        if node in ends:
            yield WeighedTerm(factor, node, divisor, weighted)
        elif name == "MeanBackward0":
            many = int(node._saved_self_sym_numel)
            todo.append((inputs[0], factor, divisor * many, weighted))
        elif name == "MeanBackward1":
            sizes = node._saved_self_sym_sizes
            many = math.prod(int(sizes[signed(dim)]) for dim in node._saved_dim)
            todo.append((inputs[0], factor, divisor * many, weighted))
        elif name in _SUMS:
            todo.append((inputs[0], factor, divisor, weighted))
        elif name == "NegBackward0":
            todo.append((inputs[0], -factor, divisor, weighted))
        elif name in {"AddBackward0", "SubBackward0"}:
            alpha = float(node._saved_alpha)
            second = factor * alpha * (1 if name == "AddBackward0" else -1)
            weighs = weighted or abs(alpha) not in _HALVES
            todo += [(inputs[0], factor, divisor, weighted), (inputs[1], second, divisor, weighs)]
        elif name.startswith("RsubBackward"):
            todo.append((inputs[0], -factor * float(node._saved_alpha), divisor, weighted))
        elif (scaled := _times_number(node)) is not None:
            number, inner = scaled
            count = _count(name, number)
            weighs = weighted or (count is None and abs(number) not in _HALVES)
            todo.append((inner, factor * number, divisor * (count or 1), weighs))
        else:
            yield WeighedTerm(factor, node, divisor, weighted)


def _count(name: str, number: float) -> float | None:
    """Return the whole number that an operator divides by, as by that of samples; else None."""
    if name != "DivBackward0" or abs(number) in _HALVES or not number:
        return None
    count = round(1 / abs(number), 6)
    return count if count.is_integer() else None


def terms(start: Node | None) -> Iterator[tuple[float, Node]]:
    """Yield the terms that a value is a linear combination of, with their factors.

    The factor of a mean is that of its sum.
    """
    for term in weighed_terms(start):
        yield term.factor, term.node


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
