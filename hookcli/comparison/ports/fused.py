"""Compares calls that the other model has fused into one, such as q, k and v, by what adds up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hookcli.comparison.diff import PortMatch, TensorDiff
from hookcli.comparison.matching import Sketched, leaves
from hookcli.comparison.ports.values import ValuePrint, apart, parts_apart, print_of
from hookcli.report.report import LayerRow


@dataclass(frozen=True, slots=True)
class FusedCalls:
    """The calls of A and of B in a match of which one side has several."""

    match: PortMatch
    ours: tuple[LayerRow, ...]
    theirs: tuple[LayerRow, ...]
    inputs: TensorDiff | None
    outputs: TensorDiff | None


def fused_calls(
    match: PortMatch,
    rows: Sequence[dict[int, LayerRow]],
    values: tuple[Sketched, Sketched],
    limit: float,
) -> FusedCalls:
    """Compare the calls of a match; `rows` are those of A and of B by their order.

    They get the same input. What several return is split, so that only sums over all of it can be
    compared: the difference is at least so large.
    """
    ours = tuple(rows[0][order] for order in match.a)
    theirs = tuple(rows[1][order] for order in match.b)
    inputs = _prints(ours[0], "inputs", values[0]), _prints(theirs[0], "inputs", values[1])
    outputs = [_prints(row, "outputs", values[0])[:1] for row in ours]
    others = [_prints(row, "outputs", values[1])[:1] for row in theirs]
    at_output = None
    if all(outputs) and all(others):
        a, b = ([one for prints in some for one in prints] for some in (outputs, others))
        far = parts_apart(a[0], b) if len(a) == 1 else parts_apart(b[0], a)
        at_output = _diff(ours[0], theirs[0], "outputs", far, limit)
    at_input = None
    if inputs[0] and inputs[1]:
        far = apart(inputs[0][0], inputs[1][0])
        at_input = _diff(ours[0], theirs[0], "inputs", far, limit)
    return FusedCalls(match, ours, theirs, at_input, at_output)


def _prints(row: LayerRow, part: str, values: Sketched) -> list[ValuePrint]:
    found = (print_of(one.shape, one.values) for one in leaves(row, part, values))
    return [one for one in found if one is not None]


def _diff(a: LayerRow, b: LayerRow, part: str, far: float, limit: float) -> TensorDiff:
    one, other = (a.inputs, b.inputs) if part == "inputs" else (a.outputs, b.outputs)
    return TensorDiff(
        path=one[0].path,
        other_path=other[0].path,
        shapes=(one[0].shape, other[0].shape),
        dtypes=(one[0].dtype, other[0].dtype),
        relative=far if far < float("inf") else "inf",
        limit=limit,
        how="values",
        status="close" if far <= limit else "different",
    )
