"""The report of a comparison of weights: what changed, by layer and by tensor, the most first."""

from __future__ import annotations

import fnmatch
from collections.abc import Sequence

from hookcli.console import escape
from hookcli.formats.document.document import (
    Block,
    Document,
    Fact,
    FactsBlock,
    LastLine,
    LinesBlock,
    TableBlock,
    TreeBlock,
)
from hookcli.formats.parts.grid import Column
from hookcli.formats.parts.style import Style, paint
from hookcli.formats.parts.summary import hidden_rows
from hookcli.formats.parts.text import figure, number, shape, size
from hookcli.formats.view import View
from hookcli.formats.weights.document import FORMATS
from hookcli.report.weights.weights_diff import (
    WeightsChange,
    WeightsDiff,
    WeightsGroup,
    WeightsSide,
)
from hookcli.text import counted, pluralize

_MOST = 60  # tensors, unless --only asks for them
_MOST_GROUPS = 40
_FAINT = {"same", "close", "renamed"}
_WORDS = ("same", "close", "changed", "renamed", "reshaped", "added", "removed", "unknown")


def build(diff: WeightsDiff, view: View) -> Document:
    """Return the document, whose last line begins with SAME or DIFFERENT."""
    rows, matching = _rows(diff, view)
    groups = [group for group in diff.groups if group.changed]
    blocks = (
        TableBlock(_GROUPS, groups[:_MOST_GROUPS] if len(groups) > 1 else [], "layer"),
        TableBlock(_ROWS, rows, "tensor", give_way=("numel", "differing", "dtype")),
    )
    notes = _notes(diff, len(rows), matching, view)
    if len(groups) > _MOST_GROUPS:
        notes.append(f"{len(groups) - _MOST_GROUPS} more layers changed: use `-f json`")
    return _document(diff, blocks, notes)


def build_tree(diff: WeightsDiff, view: View) -> Document:
    """Return the document with every tensor below its layer, also those that are the same."""
    rows = _matching(diff, view)
    below: dict[str, list[WeightsChange]] = {}
    for row in rows:
        below.setdefault((row.a or row.b or "").rpartition(".")[0], []).append(row)
    tee, end = ("├─ ", "└─ ") if view.unicode else ("|- ", "`- ")
    texts = []
    for name, group in below.items():
        texts += [paint(escape(name), Style.TITLE, color=view.color)] if name else []
        for at, row in enumerate(group):
            guide = "" if not name else end if at == len(group) - 1 else tee
            texts.append(paint(guide, Style.FAINT, color=view.color) + _told(row, name))
    return _document(diff, (TreeBlock(texts),), _notes(diff, len(rows), len(rows), view))


def _told(row: WeightsChange, above: str) -> str:
    """Return a tensor on one line, without the name of its layer."""
    label = _name(row) if row.status == "renamed" else escape(row.a or row.b or "")
    if row.status != "renamed" and above:
        label = label.removeprefix(f"{escape(above)}.")
    parts = [label, _shapes(row), _both(row.dtypes), _status(row)]
    if row.differing:
        parts += [f"relative {figure(row.relative)}", f"largest {figure(row.largest)}"]
        parts.append(f"{number(row.differing)} differ")
    return "  ".join(parts)


def _document(diff: WeightsDiff, blocks: Sequence[Block], notes: Sequence[str]) -> Document:
    sides = [Fact(label, side(one), is_title=True) for label, one in (("A", diff.a), ("B", diff.b))]
    return Document(
        "",
        (FactsBlock(sides, align=2), *blocks, LinesBlock(totals(diff))),
        [*map(escape, diff.warnings), *notes],
        LastLine(last_line(diff), diff.verdict == "same"),
    )


def side(one: WeightsSide) -> str:
    """Return what A or B is."""
    kind = FORMATS.get(one.format, escape(one.format))
    return f"{escape(one.source)} ({kind}, {counted(one.tensors, 'tensor')}, {size(one.bytes)})"


def _rows(diff: WeightsDiff, view: View) -> tuple[list[WeightsChange], int]:
    """Return the rows to show, and how many there are of the sort that is asked for."""
    if view.only is not None:
        rows = _matching(diff, view)
        return rows, len(rows)
    rows = [row for row in diff.rows if row.status != "same"]
    return rows[:_MOST], len(rows)


