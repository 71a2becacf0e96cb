"""The names of columns and sort keys, for validation: importing this loads no renderer.

They depend on the command that made the report: see `columns_of` and `sorts_of`.
"""

from __future__ import annotations

from collections.abc import Mapping

COLUMNS: dict[str, str] = {
    "layer": "Layer (type)",
    "name": "Name",
    "type": "Type",
    "input": "Input",
    "output": "Output",
    "params": "Param #",
    "own": "Own param #",
    "trainable": "Trainable #",
    "macs": "Mult-adds",
    "flops": "FLOPs",
    "dtype": "Dtype",
    "call": "Call",
    "order": "Order",
    "mode": "Mode",
    "place": "Place",
    "aliases": "Also named",
    "notes": "Notes",
}

DEFAULT_COLUMNS = ("layer", "input", "output", "params", "macs")

TRACE_COLUMNS: dict[str, str] = {
    "seq": "Seq",
    "rank": "Rank",
    "step": "Step",
    "phase": "Phase",
    "kind": "Kind",
    "target": "Target",
    "call": "Call",
    "node": "Node",
    "values": "Shapes",
    "dtype": "Dtype",
    "norm": "Norm",
    "changed": "Changed",
    "hook": "Hook",
    "notes": "Notes",
}

GRADS_COLUMNS: dict[str, str] = {
    "name": "Parameter",
    "shape": "Shape",
    "dtype": "Dtype",
    "type": "Type",
    "norm": "Grad norm",
    "mean": "Mean",
    "std": "Std",
    "min": "Min",
    "max": "Max",
    "zeros": "Zeros",
    "nan": "NaN",
    "inf": "Inf",
    "weight": "Weight norm",
    "ratio": "Ratio",
    "status": "Status",
    "bar": "Norm",
    "also": "Also named",
}

# The second table of grads, with one row per call of a layer.
FLOW_COLUMNS: dict[str, str] = {
    "layer": "Layer (type)",
    "call": "Call",
    "output": "Output grad",
    "input": "Input grad",
    "bar": "Output grad",
    "place": "Place",
}

SHARED_COLUMNS = frozenset(GRADS_COLUMNS) & frozenset(FLOW_COLUMNS)

_COLUMNS: dict[str, Mapping[str, str]] = {
    "trace": TRACE_COLUMNS,
    "grads": {**FLOW_COLUMNS, **GRADS_COLUMNS},
}

_SORTS: dict[str, tuple[str, ...]] = {
    "trace": ("order", "changed"),
    "grads": ("order", "name", "norm", "ratio", "status", "params"),
}
_INSPECT_SORTS = ("order", "params", "own", "macs", "flops")
SORTS = tuple(dict.fromkeys([*_INSPECT_SORTS, *_SORTS["grads"], *_SORTS["trace"]]))


def columns_of(command: str) -> Mapping[str, str]:
    """Return the columns that a report of this command can show, with their titles."""
    return _COLUMNS.get(command, COLUMNS)


def sorts_of(command: str) -> tuple[str, ...]:
    """Return the names by which the rows of a report of this command can be sorted."""
    return _SORTS.get(command, _INSPECT_SORTS)
