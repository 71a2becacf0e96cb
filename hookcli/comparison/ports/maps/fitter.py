"""Fits modules of two models, by the values of their tensors too if B already has A's weights."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import replace

from hookcli.comparison.matching import sketched
from hookcli.comparison.ports.maps.fits import UnitFit, fit_units
from hookcli.comparison.ports.maps.units import Unit
from hookcli.comparison.ports.values import ValuePrint, apart, is_telling, parts_apart, print_of
from hookcli.report.report import Report
from hookcli.spec.request import MadeTensor

_EQUAL = 1e-6  # relative difference up to which tensors are taken for equal
_WEIGHT = 2.0  # of equal values, beside the likeness of names and types, which is up to 1.3
_MOST = 0.5  # of B's matrices that are A's, so that values count


class UnitFitter:
    """Fits modules by shapes and names, and by values if most matrices of B are those of A.

    Two new models with one seed have single tensors in common; a port with its weights has most.
    """

    def __init__(self, a: Report, b: Report) -> None:
        self._prints = _prints(a), _prints(b)
        self._has_weights = _share_of_equal(*self._prints) >= _MOST

    def fit(self, ours: Sequence[Unit], theirs: Sequence[Unit]) -> UnitFit | None:
        """Return how these modules of A make these of B; one of the two lists has one module."""
        found = fit_units(ours, theirs)
        if found is None or not self._has_weights:
            return found
        known = [far for target, row in found.made.items() for far in self._far(target, row)]
        signs = [1 if far <= _EQUAL else -1 for far in known]
        return replace(found, score=found.score + _WEIGHT * sum(signs) / max(len(signs), 1))

    def _far(self, target: str, row: MadeTensor) -> list[float]:
        """Return the difference of a tensor and what makes it, if both can be told from others."""
        own = self._prints[1].get(target)
        parts = [self._prints[0].get(part.name) for part in row.parts]
        known = [one for one in parts if one is not None]
        if own is None or len(known) < len(parts) or any(part.rows for part in row.parts):
            return []
        return [apart(known[0], own) if len(known) == 1 else parts_apart(own, known)]


def _prints(report: Report) -> dict[str, ValuePrint]:
    sketches = sketched(report).parameters
    found = ((row.name, print_of(row.shape, sketches.get(row.name))) for row in report.parameters)
    return {name: one for name, one in found if one is not None and is_telling(one)}


def _share_of_equal(ours: dict[str, ValuePrint], theirs: dict[str, ValuePrint]) -> float:
    """Return which share of B's tensors, of those of a size that A has, is equal to one of A's."""
    there: dict[int, list[ValuePrint]] = {}
    for one in ours.values():
        there.setdefault(one.numel, []).append(one)
    norms = {}
    for numel, prints in there.items():
        prints.sort(key=lambda one: one.norm)
        norms[numel] = [one.norm for one in prints]
    fitting = [one for one in theirs.values() if one.numel in there]
    equal = 0
    for one in fitting:
        start = bisect_left(norms[one.numel], one.norm * (1 - 2 * _EQUAL))
        stop = bisect_right(norms[one.numel], one.norm * (1 + 2 * _EQUAL))
        near = there[one.numel][start:stop]
        equal += min((apart(own, one) for own in near), default=math.inf) <= _EQUAL
    return equal / len(fitting) if fitting else 0.0
