"""The rows of a diff and their cells."""

from __future__ import annotations

import dataclasses
import fnmatch
from dataclasses import dataclass

from hookcli.comparison.diff import CallDiff, CallRef, Diff, StateDiff, TensorDiff
from hookcli.console import escape
from hookcli.formats.parts.grid import Column
from hookcli.formats.parts.style import Style, status_style
from hookcli.formats.parts.text import cut, figure, shape
from hookcli.formats.view import View
from hookcli.report.values import Number
from hookcli.text import pluralize

_BEFORE = 2  # equal calls shown before the first difference
_FEW = 12  # matched calls that are shown if none differs
_MOST = 60  # rows of a table, unless --only asks for them
_FINE = ("same", "close", "unknown")
STATUS_WORDS = {
    "same": "same", "close": "close", "different": "differs", "unknown": "unknown",
    "only_a": "only A", "only_b": "only B",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Shown:
    """The rows to draw, and the total numbers of rows."""

    calls: list[CallDiff]
    of_calls: int
    state: list[StateDiff]


def _name(row: CallDiff) -> CallRef:
    call = row.a or row.b
    if call is None:
        raise ValueError("a row without a call in A or in B")
    return call


def select_rows(diff: Diff, view: View) -> Shown:
    """Return all rows that match --only; else differing rows, and the calls just before them."""
    if view.only is not None:
        glob = view.only
        calls = [r for r in diff.rows if fnmatch.fnmatchcase(_name(r).name or "", glob)]
        state = [r for r in diff.state if fnmatch.fnmatchcase(r.a or r.b or "", glob)]
        return Shown(calls, len(diff.rows), state)
    if diff.port is not None:
        return _select_matched(diff)
    differing = [i for i, row in enumerate(diff.rows) if row.status != "same"]
    both = [i for i in differing if diff.rows[i].a and diff.rows[i].b]
    before = range(max(both[0] - _BEFORE, 0), both[0]) if both else ()
    keep = {*differing, *before}
    calls = [row for i, row in enumerate(diff.rows) if i in keep][:_MOST]
    state = [row for row in diff.state if row.status not in _FINE][:_MOST]
    return Shown(calls, len(diff.rows), state)


def _select_matched(diff: Diff) -> Shown:
    """Return the matched calls from the first difference on; if none differs, the first ones."""
    matched = [row for row in diff.rows if row.a and row.b]
    apart = [i for i, row in enumerate(matched) if row.status == "different"]
    if diff.first is not None:
        ends = (diff.first.a, diff.first.b)
        apart = [i for i, row in enumerate(matched) if (row.a, row.b) == ends] or apart
    start = max(apart[0] - _BEFORE, 0) if apart else 0
    calls = matched[start:][: _MOST if apart else _FEW]
    return Shown(calls, len(diff.rows), [row for row in diff.state if row.status == "different"])


def _label(row: CallDiff) -> str:
    call = _name(row)
    name = "(not registered)" if call.name is None else escape(call.name)
    kind = escape(call.type)
    if row.a and row.b and row.a.type != row.b.type:
        kind += f" | {escape(row.b.type)}"
    text = f"{name} ({kind})" if name else kind
    return f"{text} #{call.call}" if call.call else text


def _named(call: CallRef | None) -> str:
    """Return the name and type of a call of one side."""
    if call is None:
        return "–"
    name = "(not registered)" if call.name is None else escape(call.name)
    text = f"{name} ({escape(call.type)})" if name else escape(call.type)
    return f"{text} #{call.call}" if call.call else text


def _shapes(difference: TensorDiff) -> str:
    ours, theirs = difference.shapes
    if ours == theirs and ours is not None:
        return shape(ours)
    return (
        f"{'none' if ours is None else shape(ours)} | {'none' if theirs is None else shape(theirs)}"
    )


def _output_shape(row: CallDiff) -> str:
    if not row.outputs:
        return "–"
    more = f" +{len(row.outputs) - 1}" if len(row.outputs) > 1 else ""
    return _shapes(worst_of(row.outputs)) + more


def worst_of(differences: tuple[TensorDiff, ...]) -> TensorDiff:
    """Return the worst difference of some tensors; there must be one."""
    rank = {"same": 0, "close": 1, "unknown": 2, "different": 3}
    return max(
        differences, key=lambda difference: (rank[difference.status], value(difference.relative))
    )


def value(relative: Number | None) -> float:
    """Return a sort key; unknown values come first."""
    return -1.0 if relative is None else float(relative)


def size(differences: tuple[TensorDiff, ...]) -> str:
    """Return the largest difference among tensors: "0", "1.2e-07", "shape"."""
    if not differences:
        return "–"
    worst = worst_of(differences)
    if worst.how in {"shape", "dtype", "structure", "nonfinite"} and worst.status == "different":
        return worst.how
    if worst.status == "same":
        return "0"
    text = figure(worst.relative)
    return f"≈{text}" if worst.how == "sketch" and worst.relative else text


def verdict(row: CallDiff) -> str:
    """Return the status of a call in words, with what agrees and what differs."""
    if row.fault:
        return "inputs agree, output differs"
    if row.status == "different" and row.at_input == "different":
        return "inputs already differ"
    return STATUS_WORDS[row.status]


def _short_verdict(row: CallDiff, width: int) -> str:
    """Return the verdict within a width; the column of inputs shows what is omitted."""
    text = verdict(row)
    if len(text) <= width:
        return text
    return cut("output differs" if row.fault else text.replace("already ", ""), width)


def _limit(row: CallDiff) -> str:
    limits = [output.limit for output in row.outputs if output.limit is not None]
    return figure(max(limits)) if limits else "–"


CALLS: dict[str, Column[CallDiff]] = {
    "layer": Column("Layer (type)", _label, least=26, distinct=True),
    "output": Column("Output", _output_shape, least=13, spare=True),
    "at_input": Column("Input diff", lambda row: size(row.inputs), right=True),
    "at_output": Column("Output diff", lambda row: size(row.outputs), right=True),
    "limit": Column("Limit", _limit, right=True),
    "verdict": Column(
        "Verdict",
        verdict,
        least=14,
        fit=_short_verdict,
        style=lambda row: status_style(row.status),
    ),
}
CALLS_GIVE_WAY = ("limit", "output")


def calls_of(diff: Diff) -> dict[str, Column[CallDiff]]:
    """The columns of calls; the first call that differs stands out."""

    def style(row: CallDiff) -> Style | None:
        first = diff.first
        is_first = first is not None and (row.a, row.b) == (first.a, first.b)
        return Style.WORST if is_first else None

    layer = dataclasses.replace(CALLS["layer"], style=style)
    if diff.port is None:
        return {**CALLS, "layer": layer}
    return {
        "layer": dataclasses.replace(layer, title="A", text=lambda row: _named(row.a)),
        "other": Column("B", lambda row: _named(row.b), least=20, distinct=True),
        **{name: column for name, column in CALLS.items() if name != "layer"},
    }


def _state_label(row: StateDiff) -> str:
    text = escape(row.a or row.b or "")
    return text if row.kind == "parameter" else f"{text} (buffer)"


def _state_shape(row: StateDiff) -> str:
    return "–" if row.value is None else _shapes(row.value)


def state_verdict(row: StateDiff) -> str:
    """Return the status of a parameter or buffer in words, with what differs."""
    if row.status != "different":
        return STATUS_WORDS[row.status]
    bad = [
        what
        for what, difference in (("value", row.value), ("gradient", row.gradient))
        if difference is not None and difference.status == "different"
    ]
    return f"{' and '.join(bad)} {pluralize(len(bad), 'differs', 'differ')}"


def _cell(difference: TensorDiff | None) -> str:
    return "–" if difference is None else size((difference,))


STATE_GIVE_WAY = ("shape", "gradient")
STATE: dict[str, Column[StateDiff]] = {
    "name": Column("Parameter", _state_label, least=16, distinct=True),
    "shape": Column("Shape", _state_shape, least=10, spare=True),
    "value": Column("Value", lambda row: _cell(row.value), right=True),
    "gradient": Column("Gradient", lambda row: _cell(row.gradient), right=True),
    "verdict": Column(
        "Verdict", state_verdict, least=12, style=lambda row: status_style(row.status)
    ),
}
