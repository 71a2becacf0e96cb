"""Norms of the parts that a rank has, for each group of parameters that are placed alike.

The squares of the parts of a sharded group add up to those of the whole, and a replicated group is
counted once: so the ranks' files give the norm of all gradients at every step.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import torch

from hookcli.report.distributed import PartGroup, PartNorms
from hookcli.report.rows.events import number
from hookcli.report.values import Number
from hookcli.training.norms import local, total_norm
from hookcli.training.parallel.placements import Placed, is_dtensor, placed


class PartNormsKeeper:
    """The groups of the parameters of a record, and the norms of their parts."""

    def __init__(self) -> None:
        self._groups: dict[Placed, int] = {}
        self.grad_placements: dict[int, tuple[str, ...]] = {}  # by id of the parameter

    def _index(self, where: Placed) -> int:
        return self._groups.setdefault(where, len(self._groups))

    def gradients(self, parameters: Iterable[torch.Tensor]) -> list[Any]:
        """Return the norm of the gradients of each group: numbers, or tensors on a GPU."""
        groups: dict[int, list[torch.Tensor]] = {}
        for parameter in parameters:
            grad = parameter.grad
            if grad is None or parameter.is_meta:
                continue
            where = placed(parameter)
            if is_dtensor(grad) and placed(grad) is not where:
                where = placed(grad)
                self.grad_placements[id(parameter)] = where.placements
            groups.setdefault(self._index(where), []).append(local(grad))
        return [total_norm(groups.get(i, [])) for i in range(len(self._groups))]

    def added(self, norms: Sequence[Any] | None, parameters: Iterable[torch.Tensor]) -> list[Any]:
        """Return the norms with those of further gradients, which come one after another."""
        further = self.gradients(parameters)
        known = [*(norms or []), *[0.0] * (len(further) - len(norms or []))]
        return [math.hypot(float(a), float(b)) for a, b in zip(known, further, strict=True)]

    def combined(self, pairs: Iterable[tuple[torch.Tensor, float | None]]) -> list[float | None]:
        """Return the norm of each group from those of its parameters; None if one is unknown."""
        found: dict[int, list[float | None]] = {}
        for parameter, norm in pairs:
            found.setdefault(self._index(placed(parameter)), []).append(norm)
        return [_hypot(found.get(i, [])) for i in range(len(self._groups))]

    def rows(self, parameters: Sequence[torch.Tensor]) -> tuple[PartGroup, ...]:
        """Return the groups as plain data."""
        many = [0] * len(self._groups)
        for parameter in parameters:
            where = placed(parameter)
            many[self._index(where)] += 1 if where in self._groups else 0
        return tuple(
            PartGroup(where.placements, where.mesh, many[i]) for where, i in self._groups.items()
        )


def _hypot(norms: Sequence[float | None]) -> float | None:
    known = [norm for norm in norms if norm is not None]
    if len(known) < len(norms):
        return None
    return math.nan if any(map(math.isnan, known)) else math.hypot(*known)


def part_norms(
    grad: Sequence[Any] | None,
    weight: Sequence[float | None] | None,
    update: Sequence[float | None] | None,
) -> PartNorms | None:
    """Return the norms of a step as plain data; None if there are none."""
    if grad is None:
        return None
    return PartNorms(
        _numbers(grad) or (),
        _numbers(weight),
        _numbers(update),
    )


def _numbers(norms: Sequence[Any] | None) -> tuple[Number | None, ...] | None:
    if norms is None:
        return None
    return tuple(None if norm is None else number(float(norm)) for norm in norms)
