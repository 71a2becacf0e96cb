"""Calls of a report with what identifies their values: prints of the tensors, and their place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hookcli.comparison.matching import Sketched, leaves
from hookcli.comparison.ports.values import ValuePrint, is_telling, print_of
from hookcli.report.report import LayerRow, Report


@dataclass(frozen=True, slots=True)
class PortCall:
    """One call. `position` is its place among all calls of its model, from 0 to 1.

    `inputs` and `outputs` are the prints of its tensors that can identify them. `is_leaf`: no other
    call runs inside. `passes_on`: its output is its input, as that of dropout in eval mode.
    """

    row: LayerRow
    position: float
    inputs: tuple[ValuePrint, ...]
    outputs: tuple[ValuePrint, ...]
    is_leaf: bool
    has_tensors: bool
    passes_on: bool

    @property
    def order(self) -> int:
        """The number of the call in its model."""
        return self.row.order


def calls_of(report: Report, values: Sketched, owners: set[str]) -> list[PortCall]:
    """Return the calls of a report; `owners` are the modules that have tensors of their own."""
    callers = {row.parent for row in report.layers}
    total = max(len(report.layers) - 1, 1)
    found = []
    for number, row in enumerate(report.layers):
        inputs, outputs = _prints(row, "inputs", values), _prints(row, "outputs", values)
        sketches = values.calls.get(row.order, {})
        digests = [
            {one["digest"] for one in sketches.get(part) or () if one is not None}
            for part in ("inputs", "outputs")
        ]
        found.append(
            PortCall(
                row,
                number / total,
                inputs,
                outputs,
                is_leaf=row.order not in callers,
                has_tensors=row.name in owners,
                passes_on=bool(digests[1]) and digests[1] <= digests[0],
            )
        )
    return found


def _prints(row: LayerRow, part: str, values: Sketched) -> tuple[ValuePrint, ...]:
    prints = (print_of(leaf.shape, leaf.values) for leaf in leaves(row, part, values))
    return tuple(one for one in prints if one is not None and is_telling(one))


def owners_of(report: Report) -> set[str]:
    """Return the modules that have parameters of their own."""
    return {row.name.rpartition(".")[0] for row in report.parameters}


def inside(calls: Sequence[PortCall]) -> dict[int, set[int]]:
    """Return the orders of all calls inside of each call that has some."""
    parents = {call.order: call.row.parent for call in calls}
    found: dict[int, set[int]] = {}
    for call in calls:
        parent = call.row.parent
        while parent is not None:
            found.setdefault(parent, set()).add(call.order)
            parent = parents.get(parent)
    return found