def _matching(diff: WeightsDiff, view: View) -> list[WeightsChange]:
    """Return the rows that --only asks for; all without it."""
    glob = view.only
    return [
        row
        for row in diff.rows
        if glob is None
        or any(fnmatch.fnmatchcase(name, glob) for name in (row.a, row.b) if name is not None)
    ]


def _notes(diff: WeightsDiff, shown: int, matching: int, view: View) -> list[str]:
    if view.only is not None and not shown:
        return [f"no tensor matches --only {escape(view.only)}"]
    notes = hidden_rows(shown, matching, "tensor that is not the same")
    reasons = {row.why for row in diff.rows if row.why}
    return [*notes, *(f"not compared: {escape(reason)}" for reason in sorted(reasons))]


def totals(diff: WeightsDiff) -> list[str]:
    """Return how many tensors have each status, and the difference of all together."""
    total = diff.totals
    parts = [f"{getattr(total, word):,} {word}" for word in _WORDS if getattr(total, word)]
    lines = [f"Tensors: {', '.join(parts) or 'none'}"]
    if total.other_dtype:
        verb = pluralize(total.other_dtype, "has", "have")
        lines.append(f"{counted(total.other_dtype, 'tensor')} {verb} another dtype in B")
    if total.relative is not None:
        lines.append(
            f"All together: {figure(total.relative)} of the norm of A, at most "
            f"{figure(total.largest)} in an element"
        )
    return lines


def last_line(diff: WeightsDiff) -> str:
    """Return the verdict."""
    total = diff.totals
    if diff.verdict == "same":
        counts = [("equal", total.same), ("within the tolerance", total.close)]
        counts.append(("equal under another name", total.renamed))
        parts = [f"{count:,} {word}" for word, count in counts if count]
        return f"SAME: {', '.join(parts) or 'no tensors in A and B'}"
    bad = [word for word in _WORDS if word not in _FAINT and getattr(total, word)]
    parts = [f"{getattr(total, word):,} {_VERDICTS[word]}" for word in bad]
    return f"DIFFERENT: {', '.join(parts)}"


_VERDICTS = {
    "changed": "changed", "reshaped": "reshaped", "added": "only in B", "removed": "only in A",
    "unknown": "not compared",
}  # fmt: skip


def _name(row: WeightsChange) -> str:
    if row.status == "renamed":
        return f"{escape(row.a or '')} → {escape(row.b or '')}"
    return escape(row.a or row.b or "")


def _both(values: tuple[str | None, str | None]) -> str:
    a, b = values
    return escape(a or b or "") if a == b or None in values else f"{escape(a)} | {escape(b)}"  # type: ignore[arg-type]


def _shapes(row: WeightsChange) -> str:
    a, b = (None if side is None else shape(side) for side in row.shapes)
    return _both((a, b))


def _status(row: WeightsChange) -> str:
    return {"added": "only in B", "removed": "only in A", "unknown": "not compared"}.get(
        row.status, row.status
    )


def _style(row: WeightsChange) -> Style | None:
    return Style.FAINT if row.status in _FAINT else Style.WRONG


_ROWS: dict[str, Column[WeightsChange]] = {
    "name": Column("Tensor", _name, least=24, distinct=True),
    "shape": Column("Shape", _shapes, least=10, spare=True),
    "dtype": Column("Dtype", lambda row: _both(row.dtypes)),
    "relative": Column("Relative", lambda row: figure(row.relative), right=True),
    "largest": Column("Largest", lambda row: figure(row.largest), right=True),
    "differing": Column("Differ", lambda row: number(row.differing), right=True),
    "numel": Column("Elements", lambda row: number(row.numel), right=True),
    "status": Column("Status", _status, style=_style),
}
_GROUPS: dict[str, Column[WeightsGroup]] = {
    "name": Column("Layer", lambda group: escape(group.name), least=24, distinct=True),
    "tensors": Column("Tensors", lambda group: number(group.tensors), right=True),
    "changed": Column("Changed", lambda group: number(group.changed), right=True),
    "relative": Column("Relative", lambda group: figure(group.relative), right=True),
    "largest": Column("Largest", lambda group: figure(group.largest), right=True),
}
