"""Compares values whatever their layout: transposed, reshaped, split or concatenated.

A print of a tensor does not depend on the order of its elements: their number, their sum, the sums
of absolute values and of squares, and a sketch of the sorted elements. Sums of parts add up to
those of the whole.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from hookcli.report.values import Shape

Sums: TypeAlias = tuple[float, float, float]

_EQUAL = 1e-12  # of sums in float64, in another order


@dataclass(frozen=True, slots=True)
class ValuePrint:
    """The print of a tensor. `sums` are of x, |x| and x²; `ordered` may be empty.

    `ordered` has inner products of the sorted elements with the vectors of a sketch: see
    `hookcli.engine.statistics.sketch`.
    """

    numel: int
    sums: Sums
    nonfinite: int
    ordered: tuple[float, ...] = ()

    @property
    def norm(self) -> float:
        """The norm of the elements."""
        return math.sqrt(self.sums[2])


def print_of(shape: Shape, sketch: dict[str, Any] | None) -> ValuePrint | None:
    """Return the print in a sketch of a report; None if it has none."""
    if sketch is None or "sums" not in sketch:
        return None
    numel = math.prod(size or 0 for size in shape)
    first, absolute, square = (float(value) for value in sketch["sums"])
    ordered = tuple(float(value) for value in sketch.get("ordered") or ())
    return ValuePrint(numel, (first, absolute, square), sketch["nonfinite"], ordered)


def apart(a: ValuePrint, b: ValuePrint) -> float:
    """Return a lower bound of the norm of the difference, divided by A's norm.

    The elements may be in any order: the distance of two vectors is at least that of their sorted
    elements (rearrangement inequality). Infinite if they cannot be equal.
    """
    if a.numel != b.numel or a.nonfinite != b.nonfinite:
        return math.inf
    if not a.norm:
        return 0.0 if not b.norm else math.inf
    if a.ordered and b.ordered:
        squares = [(x - y) ** 2 for x, y in zip(a.ordered, b.ordered, strict=True)]
        return math.sqrt(sum(squares) / len(squares)) / a.norm
    return _sums_apart(a, b)


def parts_apart(whole: ValuePrint, parts: Sequence[ValuePrint]) -> float:
    """Return the same of a tensor and those that it is split into, by their sums."""
    if not parts or sum(part.numel for part in parts) != whole.numel:
        return math.inf
    total = ValuePrint(
        whole.numel,
        _added(part.sums for part in parts),
        sum(part.nonfinite for part in parts),
    )
    if total.nonfinite != whole.nonfinite:
        return math.inf
    if not whole.norm:
        return 0.0 if not total.norm else math.inf
    return _sums_apart(whole, total)


def repeated_apart(a: ValuePrint, b: ValuePrint) -> float:
    """Return the same of a tensor and one that may be that one several times, by their sums."""
    small, large = sorted((a, b), key=lambda one: one.numel)
    if not small.numel or large.numel % small.numel:
        return math.inf
    return parts_apart(large, [small] * (large.numel // small.numel))


def _added(rows: Iterable[tuple[float, ...]]) -> Sums:
    first, absolute, square = (math.fsum(column) for column in zip(*rows, strict=True))
    return first, absolute, square


def _sums_apart(a: ValuePrint, b: ValuePrint) -> float:
    """Return a lower bound from the sums: |Σ(x - y)| <= √n ‖x - y‖, and so for |x|; norms."""
    root = math.sqrt(a.numel)
    found = [
        abs(a.sums[0] - b.sums[0]) / root,
        abs(a.sums[1] - b.sums[1]) / root,
        abs(a.norm - b.norm),
    ]
    return max(found) / a.norm


def is_telling(one: ValuePrint) -> bool:
    """Return whether a print can identify a tensor: one of zeros, or of one value, cannot."""
    if one.numel < 2 or not one.norm or one.nonfinite == one.numel:
        return False
    mean = one.sums[0] / one.numel
    return one.sums[2] - one.numel * mean * mean > _EQUAL * one.sums[2]
