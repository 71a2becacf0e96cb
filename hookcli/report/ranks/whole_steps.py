"""The norms of a step over whole tensors: squares of pieces add, copies count once."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

from hookcli.report.distributed import PartGroup, PartNorms
from hookcli.report.ranks.pieces import (
    are_together,
    hypot_of,
    is_pending,
    pieces,
    value_of,
)
from hookcli.report.rows.events import number
from hookcli.report.steps import StepRow, TrainingInfo
from hookcli.report.values import Number

_Source = list[tuple[int, int]]  # ranks, each with the index of the group in its norms


class WholeSteps:
    """Joins the steps of a record; `is_whole` tells whether all pieces of parameters are there."""

    def __init__(self, info: TrainingInfo, others: Mapping[int, TrainingInfo], rank: int) -> None:
        self._infos = {rank: info, **others}
        self._rank = rank
        self._rows = {at: {row.step: row for row in one.steps} for at, one in self._infos.items()}
        groups = info.groups or ()
        self._sources = [self._source(group, i) for i, group in enumerate(groups)]
        self.is_whole = bool(groups) and all(
            source is not None or not group.parameters
            for group, source in zip(groups, self._sources, strict=True)
        )

    def _source(self, group: PartGroup, index: int) -> _Source | None:
        """Return which norms of which ranks make the norm of a group; None if it is not known."""
        if group.mesh is None:
            return [(self._rank, index)]
        if is_pending(group.placements):
            return None
        places = {self._rank: group.mesh}
        indices = {self._rank: index}
        for at, info in self._infos.items():
            for i, other in enumerate(info.groups or ()):
                if other.placements == group.placements and are_together(group.mesh, other.mesh):
                    places.setdefault(at, other.mesh or group.mesh)
                    indices.setdefault(at, i)
        parts = pieces(group.placements, places)
        return None if parts.absent else [(at, indices[at]) for at in parts.firsts]

    def row(self, row: StepRow) -> StepRow:
        """Return a step with the norms of whole tensors. A norm that is not known is None."""
        if row.local is None or row.skipped:
            return row
        weight, update = self._norm(row.step, "weight"), self._norm(row.step, "update")
        ratio = None
        if row.update_ratio is not None:
            above, below = value_of(update), value_of(weight)
            ratio = number(above / below) if above is not None and below else None
        return dataclasses.replace(
            row,
            grad_norm=self._norm(row.step, "grad"),
            weight_norm=None if row.weight_norm is None else weight,
            update_norm=None if row.update_norm is None else update,
            update_ratio=ratio,
        )

    def _norm(self, step: int, name: str) -> Number | None:
        norms: list[Number | None] = []
        for i, source in enumerate(self._sources):
            if source is None:  # gradients that are pending, if there are some
                norms.append(None if self._local(self._rank, step, name, i) else 0.0)
            else:
                norms += [self._local(rank, step, name, index) for rank, index in source]
        return hypot_of(norms)

    def _local(self, rank: int, step: int, name: str, index: int) -> Number | None:
        row = self._rows[rank].get(step)
        return None if row is None or row.local is None else _at(row.local, name, index)


def _at(local: PartNorms, name: str, index: int) -> Number | None:
    norms: Sequence[Number | None] | None = getattr(local, name)
    if norms is None:
        return None
    return norms[index] if index < len(norms) else 0.0  # the group came later
