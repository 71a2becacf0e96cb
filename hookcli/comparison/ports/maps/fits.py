"""How a tensor of A can become one of B: as it is, transposed, reshaped, joined or split."""

from __future__ import annotations

import functools
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from hookcli.comparison.ports.maps.names import likeness, number_of, rank_of_part, same_role
from hookcli.comparison.ports.maps.units import OwnTensor, Unit
from hookcli.report.values import Shape
from hookcli.spec.request import MadeTensor, WeightPart

Fit: TypeAlias = Literal["same", "turned", "reshaped"]
Made: TypeAlias = dict[str, MadeTensor]

_LEAST = 0.3  # likeness of names of tensors, unless no others fit
_HEADS = {0, 1, 2}  # ranks of q, k and v, which are not taken for each other
# Layers whose weight has the input as its first dimension.
_TURNED_TYPES = {"Conv1D"}


@functools.cache
def fit(ours: Shape, theirs: Shape) -> Fit | None:
    """Return how A's shape can become B's; None if it cannot."""
    if ours == theirs:
        return "same"
    if len(ours) == len(theirs) == 2 and ours == (theirs[1], theirs[0]):
        return "turned"
    if None in ours or None in theirs or math.prod(_known(ours)) != math.prod(_known(theirs)):
        return None
    plain = [tuple(size for size in shape if size != 1) for shape in (ours, theirs)]
    if plain[0] == plain[1]:
        return "reshaped"
    if not plain[0] or not plain[1]:
        return None
    # A convolution whose window is its input, beside a linear layer: the first dimension stays.
    one_is_flat = min(len(plain[0]), len(plain[1])) <= 2
    return "reshaped" if one_is_flat and plain[0][0] == plain[1][0] else None


def _known(shape: Shape) -> list[int]:
    return [size or 0 for size in shape]


@dataclass(frozen=True, slots=True)
class UnitFit:
    """How the tensors of some modules of A make those of some of B, and how alike they are."""

    made: Made
    score: float


def fit_units(ours: Sequence[Unit], theirs: Sequence[Unit]) -> UnitFit | None:
    """Return how these modules of A make these of B; one of the two lists has one module."""
    if len(ours) == len(theirs) == 1:
        return _single(ours[0], theirs[0])
    if len(theirs) == 1:
        return _joined(ours, theirs[0])
    return _split(ours[0], theirs)


def _alike(a: Unit, b: Unit) -> float:
    score = likeness(a.module, b.module)
    number = number_of(a.module)
    score += 0.05 * (number != "" and number == number_of(b.module))
    ranks = {rank_of_part(unit.module.rpartition(".")[2]) for unit in (a, b)}
    if len(ranks) == 2 and ranks <= _HEADS:
        score -= 1.0
    return score + (0.25 if a.type == b.type else 0.0)


def is_turned(a: Unit, b: Unit) -> bool:
    """Return whether one of two modules has its weight transposed, by its type."""
    return (a.type in _TURNED_TYPES) != (b.type in _TURNED_TYPES)


def _single(a: Unit, b: Unit) -> UnitFit | None:
    pairs = pair_tensors(a, b)
    if not pairs:
        return None
    made: Made = {}
    for ours, theirs in pairs:
        how = fit(ours.shape, theirs.shape)
        square = len(ours.shape) == 2 and ours.shape[0] == ours.shape[1]
        turned = how == "turned" or (how == "same" and square and is_turned(a, b))
        made[theirs.name] = MadeTensor(theirs.name, (WeightPart(ours.name, turned),))
    missing = len(a.tensors) + len(b.tensors) - 2 * len(pairs)
    return UnitFit(made, 1.0 + _alike(a, b) - 0.3 * missing)


def pair_tensors(a: Unit, b: Unit) -> list[tuple[OwnTensor, OwnTensor]]:
    """Return the tensors of two modules that fit: of alike names, or the only ones that fit."""
    choices = [
        (_leaf_likeness(ours, theirs), ours, theirs)
        for ours in a.tensors
        for theirs in b.tensors
        if fit(ours.shape, theirs.shape) is not None
    ]
    of_a = Counter(ours.name for _, ours, _ in choices)
    of_b = Counter(theirs.name for _, _, theirs in choices)
    taken: set[str] = set()
    pairs = []
    for alike, ours, theirs in sorted(choices, key=lambda choice: -choice[0]):
        only = of_a[ours.name] == of_b[theirs.name] == 1
        free = f"a:{ours.name}" not in taken and f"b:{theirs.name}" not in taken
        if free and (alike >= _LEAST or only):
            pairs.append((ours, theirs))
            taken |= {f"a:{ours.name}", f"b:{theirs.name}"}
    return pairs


