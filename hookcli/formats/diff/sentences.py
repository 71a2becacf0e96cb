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
    found = [("A", _side(diff.a)), ("B", _side(diff.b))]
    if diff.inputs is not None:
        found.append(("Batch", f"{diff.inputs.origin}, the same for both"))
    if diff.weights is not None or not diff.calls.unknown:
        found.append(("Weights", weights(diff)))
    return found


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
        one = held.misfits[0]
        left.append(
            f"{escape(one.name)} is {shape(one.a_shape)} in A and {shape(one.b_shape)} in B"
        )
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


def _exact(side: str, found: tuple[ExactDiff, ...] | None) -> list[str]:
    lines = []
    for one in (found or ())[:3]:
        where = f"{side}{escape(one.path)}"
        if not one.differ:
            lines.append(f"{where}: equal in all of {one.numel:,} elements")
            continue
        at = f"at {shape(one.at or ())}: {_precise(one.a)} against {_precise(one.b)}"
        lines.append(
            f"{where}: {one.differ:,} of {one.numel:,} elements differ, by {figure(one.relative)} "
            f"of its norm, at most by {figure(one.max_abs)} {at}"
        )
    return lines


def first(diff: Diff) -> list[tuple[str, str]]:
    """Where the two part, a labelled line for each thing that is known of it."""
    found = diff.first
    if found is None:
        return []
    lines = [("First difference", escape(found.sentence))]
    call, other = found.a, found.b
    for label, ref in (("in A", found.within or call), ("in B", None if found.within else other)):
        if ref is not None and ref.place is not None:
            lines.append((label, place(ref.place)))
    lines += [("exactly", text) for text in _exact("input", found.inputs)]
    lines += [("exactly", text) for text in _exact("output", found.outputs)]
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
    found = [escape(text) for text in diff.warnings]
    if diff.order is not None:
        a, b = diff.order.a, diff.order.b
        found.append(
            f"the order of calls parts where A calls {escape(a.name or a.type)} and B "
            f"{escape(b.name or b.type)}"
        )
    hidden = rows.of_calls - len(rows.calls)
    if hidden and view.only is None and rows.calls:
        found.append(f"{hidden} calls are not shown: --only '*' or -f json shows all")
    if diff.first is None and diff.first_inexact is not None:
        call = diff.first_inexact
        found.append(f"the first call not the same bit for bit is {escape(call.name or call.type)}")
    return found


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
    found = [value(one.relative) for row in diff.rows for one in (*row.inputs, *row.outputs)]
    return figure(max(found, default=0.0))
