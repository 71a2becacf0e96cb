"""Compares two implementations of a model whose modules have other names."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

from hookcli.comparison.compare import counts, side_of
from hookcli.comparison.diff import (
    SCHEMA,
    CallDiff,
    Diff,
    First,
    Names,
    PortInfo,
    PortMatch,
    StateDiff,
    TensorDiff,
)
from hookcli.comparison.first_difference import by_how_much
from hookcli.comparison.matching import Sketched, alignment, sketched
from hookcli.comparison.ports.calls import calls_of, owners_of
from hookcli.comparison.ports.fused import FusedCalls, fused_calls
from hookcli.comparison.ports.maps.fits import Made
from hookcli.comparison.ports.maps.weight_map import folded
from hookcli.comparison.ports.matches import CallMatcher, Groups, limit_of
from hookcli.comparison.ports.port_finder import PortFinder, PortFinding
from hookcli.comparison.ports.port_walk import PortWalk
from hookcli.comparison.ports.port_weights import weight_rows
from hookcli.comparison.state import casts_of
from hookcli.comparison.tolerance import RTOL, Tolerances, agrees, worst
from hookcli.comparison.walk import Exact, moments, ref
from hookcli.report.path_ends.end_rows import backward_order
from hookcli.report.report import Report
from hookcli.text import counted


@dataclass(frozen=True, slots=True)
class PortSettings:
    """How to compare two implementations.

    `made` tells what of A makes each tensor of B, and `groups` the modules of which it was
    inferred. `weights` is how B got its weights; `unused` and `missing` are without a counterpart.
    """

    made: Made
    groups: Groups
    weights: Literal["given", "inferred", "own"]
    unused: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    tolerances: Tolerances = field(default_factory=Tolerances)
    exact: Exact = field(default_factory=dict)


def compare_ports(a: Report, b: Report, settings: PortSettings) -> Diff:
    """Return the differences of two implementations, with rows in A's order of calls.

    The verdict is that of what the models return: calls inside may differ where the two compute the
    same in another way.
    """
    values = sketched(a), sketched(b)
    matches = _matched(a, b, values, settings)
    theirs = {row.order: row for row in b.layers}
    pairs = {
        match.a[0]: theirs[match.b[0]] for match in matches if len(match.a) == len(match.b) == 1
    }
    cast = bool(casts_of(a, b, alignment(a, b))) or _dtypes(a) != _dtypes(b)
    walk = PortWalk(pairs, values, settings.tolerances, settings.exact, cast=cast, traced=False)
    walk.by_output = frozenset(match.a[0] for match in matches if match.how == "values")
    order = moments(a.layers)
    walk.go(order, {row.parent for row in a.layers if row.parent is not None})
    output = walk.compare_outputs(a.layers[0], b.layers[0]) if a.layers and b.layers else ()
    known = output or [one for moment in order for one in walk.differences(moment)]
    differs = not agrees(worst(known))
    by_order = [{row.order: row for row in a.layers}, theirs]
    fused = [
        fused_calls(match, by_order, values, walk.limit_of(by_order[0][match.a[0]]))
        for match in matches
        if len(match.a) + len(match.b) > 2
    ]
    layers = (a.layers, b.layers)
    states = tuple(
        weight_rows(a, b, values, settings.made, walk, cast=cast, graded=_has_one_loss(a, b))
    )
    finder = PortFinder(
        walk,
        order,
        pairs,
        matches,
        fused,
        layers,
        values,
        states,
        settings.exact,
        agree=not differs,
    )
    inside = finder.first()
    found = (inside or _of_output(output)) if differs else _of_gradients(states, a)
    is_inside = inside is not None and not differs
    differs = differs or found is not None
    rows = tuple(_with_fused(walk.rows(a.layers, b.layers), fused))
    return Diff(
        schema=SCHEMA,
        verdict="different" if differs else "same",
        reasons=tuple(_reasons(rows, output, states)) if differs else (),
        environment=a.environment,
        a=side_of(a),
        b=side_of(b),
        inputs=a.inputs,
        names=Names("", ""),
        weights=None,
        calls=counts(row.status for row in rows),
        parameters=counts(row.status for row in states if row.kind == "parameter"),
        buffers=counts(row.status for row in states if row.kind == "buffer"),
        first=None if found is None else found.first,
        first_inexact=next((row.a for row in rows if row.a and row.status == "close"), None),
        order=None,
        output=output,
        rows=rows,
        state=states,
        warnings=tuple(_warnings(a, b, settings, output, inside if is_inside else None)),
        port=PortInfo(
            matches=tuple(matches),
            weights=settings.weights,
            map=folded(settings.made, _flat(b)),
            unused=settings.unused,
            missing=settings.missing,
            stretch=None if found is None else found.stretch,
        ),
    )


def _matched(
    a: Report, b: Report, values: tuple[Sketched, Sketched], settings: PortSettings
) -> list[PortMatch]:
    owners = owners_of(a), owners_of(b)
    ours, theirs = calls_of(a, values[0], owners[0]), calls_of(b, values[1], owners[1])
    if not ours or not theirs:
        return []
    named = (
        dict.fromkeys(row.name for row in report.layers if row.name is not None)
        for report in (a, b)
    )
    names = alignment(a, b).pairs(*named)
    mapped = {
        unit: target
        for group, targets in settings.groups
        for unit in group
        for target in targets
        if len(group) == len(targets) == 1
    }
    fine = {
        name: other
        for name, other in names.items()
        if mapped.get(name, other) == other and (name in owners[0]) == (other in owners[1])
    }
    limit = limit_of([*_dtypes(a), *_dtypes(b)])
    matcher = CallMatcher(ours, theirs, fine, settings.groups, limit)
    return [PortMatch(match.a, match.b, match.how) for match in matcher.run()]


def _dtypes(report: Report) -> set[str]:
    return {row.dtype for row in report.parameters if row.dtype in RTOL} or {"float32"}


def _flat(report: Report) -> set[str]:
    flat = {row.name for row in report.parameters if len(row.shape) < 2}
    return flat | {row.name for row in report.buffers if len(row.shape) < 2}


def _of_output(output: Sequence[TensorDiff]) -> PortFinding | None:
    bad = [one for one in output if one.status == "different"]
    if not bad:
        return None
    sentence = f"all calls with a counterpart agree, but the model's output {by_how_much(bad[0])}"
    return PortFinding(
        First("model", None, None, None, None, sentence, bad[0].relative, bad[0].limit)
    )


def _has_one_loss(a: Report, b: Report) -> bool:
    """Return whether both models have the same loss, so that gradients can be compared.

    The default loss is one of all outputs, and a port may return more or fewer of them.
    """
    ours, theirs = a.run.losses, b.run.losses
    if not ours or not theirs:
        return False
    first, other = float(ours[-1] or 0), float(theirs[-1] or 0)
    return abs(first - other) <= limit_of([*_dtypes(a), *_dtypes(b)]) * abs(first)


def _of_gradients(states: Sequence[StateDiff], a: Report) -> PortFinding | None:
    """Return the gradient that differs first in backward, if the outputs agree."""
    apart = {
        row.a: row
        for row in states
        if row.gradient is not None and row.gradient.status == "different"
    }
    if not apart:
        return None
    order = [parameter.name for parameter, _ in backward_order(a)]
    known = [name for name in order if name in apart]
    row = apart[known[0]] if known else next(iter(apart.values()))
    difference = row.gradient
    assert difference is not None  # noqa: S101  # as in `apart`
    sentence = (
        f"all calls agree, but in backward, gradients first differ at {row.a} and {row.b}: the "
        f"gradient {by_how_much(difference)}"
    )
    count = sum(one.gradient is not None for one in states)
    if len(apart) > 1:
        sentence += f"; {len(apart)} of {count} gradients differ"
    first = First(
        "gradient", None, None, None, None, sentence, difference.relative, difference.limit
    )
    return PortFinding(first)


def _with_fused(rows: Iterable[CallDiff], fused: Sequence[FusedCalls]) -> Iterator[CallDiff]:
    """Yield the rows; fused calls have one counterpart, and are compared together."""
    of_a = {row.order: one for one in fused for row in one.ours}
    taken = {row.order for one in fused for row in one.theirs}
    for row in rows:
        if row.a is not None and row.a.order in of_a:
            one = of_a[row.a.order]
            found = [part for part in (one.inputs, one.outputs) if part is not None]
            inputs, outputs = (
                () if part is None else (part,) for part in (one.inputs, one.outputs)
            )
            status = worst(found) or "unknown"
            at = worst(inputs), worst(outputs)
            fault = agrees(at[0]) and not agrees(at[1])
            other = ref(one.theirs[0])
            yield CallDiff(row.a, other, status, *at, fault, inputs, outputs)
        elif row.a is not None or row.b is None or row.b.order not in taken:
            yield row


def _reasons(
    rows: Sequence[CallDiff], output: Sequence[TensorDiff], states: Sequence[StateDiff]
) -> Iterator[str]:
    calls = sum(row.status == "different" for row in rows)
    paired = sum(row.a is not None and row.b is not None for row in rows)
    if calls:
        yield f"{calls} of {counted(paired, 'matched call')}"
    if any(one.status == "different" for one in output):
        yield "the output of the model"
    graded = [row.gradient for row in states if row.gradient is not None]
    apart = sum(gradient.status == "different" for gradient in graded)
    if apart:
        yield f"{apart} of {counted(len(graded), 'gradient')}"


def _warnings(
    a: Report,
    b: Report,
    settings: PortSettings,
    output: Sequence[TensorDiff],
    inside: PortFinding | None,
) -> Iterator[str]:
    if inside is not None:
        yield f"the outputs of the models agree within tolerance, but {inside.first.sentence}"
    if a.run.losses and b.run.losses and not _has_one_loss(a, b):
        yield "gradients are not compared, since the losses differ: pass a `--loss` for both"
    count = len(settings.made)
    if settings.weights == "inferred":
        yield (
            f"names differ: {counted(count, 'tensor')} of B were made of A's by a map that was "
            "inferred from calls, shapes and names; `--suggest-map FILE` writes it"
        )
    if settings.missing and settings.weights != "own":
        yield (
            f"{counted(len(settings.missing), 'parameter')} of B have no counterpart in A, and "
            f"keep B's values: {_some(settings.missing)}"
        )
    if settings.unused:
        yield (
            f"{counted(len(settings.unused), 'parameter')} of A are not used in B: "
            f"{_some(settings.unused)}"
        )
    returned = len(a.layers[0].outputs) if a.layers else 0
    if output and returned > len(output):
        yield f"{len(output)} of {returned} tensors that A returns have a counterpart in B"
    for side, report in (("A", a), ("B", b)):
        yield from (f"{side}: {warning}" for warning in report.warnings)


def _some(names: Sequence[str]) -> str:
    shown = ", ".join(names[:3])
    return shown if len(names) <= 3 else f"{shown} and {len(names) - 3:,} more"