def _leaf_likeness(a: OwnTensor, b: OwnTensor) -> float:
    return (a.leaf == b.leaf) + likeness(a.leaf, b.leaf) + 0.01 * (a.shape == b.shape)


def _joined(parts: Sequence[Unit], whole: Unit) -> UnitFit | None:
    """Return how several modules of A, such as q, k and v, make one of B."""
    ordered = _in_order(parts)
    made: Made = {}
    for tensor in whole.tensors:
        own = [one for part in ordered for one in part.tensors if is_leaf_of(one, tensor)]
        if len(own) != len(ordered):
            continue
        turned = whole.type in _TURNED_TYPES
        sources = [
            (one, part.type in _TURNED_TYPES) for one, part in zip(own, ordered, strict=True)
        ]
        if _rows_of(sources, _turned(tensor.shape, turned=turned)) is None:
            return None
        made[tensor.name] = MadeTensor(
            tensor.name,
            tuple(WeightPart(one.name, back and len(one.shape) > 1) for one, back in sources),
            turned and len(tensor.shape) > 1,
        )
    if not made:
        return None
    return UnitFit(made, 0.9 * len(parts) + 0.2 * _are_parts(parts))


def _split(whole: Unit, parts: Sequence[Unit]) -> UnitFit | None:
    """Return how one module of A makes several of B."""
    ordered = _in_order(parts)
    made: Made = {}
    turned = whole.type in _TURNED_TYPES
    for tensor in whole.tensors:
        own = [one for part in ordered for one in part.tensors if is_leaf_of(one, tensor)]
        if len(own) != len(ordered):
            continue
        backs = [part.type in _TURNED_TYPES for part in ordered]
        targets = list(zip(own, backs, strict=True))
        rows = _rows_of(targets, _turned(tensor.shape, turned=turned))
        if rows is None:
            return None
        for (target, back), span in zip(targets, rows, strict=True):
            part = WeightPart(tensor.name, turned and len(tensor.shape) > 1, span)
            made[target.name] = MadeTensor(target.name, (part,), back and len(target.shape) > 1)
    if not made:
        return None
    return UnitFit(made, 0.9 * len(parts) + 0.2 * _are_parts(parts))


def is_leaf_of(part: OwnTensor, whole: OwnTensor) -> bool:
    """Return whether two tensors have one role in their modules."""
    return same_role(part.leaf, whole.leaf)


def _turned(shape: Shape, *, turned: bool) -> Shape:
    return tuple(reversed(shape)) if turned and len(shape) == 2 else shape


def _rows_of(parts: Sequence[tuple[OwnTensor, bool]], whole: Shape) -> list[tuple[int, int]] | None:
    """Return the rows of a tensor that its parts are; None if they do not make it."""
    shapes = [_turned(one.shape, turned=turned) for one, turned in parts]
    if not whole or any(len(shape) != len(whole) for shape in shapes):
        return None
    if any(shape[1:] != whole[1:] or shape[0] is None for shape in shapes):
        return None
    sizes = [shape[0] or 0 for shape in shapes]
    if sum(sizes) != whole[0]:
        return None
    starts = [sum(sizes[:i]) for i in range(len(sizes))]
    return [(start, start + size) for start, size in zip(starts, sizes, strict=True)]


def _in_order(parts: Sequence[Unit]) -> list[Unit]:
    """Return the parts as fused layers have them: q, k, v; gate, up. Others as they are called."""
    ranks = [rank_of_part(part.module.rpartition(".")[2]) for part in parts]
    if None in ranks or len(set(ranks)) < len(ranks):
        return list(parts)
    order = sorted(range(len(parts)), key=lambda i: ranks[i] or 0)
    return [parts[i] for i in order]


def _are_parts(parts: Sequence[Unit]) -> bool:
    return all(rank_of_part(part.module.rpartition(".")[2]) is not None for part in parts)
