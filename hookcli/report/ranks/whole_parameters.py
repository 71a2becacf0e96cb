"""Parameters that are DTensors: their figures joined from the pieces of all ranks."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from hookcli.report.distributed import LocalPart
from hookcli.report.ranks.pieces import (
    Pieces,
    hypot_of,
    in_one_mesh,
    is_pending,
    pieces,
    value_of,
    whole_statistics,
)
from hookcli.report.report import ParameterRow
from hookcli.report.rows.events import number
from hookcli.report.steps import UpdateRow
from hookcli.report.values import Number

_MIXED = "ok"  # the status of a gradient of which some pieces are zero
_WITH_VALUES = frozenset({_MIXED, "zero"})


def whole_row(
    row: ParameterRow, others: Mapping[int, ParameterRow], rank: int
) -> tuple[ParameterRow, Pieces | None]:
    """Return a row with the figures of the whole tensor, and the pieces that gave them.

    `others` are the rows of other ranks under this name, and `rank` is that of the row itself. The
    pieces are None if the row is that of a plain tensor, or if a piece is missing.
    """
    if row.mesh is None or row.placements is None or row.local is None:
        return row, None
    rows = {rank: row, **in_one_mesh(row, others)}
    parts = pieces(row.placements, {at: one.mesh for at, one in rows.items() if one.mesh})
    if parts.absent or is_pending(row.placements):
        return row, None
    taken = [rows[first] for first in parts.firsts]
    stats = whole_statistics([one.stats for one in taken]) if row.stats is not None else None
    if stats is not None and stats["numel"] != row.numel:
        return row, None  # padded, or of another kind of tensor
    grads = [rows[first] for first in _grad_pieces(row, rows, parts).firsts]
    pending = is_pending(row.grad_placements or ())
    grad = None if pending else whole_statistics([one.grad for one in _with_elements(grads)])
    whole = dataclasses.replace(
        row,
        stats=stats,
        grad=grad,
        grad_to_weight=_ratio(grad, stats),
        steps=tuple(_step(entry, grads, pending=pending) for entry in row.steps),
        status=_status([one.status for one in _with_elements(grads)]),
        local=LocalPart(row.local.shape, row.stats, row.grad),
        whole=True,
    )
    return whole, parts


def _grad_pieces(row: ParameterRow, rows: Mapping[int, ParameterRow], parts: Pieces) -> Pieces:
    if row.grad_placements is None:
        return parts
    return pieces(row.grad_placements, {at: one.mesh for at, one in rows.items() if one.mesh})


def _with_elements(rows: Sequence[ParameterRow]) -> list[ParameterRow]:
    """Return the rows of parts that have elements: an empty one may have no gradient."""
    return [row for row in rows if row.local is None or 0 not in row.local.shape] or list(rows)


def _step(entry: dict[str, Any], rows: Sequence[ParameterRow], *, pending: bool) -> dict[str, Any]:
    """Return an entry of `steps` with the gradient of the whole; None if that is not known."""
    found = [
        {one.get("step"): one for one in row.steps}.get(entry.get("step"))
        for row in _with_elements(rows)
    ]
    known = [one for one in found if one is not None]
    if len(known) < len(found) or pending:
        return {**entry, "grad": None}
    return {
        **entry,
        "grad": whole_statistics([one.get("grad") for one in known]),
        "status": _status([one.get("status") for one in known]),
    }


def _status(states: Sequence[Any]) -> Any:
    """Return the status of a gradient from those of its pieces."""
    if "non_finite" in states:
        return "non_finite"
    kinds = set(states)
    return _MIXED if len(kinds) > 1 and kinds <= _WITH_VALUES else states[0]


def _ratio(grad: dict[str, Any] | None, weight: dict[str, Any] | None) -> Number | None:
    if grad is None or weight is None:
        return None
    above, below = value_of(grad["norm"]), value_of(weight["norm"])
    return number(above / below) if above is not None and below else None


def whole_update(
    row: UpdateRow, others: Mapping[int, UpdateRow], parts: Pieces, rank: int
) -> UpdateRow:
    """Return what the optimizer did to a whole tensor, from the norms of its pieces."""
    rows = {rank: row, **others}
    taken = [rows.get(first) for first in parts.firsts]
    known = [one for one in taken if one is not None and one.local is not None]
    if len(known) < len(taken):
        return row
    steps = min(len(one.local or ()) for one in known)
    ratios: list[Number | None] = []
    for i in range(len(row.ratios)):
        at = [(one.local or ())[i] for one in known] if i < steps else []
        change = hypot_of([norms[0] for norms in at]) if at else None
        weight = value_of(hypot_of([norms[1] for norms in at])) if at else None
        top = value_of(change)
        ratios.append(number(top / weight) if top is not None and weight else None)
    changed = [one.changed for one in known]
    restored = [one.restored for one in known if one.restored is not None]
    kept = [one.kept for one in known if one.kept is not None]
    return dataclasses.replace(
        row,
        ratios=tuple(ratios),
        changed=True if True in changed else None if None in changed else False,
        restored=all(restored) if restored else None,
        kept=min(kept, key=lambda share: value_of(share) or 0.0) if kept else None,
    )
