"""Compare two reports. Pure: this needs no torch and runs no model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from hookcli.comparison.align import Alignment
from hookcli.comparison.diff import (
    SCHEMA,
    CallDiff,
    Counts,
    Diff,
    First,
    Names,
    OrderDiff,
    SideInfo,
    StateDiff,
    TensorDiff,
)
from hookcli.comparison.first_difference import Finder, by_how_much, named, own_hooks
from hookcli.comparison.matching import Sketched, alignment, paired_calls, sketched
from hookcli.comparison.state import casts_of, states
from hookcli.comparison.tolerance import Tolerances, agrees, worst
from hookcli.comparison.walk import Exact, Walk, moments, ref
from hookcli.report.measured.compared import Weights
from hookcli.report.path_ends.end_rows import backward_order, cut_before, new_cuts
from hookcli.report.report import LayerRow, Report
from hookcli.text import counted


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


_GRAPHS = {"torchscript", "exported"}  # formats that drop what no operator reads


@dataclass(frozen=True, slots=True)
class Settings:
    """How to compare. `exact` contains the calls that were compared element by element."""

    tolerances: Tolerances = field(default_factory=Tolerances)
    exact: Exact = field(default_factory=dict)


def compare(a: Report, b: Report, settings: Settings | None = None) -> Diff:
    """Return the differences of two runs, with rows in A's order of calls.

    Values are comparable only if both reports are complete and of runs with the same batch.
    """
    settings = settings or Settings()
    names, values = alignment(a, b), (sketched(a), sketched(b))
    pairs = paired_calls(a, b, names)
    cast = casts_of(a, b, names)
    traced = not _GRAPHS.isdisjoint({a.model.format, b.model.format})
    walk = Walk(pairs, values, settings.tolerances, settings.exact, cast=bool(cast), traced=traced)
    order = moments(a.layers)
    walk.go(order, {row.parent for row in a.layers if row.parent is not None})
    rows = walk.rows(a.layers, b.layers)
    state = states(a, b, names, values, settings.tolerances, walk=walk, cast=cast)
    output = _output(a, b, walk)
    finder = Finder(walk, order, pairs, b.layers, settings.exact, own_hooks(a, b))
    order_diff = _order(a.layers, pairs)
    reasons = _reasons(a, b, rows, state, output, order_diff)
    first = finder.first(state) or _otherwise(state, output, a, b)
    return Diff(
        schema=SCHEMA,
        verdict="different" if reasons else "same",
        reasons=tuple(reasons),
        environment=a.environment,
        a=side_of(a),
        b=side_of(b),
        inputs=a.inputs,
        names=Names(names.prefix_a, names.prefix_b),
        weights=_weights(b),
        calls=counts(row.status for row in rows),
        parameters=counts(row.status for row in state if row.kind == "parameter"),
        buffers=counts(row.status for row in state if row.kind == "buffer"),
        first=first,
        first_inexact=finder.first_inexact(),
        order=order_diff,
        output=output,
        rows=rows,
        state=state,
        warnings=tuple(_warnings(a, b, names, values, cast)),
    )


def side_of(report: Report) -> SideInfo:
    """Return the model of a side, and how it was run."""
    model = report.model
    calls = len(report.layers)
    environment = report.environment
    return SideInfo(model.source, model.type, model.parameters, calls, report.run, environment)


def counts(statuses: Iterable[str]) -> Counts:
    """Return how many rows have each status."""
    return Counts(**Counter(statuses))


def _weights(report: Report) -> Weights | None:
    value = next((m.value for m in report.measurements if m.probe == "weights"), None)
    if value is None:
        return None
    return Weights(  # without the dtypes, which only the comparison needs
        loaded=value["loaded"],
        differed=value["differed"],
        misfits=value["misfits"],
        only_a=value["only_a"],
        only_b=value["only_b"],
    )


def _root(report: Report) -> LayerRow | None:
    return next((row for row in report.layers if row.parent is None), None)


def _output(a: Report, b: Report, walk: Walk) -> tuple[TensorDiff, ...]:
    """Compare what the two models return, regardless of the names of modules."""
    ours, theirs = _root(a), _root(b)
    if ours is None or theirs is None:
        return ()
    return walk.compare_outputs(ours, theirs)


def _order(rows: Iterable[LayerRow], pairs: Mapping[int, LayerRow]) -> OrderDiff | None:
    """Return the first difference in the order of the calls that both make."""
    ours = [row for row in rows if row.order in pairs]
    back = {partner.order: row for row, partner in ((r, pairs[r.order]) for r in ours)}
    for row, order in zip(ours, sorted(back), strict=True):
        if back[order] is not row:
            return OrderDiff(ref(row), ref(pairs[back[order].order]))
    return None


def _reasons(
    a: Report,
    b: Report,
    rows: tuple[CallDiff, ...],
    state: tuple[StateDiff, ...],
    output: tuple[TensorDiff, ...],
    order: OrderDiff | None,
) -> list[str]:
    """Return why the two are not the same, the most important first; empty if they are."""
    reasons = []
    calls = sum(row.status == "different" for row in rows)
    if calls:
        paired = sum(row.status not in {"only_a", "only_b"} for row in rows)
        reasons.append(f"{calls} of {counted(paired, 'call')}")
    elif not agrees(worst(output)):
        reasons.append("the output of the model")
    for kind in ("parameter", "buffer"):
        both = [row for row in state if row.kind == kind and row.a and row.b]
        differ = sum(not agrees(row.value.status) for row in both if row.value is not None)
        if differ:
            reasons.append(f"{differ} of {counted(len(both), kind)}")
    graded = [row.gradient for row in state if row.gradient is not None]
    differ = sum(not agrees(gradient.status) for gradient in graded)
    if differ:
        reasons.append(f"{differ} of {counted(len(graded), 'gradient')}")
    ours, theirs = a.model.parameters, b.model.parameters
    if ours is not None and theirs is not None and ours != theirs:
        reasons.append(f"{ours:,} parameters in A and {theirs:,} in B")
    if order is not None:
        reasons.append("the order of calls")
    return reasons


def _otherwise(
    state: tuple[StateDiff, ...], output: tuple[TensorDiff, ...], a: Report, b: Report
) -> First | None:
    """Return the first difference if all calls agree."""
    bad = [difference for difference in output if difference.status == "different"]
    if bad:
        sentence = (
            f"all calls with a counterpart agree, but the model's output {by_how_much(bad[0])}"
        )
        return First("model", None, None, None, None, sentence, bad[0].relative, bad[0].limit)
    first = first_gradient(state, a, b)
    if first is not None:
        return first
    for row in state:
        difference = row.value
        if difference is not None and difference.status == "different":
            sentence = f"all calls agree, but the {row.kind} {row.a} {by_how_much(difference)}"
            return First(
                "parameter", None, None, None, None, sentence, difference.relative, difference.limit
            )
    return None


def _warnings(
    a: Report,
    b: Report,
    names: Alignment,
    values: tuple[Sketched, Sketched],
    cast: dict[str, str],
) -> Iterable[str]:
    if names.prefix_a or names.prefix_b:
        side, prefix = ("A", names.prefix_a) if names.prefix_a else ("B", names.prefix_b)
        yield f"names in {side} begin with '{prefix}.', which the comparison ignores"
    for here, there in cast.items():
        yield f"parameters are {here} in A and {there} in B: differences of dtype are ignored"
    if values[0].is_empty or values[1].is_empty:
        yield "the reports contain no sketches of values: only shapes, dtypes, norms are compared"
    for side, report in (("A", a), ("B", b)):
        yield from (f"{side}: {warning}" for warning in report.warnings)
