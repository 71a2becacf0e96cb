"""The comparison of two trainings as records of a page: parameters take the place of layers."""

from __future__ import annotations

from typing import Any

from hookcli.comparison.training.parting import SideNames, how_much, subject, summary_of
from hookcli.comparison.training.training_diff import FigureDiff, RecordDiff, TrainingDiff
from hookcli.console import escape
from hookcli.formats.html.data.columns import rounded, text_column
from hookcli.formats.html.data.compared import NO_EVENTS, word
from hookcli.formats.parts.text import shape
from hookcli.text import counted


def pairs(diff: TrainingDiff) -> list[dict[str, Any]]:
    """Return a record for each pair of records: its steps, and the gradients of its parameters."""
    return [_pair(row) for row in diff.records]


def _pair(row: RecordDiff) -> dict[str, Any]:
    name = row.a if row.a == row.b or row.b is None else row.b if row.a is None else (
        f"{row.a} | {row.b}"
    )  # fmt: skip
    return {
        "name": escape(name or ""),
        "command": "diff",
        "model": escape(name or ""),
        "layers": _parameters(row),
        "parameters": {"count": 0, "name": text_column(()), "layer": []},
        "events": NO_EVENTS,
        "edges": None,
        "checks": [],
        "distributed": None,
        "pair": {
            "summary": _summary(row),
            "first": _figure(row.first),
            "follows": [_figure(figure) for figure in row.follows],
            "first_inexact": _figure(row.first_inexact),
            "steps": _steps(row),
        },
    }


def _summary(row: RecordDiff) -> str:
    """Return how much was compared, or which training alone has the record."""
    if row.a is not None and row.b is not None:
        return escape(summary_of(row))
    steps = next((count for count in row.steps if count is not None), 0)
    return f"only in {'B' if row.a is None else 'A'}: {counted(steps, 'step')}"


def _figure(figure: FigureDiff | None) -> dict[str, Any] | None:
    if figure is None:
        return None
    return {
        "step": figure.step,
        "phase": figure.phase,
        "what": escape(subject(figure)),
        "values": escape(how_much(figure, SideNames())),
        "name": None if figure.name is None else escape(figure.name),
    }


def _steps(row: RecordDiff) -> dict[str, Any]:
    columns: dict[str, Any] = {"step": [line.step for line in row.rows]}
    for name in ("loss", "grad_norm", "lr"):
        for side, suffix in enumerate("ab"):
            values = [rounded_more(getattr(line, name)[side]) for line in row.rows]
            known = any(value is not None for value in values)
            columns[f"{name}_{suffix}"] = values if known else None
    return {
        **columns,
        "status": text_column(word(line.status) for line in row.rows),
        "sampled": [int(line.sampled) for line in row.rows],
        "compared": [line.compared for line in row.rows],
        "different": [line.different for line in row.rows],
        "largest": [rounded(line.largest) for line in row.rows],
    }


def rounded_more(value: Any) -> Any:
    """Return a number with nine digits, which tell every float32 from others."""
    return float(f"{value:.9g}") if isinstance(value, float) else value


def _parameters(row: RecordDiff) -> dict[str, Any]:
    rows = row.parameters
    firsts = [line.first for line in rows]
    return {
        "count": len(rows),
        "name": text_column(line.a or line.b for line in rows),
        "type": text_column("" for _ in rows),
        "call": [0 for _ in rows],
        "parent": [-1 for _ in rows],
        "status": text_column(word(line.status) for line in rows),
        "other": text_column(None if line.b == line.a else line.b for line in rows),
        "shape": text_column(
            " | ".join(dict.fromkeys(shape(s) for s in line.shapes if s is not None))
            for line in rows
        ),
        "steps": [line.steps for line in rows],
        "different": [line.different for line in rows],
        "first_step": [None if first is None else first.step for first in firsts],
        "a": [None if first is None else _value(first.a) for first in firsts],
        "b": [None if first is None else _value(first.b) for first in firsts],
        "relative": [None if first is None else rounded(first.relative) for first in firsts],
        "limit": [None if first is None else rounded(first.limit) for first in firsts],
        "largest": [rounded(line.largest) for line in rows],
    }


def _value(value: Any) -> Any:
    return escape(value) if isinstance(value, str) else rounded_more(value)
