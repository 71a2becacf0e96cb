"""What is said of a diff beside its rows, for every format that a person reads."""

from __future__ import annotations

from hookcli.comparison.diff import Counts, Diff, ExactDiff, SideInfo
from hookcli.console import escape
from hookcli.formats.diff.rows import Shown, value
from hookcli.formats.parts.text import figure, number, place, shape
from hookcli.formats.view import View
from hookcli.report.values import Number
from hookcli.text import join_names, pluralize


def _side(side: SideInfo) -> str:
    run = f"{side.run.mode}, {side.run.device}"
    name = f"{escape(side.source)} ({escape(side.type or '?')})"
    return f"{name}, {number(side.parameters)} parameters, {run}"


def head(diff: Diff) -> list[tuple[str, str]]:
    """The two sides, and how they were brought together."""
    lines = [("A", _side(diff.a)), ("B", _side(diff.b))]
    if diff.inputs is not None:
        lines.append(("Batch", f"{diff.inputs.origin}, the same for both"))
    if diff.weights is not None or not diff.calls.unknown:
        lines.append(("Weights", weights(diff)))
    return lines


def weights(diff: Diff) -> str:
    """Whose weights B ran with."""
    held = diff.weights
    if held is None:
        return "each its own"
    text = f"{held.loaded} of A's tensors went into B"
    if held.differed:
        text += f", which held other values in {len(held.differed)}"
    left = []
    if held.misfits:
        misfit = held.misfits[0]
        a, b = shape(misfit.a_shape), shape(misfit.b_shape)
        left.append(f"{escape(misfit.name)} is {a} in A and {b} in B")
        if len(held.misfits) > 1:
            left.append(f"{len(held.misfits) - 1} more of another shape")
    left += [
        f"{join_names([escape(name) for name in names])} in {side} alone"
        for side, names in (("A", held.only_a), ("B", held.only_b))
        if names
    ]
    return f"{text}; did not fit: {'; '.join(left)}" if left else text


def _precise(value: Number | str | None) -> str:
    """In as many digits as tell float32 numbers apart."""
    return f"{value:.7g}" if isinstance(value, float) else escape(str(value))


def _exact(side: str, differences: tuple[ExactDiff, ...] | None) -> list[str]:
    lines = []
    for difference in (differences or ())[:3]:
        where = f"{side}{escape(difference.path)}"
        if not difference.differ:
            lines.append(f"{where}: equal in all of {difference.numel:,} elements")
            continue
        values = f"{_precise(difference.a)} against {_precise(difference.b)}"
        lines.append(
            f"{where}: {difference.differ:,} of {difference.numel:,} elements differ, "
            f"by {figure(difference.relative)} of its norm, "
            f"at most by {figure(difference.max_abs)} at {shape(difference.at or ())}: {values}"
        )
    return lines


def first(diff: Diff) -> list[tuple[str, str]]:
    """Where the two part, a labelled line for each thing that is known of it."""
    difference = diff.first
    if difference is None:
        return []
    lines = [("First difference", escape(difference.sentence))]
    call, other = difference.a, difference.b
    for label, ref in (
        ("in A", difference.within or call),
        ("in B", None if difference.within else other),
    ):
        if ref is not None and ref.place is not None:
            lines.append((label, place(ref.place)))
    lines += [("exactly", text) for text in _exact("input", difference.inputs)]
    lines += [("exactly", text) for text in _exact("output", difference.outputs)]
    return lines


def _counted(what: str, counts: Counts) -> str:
    parts = [
        f"{number} {word}"
        for number, word in (
            (counts.same, "the same bit for bit"),
            (counts.close, "close"),
            (counts.different, "different"),
            (counts.unknown, "not known"),
            (counts.only_a, "only in A"),
            (counts.only_b, "only in B"),
        )
        if number
    ]
    return f"{what}: {', '.join(parts)}" if parts else ""


def totals(diff: Diff) -> list[str]:
    """How many of everything are the same."""
    lines = [
        _counted(what, counts)
        for what, counts in (
            ("calls", diff.calls),
            ("parameters", diff.parameters),
            ("buffers", diff.buffers),
        )
    ]
    return [line for line in lines if line]


def notes(diff: Diff, rows: Shown, view: View) -> list[str]:
    """What else is to be known."""
    lines = [escape(text) for text in diff.warnings]
    if diff.order is not None:
        a, b = diff.order.a, diff.order.b
        lines.append(
            f"the order of calls parts where A calls {escape(a.name or a.type)} and B "
            f"{escape(b.name or b.type)}"
        )
    hidden = rows.of_calls - len(rows.calls)
    if hidden and view.only is None and rows.calls:
        lines.append(f"{hidden} calls are not shown: --only '*' or -f json shows all")
    if diff.first is None and diff.first_inexact is not None:
        call = diff.first_inexact
        lines.append(f"the first call not the same bit for bit is {escape(call.name or call.type)}")
    return lines


def last_line(diff: Diff) -> str:
    """SAME or DIFFERENT, and why."""
    if diff.verdict == "different":
        return f"DIFFERENT: {escape(', '.join(diff.reasons))}"
    alone = diff.calls.only_a + diff.calls.only_b
    has = f"{alone} {pluralize(alone, 'call has', 'calls have')}"
    rest = f"; {has} no partner" if alone else ""
    if diff.calls.unknown:
        return f"SAME as far as the reports tell{rest}"
    if diff.calls.close or diff.parameters.close:
        return f"SAME within tolerance, the largest difference {largest(diff)} of a norm{rest}"
    return f"SAME bit for bit{rest}"


def largest(diff: Diff) -> str:
    """The largest difference among all tensors of calls."""
    values = [
        value(difference.relative)
        for row in diff.rows
        for difference in (*row.inputs, *row.outputs)
    ]
    return figure(max(values, default=0.0))
