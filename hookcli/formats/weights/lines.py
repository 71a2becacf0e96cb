"""The lines of the table and the tree of weights: a tensor, several alike, or a group of them."""

from __future__ import annotations

import fnmatch
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hookcli.console import escape
from hookcli.formats.names import WEIGHTS, statistic
from hookcli.formats.order import Ordered, measured, ordered, sort_key
from hookcli.formats.parts.text import count, figure, number, shape, size
from hookcli.formats.view import View
from hookcli.formats.weights.fold import WeightsNode, tree
from hookcli.report.weights.weights_report import WeightsReport, WeightsRow


@dataclass(frozen=True, slots=True)
class WeightsLine:
    """One line: `guides` are those of a tree, `row` the first tensor that it stands for, if any.

    `stats` are those of all its tensors together, None for a group.
    """

    guides: str
    label: str
    row: WeightsRow | None
    tensors: int
    elements: int
    bytes: int
    stats: Mapping[str, Any] | None


def selected(report: WeightsReport, view: View) -> Ordered[WeightsRow]:
    """Return the tensors of the view, in its order."""
    rows = [
        row
        for row in report.tensors
        if view.only is None or fnmatch.fnmatchcase(row.name, view.only)
    ]
    if view.sort is None or sort_key(view.sort) == "order":
        return Ordered(rows[::-1] if view.sort == "-order" else rows)
    key = sort_key(view.sort)
    return ordered(rows, view.sort, lambda row: _value(row, key), words=key in _WORDS)


_WORDS = {"name", "dtype", "file"}
_FIELDS: dict[str, Callable[[WeightsRow], object]] = {
    "name": lambda row: row.name,
    "dtype": lambda row: row.dtype,
    "file": lambda row: row.file,
    "bytes": lambda row: row.bytes,
    "numel": lambda row: row.numel,
}


def _value(row: WeightsRow, key: str) -> object:
    if key in _FIELDS:
        return _FIELDS[key](row)
    return statistic(row.stats, WEIGHTS[key].stat)


def lines(report: WeightsReport, view: View, *, folded: bool) -> list[WeightsLine]:
    """Return the lines of a view: a tree, or the tensors alone if they are sorted or selected."""
    rows = selected(report, view).rows
    if view.flat():
        return [_of_tensors("", escape(row.name), [row]) for row in rows]
    made: list[WeightsLine] = []
    parts = {row.part for row in rows}
    for part in ("weights", "optimizer"):
        own = [row for row in rows if row.part == part]
        if own and len(parts) > 1:
            label = "weights" if part == "weights" else "state of the optimizer"
            made.append(_group("", label, own))
        _add(made, tree(own, folded=folded), "", 1, view)
    return made


def _add(
    made: list[WeightsLine], nodes: Sequence[WeightsNode], above: str, depth: int, view: View
) -> None:
    bar, tee, end = ("│  ", "├─ ", "└─ ") if view.unicode else ("|  ", "|- ", "`- ")
    for number_, node in enumerate(nodes):
        last = number_ == len(nodes) - 1
        path, inner = _with_single_groups(node)
        guides = above + (end if last else tee) if depth > 1 else ""
        label = escape(path) + (f" ×{node.times}" if node.times > 1 else "")
        if not view.unicode:
            label = label.replace("×", "x")
        hides = view.depth is not None and depth >= view.depth
        if inner.rows and not inner.below:
            made.append(_of_tensors(guides, label, inner.rows))
        else:
            made.append(_group(guides, label, inner.every()))
            if inner.rows:
                made.append(_of_tensors(f"{guides}", f"{label} (tensor)", inner.rows))
            if not hides:
                below = "" if depth == 1 else above + ("   " if last else bar)
                _add(made, inner.below, below, depth + 1, view)


def _with_single_groups(node: WeightsNode) -> tuple[str, WeightsNode]:
    """Return a node and its label; groups of one group, such as model.decoder, are one line."""
    label = node.label
    while not node.rows and len(node.below) == 1 and node.below[0].times == 1 and node.times == 1:
        node = node.below[0]
        label += f".{node.label}"
    return label, node


def _group(guides: str, label: str, rows: Sequence[WeightsRow]) -> WeightsLine:
    return WeightsLine(
        guides, label, None, len(rows),
        sum(row.numel for row in rows), sum(row.bytes for row in rows), None,
    )  # fmt: skip


def _of_tensors(guides: str, label: str, rows: Sequence[WeightsRow]) -> WeightsLine:
    line = _group(guides, label, rows)
    stats = rows[0].stats if len(rows) == 1 else joined([row.stats for row in rows])
    return WeightsLine(guides, label, rows[0], line.tensors, line.elements, line.bytes, stats)


def joined(parts: Sequence[Mapping[str, Any] | None]) -> dict[str, Any] | None:
    """Return the statistics of several tensors together; None if one of them is not known.

    Means are weighted by elements, and variances joined as if the tensors were one.
    """
    known = [part for part in parts if part is not None]
    if not known or len(known) < len(parts):
        return None
    total = {
        key: sum(int(part[key]) for part in known) for key in ("numel", "zeros", "nans", "infs")
    }
    norms = _numbers(known, "norm")
    means = _numbers(known, "mean")
    made: dict[str, Any] = dict(total)
    made["norm"] = math.hypot(*norms) if norms else None
    made["mean"] = made["std"] = None
    if means and total["numel"]:
        counts = [int(part["numel"]) for part in known]
        mean = sum(n * m for n, m in zip(counts, means, strict=True)) / total["numel"]
        made["mean"] = mean
        made["std"] = _joined_std(known, counts, means, mean)
    for key, best in (("min", min), ("max", max), ("abs_max", max)):
        ends = _numbers(known, key)
        made[key] = best(ends) if ends else None
    return made


def _joined_std(
    known: Sequence[Mapping[str, Any]],
    counts: Sequence[int],
    means: Sequence[float],
    mean: float,
) -> float | None:
    spread = 0.0
    for part, size_, own in zip(known, counts, means, strict=True):
        std = measured(part["std"])
        if std is None and size_ > 1:
            return None
        spread += (std or 0.0) ** 2 * (size_ - 1) + size_ * (own - mean) ** 2
    every = sum(counts)
    return math.sqrt(spread / (every - 1)) if every > 1 else None


def _numbers(parts: Iterable[Mapping[str, Any]], key: str) -> list[float]:
    """Return the figures of all parts that have elements; none if one is not a finite number."""
    found = []
    for part in parts:
        value = measured(part.get(key))
        if value is None or not math.isfinite(value):
            return []
        found.append(value)
    return found


def cell(line: WeightsLine, column: str) -> str:
    """Return the text of a column other than that of the name."""
    row = line.row
    if column == "bytes":
        return size(line.bytes)
    if column == "numel":
        return number(line.elements)
    if row is None:
        return ""
    if column == "shape":
        return shape(row.shape)
    if column == "dtype":
        return escape(f"{row.dtype} ({row.layout})" if row.layout else row.dtype)
    if column == "file":
        return escape(row.file)
    if column == "shared":
        return escape(", ".join(row.shared_with or ())) or "–"
    if column == "part":
        return row.part
    value = statistic(line.stats, WEIGHTS[column].stat)
    return (count if column in {"zeros", "nan", "inf"} else figure)(value)
