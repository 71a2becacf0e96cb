"""The comparison of two runs as a record of a page: its calls take the place of layers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from hookcli.comparison.diff import CallDiff, CallRef, Diff, StateDiff, TensorDiff
from hookcli.console import escape
from hookcli.formats.diff.rows import size, state_verdict, verdict, worst_of
from hookcli.formats.html.data.columns import rounded, sparse, text_column
from hookcli.formats.parts.text import place, shape
from hookcli.report.values import Number

NO_EVENTS: dict[str, Any] = {"count": 0, "seq": [], "layer": [], "parameter": [], "step": []}


def comparison(diff: Diff) -> dict[str, Any]:
    """Return a record with the calls and the parameters of A and B.

    `layers` has a row for each call, in the order of A; `parent` is the row of the module that
    contains it by name. `parameters` has the parameters and buffers. A difference of tensors is a
    list: see `_tensor`.
    """
    calls = _calls(diff.rows)
    return {
        "name": "",
        "command": "diff",
        "model": escape(diff.a.type or diff.a.source),
        "layers": calls,
        "parameters": _state(diff.state, diff.rows),
        "events": NO_EVENTS,
        "edges": None,
        "checks": [],
        "distributed": None,
    }


def call_row(diff: Diff, a: CallRef | None, b: CallRef | None) -> int:
    """Return the row of a call of A, or of B; -1 if there is none."""
    if a is None and b is None:
        return -1
    for index, row in enumerate(diff.rows):
        if (a is not None and row.a == a) or (a is None and row.b == b):
            return index
    return -1


def _calls(rows: Sequence[CallDiff]) -> dict[str, Any]:
    ours, theirs = [row.a for row in rows], [row.b for row in rows]
    either = [row.a or row.b for row in rows]
    return {
        "count": len(rows),
        "name": text_column(call.name if call else None for call in either),
        "type": text_column(call.type if call else None for call in either),
        "call": [call.call if call else 0 for call in either],
        "parent": list(_parents(either)),
        "status": text_column(word(row.status) for row in rows),
        "verdict": text_column(verdict(row) for row in rows),
        "fault": [int(row.fault) for row in rows],
        "a": _side(ours),
        "b": _side(theirs),
        "input": _worst(row.inputs for row in rows),
        "output": _worst(row.outputs for row in rows),
        "inputs": sparse([_tensor(leaf) for leaf in row.inputs] for row in rows),
        "outputs": sparse([_tensor(leaf) for leaf in row.outputs] for row in rows),
    }


def word(status: str) -> str:
    """Return a status as one word, by which the page can be filtered."""
    return {"only_a": "only-in-A", "only_b": "only-in-B"}.get(status, status)


def _side(calls: Sequence[CallRef | None]) -> dict[str, Any]:
    return {
        "name": text_column(call.name if call else None for call in calls),
        "type": text_column(call.type if call else None for call in calls),
        "call": [call.call if call else -1 for call in calls],
        "place": text_column(place(call.place) if call and call.place else None for call in calls),
    }


def _parents(calls: Iterable[CallRef | None]) -> Iterable[int]:
    """Yield the row of the nearest module above each call by name, -1 if there is none."""
    rows: dict[str, int] = {}
    for row, call in enumerate(calls):
        name = None if call is None else call.name
        above = "" if name is None else name
        while above and (above := above.rpartition(".")[0]) and above not in rows:
            pass
        yield -1 if name == "" else rows.get(above, -1)
        if name is not None:
            rows[name] = row


def _worst(columns: Iterable[Sequence[TensorDiff]]) -> dict[str, Any]:
    """Return the columns of the largest difference among the tensors of each row."""
    texts: list[str] = []
    relative: list[Number | None] = []
    limits: list[Number | None] = []
    sides: tuple[list[str | None], list[str | None]] = ([], [])
    for leaves in columns:
        worst = worst_of(tuple(leaves)) if leaves else None
        texts.append(size(tuple(leaves)))
        relative.append(None if worst is None else rounded(worst.relative))
        limits.append(None if worst is None else rounded(worst.limit))
        more = f" +{len(leaves) - 1}" if len(leaves) > 1 else ""
        for side, shapes in enumerate(sides):
            sizes = None if worst is None else worst.shapes[side]
            shapes.append(None if sizes is None else shape(sizes) + more)
    return {
        "text": text_column(texts),
        "relative": relative,
        "limit": limits,
        "shape_a": text_column(sides[0]),
        "shape_b": text_column(sides[1]),
    }


def _tensor(leaf: TensorDiff) -> list[Any]:
    """Return [path, path in B, shape, shape in B, dtype, dtype in B, relative, limit, how, status].

    What B has like A is None.
    """
    (a_shape, b_shape), (a_dtype, b_dtype) = leaf.shapes, leaf.dtypes
    return [
        escape(leaf.path or ""),
        None if leaf.other_path in (None, leaf.path) else escape(leaf.other_path),
        "none" if a_shape is None else shape(a_shape),
        None if a_shape == b_shape else "none" if b_shape is None else shape(b_shape),
        escape(a_dtype or ""),
        None if a_dtype == b_dtype else escape(b_dtype or "none"),
        rounded(leaf.relative),
        rounded(leaf.limit),
        leaf.how,
        leaf.status,
    ]


def _state(rows: Sequence[StateDiff], calls: Sequence[CallDiff]) -> dict[str, Any]:
    owners: dict[str, int] = {}
    for index, call in enumerate(calls):
        ref = call.a or call.b
        if ref is not None and ref.name is not None:
            owners.setdefault(ref.name, index)
    names = [row.a or row.b or "" for row in rows]
    values = [(row.value,) if row.value else () for row in rows]
    gradients = [(row.gradient,) if row.gradient else () for row in rows]
    return {
        "count": len(rows),
        "name": text_column(names),
        "layer": [_owner(name, owners) for name in names],
        "kind": text_column(row.kind for row in rows),
        "a": text_column(row.a for row in rows),
        "b": text_column(row.b for row in rows),
        "status": text_column(word(row.status) for row in rows),
        "verdict": text_column(state_verdict(row) for row in rows),
        "value": _worst(values),
        "gradient": _worst(gradients),
        "values": sparse([_tensor(leaf) for leaf in leaves] for leaves in values),
        "gradients": sparse([_tensor(leaf) for leaf in leaves] for leaves in gradients),
    }


def _owner(name: str, owners: dict[str, int]) -> int:
    while name:
        name = name.rpartition(".")[0]
        if name in owners:
            return owners[name]
    return -1
