"""Compares the calls of a model with tensors that another program wrote: matched by value."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from hookcli.comparison.compare import counts, side_of
from hookcli.comparison.diff import (
    SCHEMA,
    CallDiff,
    CallRef,
    Diff,
    First,
    Names,
    PortInfo,
    RowStatus,
    TensorDiff,
)
from hookcli.comparison.first_difference import figure, named
from hookcli.comparison.matching import Sketched, leaves, sketched
from hookcli.comparison.ports.matches import limit_of
from hookcli.comparison.ports.values import apart, is_telling, print_of
from hookcli.comparison.tolerance import (
    RTOL,
    TensorSummary,
    Tolerances,
    coarser,
    judge_tensors,
)
from hookcli.comparison.walk import ref
from hookcli.report.report import LayerRow, Report
from hookcli.text import counted

TENSORS = "tensors"  # the type of B
_NEAR = 0.5  # relative difference up to which a tensor is taken for that of a call


@dataclass(frozen=True, slots=True)
class _Candidate:
    row: LayerRow
    summary: TensorSummary
    far: float


def compare_dumps(a: Report, b: Report, tolerances: Tolerances) -> Diff:
    """Return which tensor of B is what a call of A returns, and by how much it differs.

    B is a report of one call, which returns the tensors. Each is compared with the nearest output
    of its size, whatever the layout; its name decides between outputs that are equally near.
    """
    values = sketched(a), sketched(b)
    outputs = list(_outputs(a, values[0]))
    dumps = leaves(b.layers[0], "outputs", values[1]) if b.layers else []
    rows = [_row(number, dump, outputs, tolerances) for number, dump in enumerate(dumps)]
    rows.sort(key=lambda row: (row.a is None, 0 if row.a is None else row.a.order))
    first = _first(rows, _ends(a.layers))
    lone = sum(row.a is None for row in rows)
    differ = sum(row.status == "different" for row in rows)
    reasons = [f"{differ} of {counted(len(rows), 'tensor')} of B"] if differ else []
    if lone:
        reasons.append(f"{counted(lone, 'tensor')} of B that no call of A returns")
    return Diff(
        schema=SCHEMA,
        verdict="different" if reasons or not rows else "same",
        reasons=tuple(reasons or ([] if rows else ["B has no tensors"])),
        environment=a.environment,
        a=side_of(a),
        b=replace(side_of(b), type=TENSORS, parameters=None, calls=len(rows)),
        inputs=a.inputs,
        names=Names("", ""),
        weights=None,
        calls=counts(row.status for row in rows),
        parameters=counts(()),
        buffers=counts(()),
        first=first,
        first_inexact=next((row.a for row in rows if row.a and row.status == "close"), None),
        order=None,
        output=(),
        rows=tuple(rows),
        state=(),
        warnings=tuple(f"A: {warning}" for warning in a.warnings),
        port=PortInfo((), "own", {}, (), ()),
    )


def _outputs(report: Report, values: Sketched) -> Iterator[tuple[LayerRow, TensorSummary]]:
    for row in report.layers:
        for summary in leaves(row, "outputs", values):
            yield row, summary


def _row(
    number: int,
    dump: TensorSummary,
    outputs: Sequence[tuple[LayerRow, TensorSummary]],
    tolerances: Tolerances,
) -> CallDiff:
    """Return the row of a tensor: with the nearest output of a call, if one is near."""
    name = dump.path.removeprefix("[").removesuffix("]").strip("'\".")
    there = CallRef(number, name, 0, "tensor", None)
    best = _nearest(name, dump, outputs)
    if best is None:
        return CallDiff(None, there, "only_b", None, None, fault=False)
    row, summary = best.row, best.summary
    rounds = coarser(summary.dtype, dump.dtype)
    limit = max(tolerances.limit(row.name, rounds, row.order), 0.0)
    diff = _compared(summary, dump, limit, best.far)
    status: RowStatus = diff.status
    return CallDiff(ref(row), there, status, None, diff.status, fault=False, outputs=(diff,))


def _compared(a: TensorSummary, b: TensorSummary, limit: float, far: float) -> TensorDiff:
    flat = judge_tensors(a, replace(b, shape=a.shape), limit, cast=True)
    flat = replace(flat, shapes=(a.shape, b.shape))
    if flat.status == "different" and a.shape != b.shape:
        return replace(
            flat, relative=far, how="values", status="close" if far <= limit else "different"
        )
    return flat


def _nearest(
    name: str, dump: TensorSummary, outputs: Sequence[tuple[LayerRow, TensorSummary]]
) -> _Candidate | None:
    own = print_of(dump.shape, dump.values)
    if own is None or not is_telling(own):
        return None
    found = []
    for row, summary in outputs:
        other = print_of(summary.shape, summary.values)
        if other is not None and other.numel == own.numel:
            found.append(_Candidate(row, summary, apart(other, own)))
    near = [one for one in found if one.far <= _NEAR]
    if not near:
        return None
    limit = limit_of([dump.dtype if dump.dtype in RTOL else "float32"])
    least = min(one.far for one in near)
    equal = [one for one in near if one.far <= max(least, limit)]
    return max(equal, key=lambda one: (_shares(name, one.row.name or ""), -one.far, one.row.depth))


def _shares(name: str, other: str) -> int:
    """Return how many parts of a dotted name are in the name of a tensor."""
    parts = set(name.replace("_", ".").replace("-", ".").split("."))
    return len(parts & set(other.replace("_", ".").split(".")))


def _ends(layers: Sequence[LayerRow]) -> dict[int, tuple[int, int]]:
    """Return when each call ends, by its order: after the calls inside of it."""
    last = {row.order: row.order for row in layers}
    for row in reversed(layers):
        if row.parent is not None:
            last[row.parent] = max(last[row.parent], last[row.order])
    return {row.order: (last[row.order], -row.depth) for row in layers}


def _first(rows: Sequence[CallDiff], ends: Mapping[int, tuple[int, int]]) -> First | None:
    """Return the difference at the call of A that ends first; else the first lone tensor."""
    apart_rows = [row for row in rows if row.a is not None and row.status == "different"]
    if apart_rows:
        row = min(apart_rows, key=lambda one: (0, 0) if one.a is None else ends[one.a.order])
        diff = row.outputs[0]
        assert row.a is not None and row.b is not None  # noqa: S101  # as chosen
        least = "at least " if diff.how == "values" else ""
        sentence = (
            f"the tensor {row.b.name} is nearest to the output of {named(row.a)}, and differs from "
            f"it by {least}{figure(diff.relative)} of its norm; tensors of earlier calls agree"
        )
        return First("output", row.a, row.b, None, None, sentence, diff.relative, diff.limit)
    lone = next((row for row in rows if row.a is None and row.b is not None), None)
    if lone is None or lone.b is None:
        return None
    sentence = f"no call of A returns the tensor {lone.b.name}, nor one that is near to it"
    return First("model", None, lone.b, None, None, sentence, None, None)
