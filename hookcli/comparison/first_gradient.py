"""Find where the gradients of two runs part: nearest to the loss, in the order of backward."""

from __future__ import annotations

from collections.abc import Sequence

from hookcli.comparison.diff import First, StateDiff
from hookcli.comparison.first_difference import by_how_much, named
from hookcli.comparison.walk import ref
from hookcli.report.path_ends.end_rows import backward_order, cut_before, new_cuts
from hookcli.report.report import Report


def first_gradient(state: Sequence[StateDiff], a: Report, b: Report) -> First | None:
    """Return the first gradient that differs, if all calls agree; None if none differs."""
    graded = {row.a: row for row in state if row.a is not None and row.gradient is not None}
    apart = [
        (graded[parameter.name], call)
        for parameter, call in backward_order(a)
        if parameter.name in graded and _differs(graded[parameter.name])
    ]
    if not apart:
        return None
    row, call = apart[0]
    difference = row.gradient
    assert difference is not None  # noqa: S101  # as in `graded`
    where = "" if call is None else f" at {named(ref(call))}"
    sentence = (
        f"all calls agree, but in backward, gradients first differ{where}: the gradient of {row.a} "
        f"{by_how_much(difference)}"
    )
    if len(apart) > 1:
        sentence += f"; {len(apart)} of {len(graded)} gradients differ"
    sentence += _cut(a, b, [row for row, _ in apart])
    return First(
        "gradient", None, None, None, None, sentence, difference.relative, difference.limit
    )


def _differs(row: StateDiff) -> bool:
    return row.gradient is not None and row.gradient.status == "different"


def _cut(a: Report, b: Report, apart: Sequence[StateDiff]) -> str:
    """Return the operator that cuts one of these gradients on one side only."""
    for name, then, now, parameters in (
        ("B", a, b, [row.b for row in apart if row.b is not None]),
        ("A", b, a, [row.a for row in apart if row.a is not None]),
    ):
        end = cut_before(new_cuts(then, now), parameters)
        if end is not None:
            return f": in {name}, {end}"
    return ""
