"""Documents as HTML for the output of a notebook: the verdict, a picture, first rows.

It has no script and fetches nothing. A notebook shows it in its own colours.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from hookcli.formats.document.build import build
from hookcli.formats.document.document import (
    CheckOutcome,
    Document,
    FactsBlock,
    OutcomesBlock,
    ProblemsBlock,
    TableBlock,
    VerdictBlock,
)
from hookcli.formats.parts.grid import Column, cells_of
from hookcli.formats.parts.verdict import TRY
from hookcli.formats.results import Result, kind_of
from hookcli.formats.svg.picture import render as draw
from hookcli.formats.view import View
from hookcli.outputs.escapes import html_text
from hookcli.text import counted

_MOST_ROWS = 15
_LARGEST = 400_000  # characters of a picture: every cell's output is stored in the notebook
_COLORS = {
    "error": "#cf222e",
    "warning": "#9a6700",
    "note": "#0969da",
    "good": "#1a7f37",
}  # legible on white and dark


def render(result: Result, view: View) -> str:
    """Return a report or a diff as one `div`, whose strings are escaped."""
    document = build(result, view)
    facts = [(f.label, f.text) for b in _of(document, FactsBlock) for f in b.facts]
    parts = [
        _heading(document),
        _facts(facts),
        _list([*_verdict(document), *_problems(document)]),
        _picture(result, view),
        *(_table(table) for table in _of(document, TableBlock)),
        *(_outcomes(block) for block in _of(document, OutcomesBlock)),
    ]
    content = "\n".join(part for part in parts if part)
    return f'<div class="hookcli-report" style="max-width:1000px">\n{content}\n</div>'


def _of(document: Document, kind: type) -> Iterator[Any]:
    return (block for block in document.blocks if isinstance(block, kind))


def _heading(document: Document) -> str:
    last = document.last_line
    text = ": ".join(text for text in (document.title, last and last.text) if text)
    return f'<div style="font-size:1.15em;font-weight:600">{html_text(text)}</div>'


def _facts(facts: Sequence[tuple[str, str]]) -> str:
    cells = "".join(
        f'<div style="opacity:.7">{html_text(label)}</div><div>{html_text(text)}</div>'
        for label, text in facts
    )
    style = "display:grid;grid-template-columns:max-content 1fr;gap:0 1em;margin:.3em 0"
    return f'<div style="{style}">{cells}</div>' if facts else ""


def _verdict(document: Document) -> Iterator[tuple[str, str]]:
    """Yield (severity, sentence) of the worst problems, or that nothing was found."""
    for verdict in _of(document, VerdictBlock):
        if verdict.failure:
            yield "error", verdict.failure
        for cause in verdict.causes:
            at = f" ({cause.place})" if cause.place else ""
            advice = f"; {TRY}: {cause.advice}" if cause.advice else ""
            yield cause.severity, f"{cause.severity}: {cause.sentence}{at}{advice}"
        if verdict.more:
            yield "", verdict.more
        if verdict.good:
            yield "good", verdict.good


def _problems(document: Document) -> Iterator[tuple[str, str]]:
    for block in _of(document, ProblemsBlock):
        for problem in block.problems:
            details = "".join(f"; {label}: {text}" for label, text in problem.details)
            yield problem.label, f"{problem.label}: {problem.text}{details}"


def _list(items: Sequence[tuple[str, str]]) -> str:
    entries = "".join(
        f'<li style="border-left:3px solid {_COLORS.get(kind, "currentColor")};'
        f'padding-left:.6em;margin:.2em 0">{html_text(text)}</li>'
        for kind, text in items
    )
    return f'<ul style="list-style:none;padding:0;margin:.4em 0">{entries}</ul>' if items else ""


def _picture(result: Any, view: View) -> str:
    if kind_of(result) != "report" or not (result.layers or result.parameters):
        return ""
    picture = draw(result, view)
    if len(picture) > _LARGEST:
        return ""
    return f'<div style="overflow:auto;max-height:720px">\n{picture}</div>'


def _outcomes(block: OutcomesBlock) -> str:
    columns: dict[str, Column[CheckOutcome]] = {
        "word": Column("Result", lambda row: row.word),
        "rule": Column("Rule", lambda row: row.rule),
        "target": Column("Target", lambda row: row.name),
        "sentence": Column("Finding", lambda row: row.sentence),
    }
    return _table(TableBlock(columns, block.rows, "check"))


def _table(table: TableBlock[Any]) -> str:
    """Return the first rows, below a line that opens them on a click; "" without rows."""
    if not table.rows or not table.columns:
        return ""
    columns = table.columns.values()
    sides = ["right" if column.right else "left" for column in columns]

    def line(tag: str, cells: Sequence[str]) -> str:
        texts = zip(cells, sides, strict=True)
        inside = "".join(
            f'<{tag} style="text-align:{side}">{html_text(cell)}</{tag}>' for cell, side in texts
        )
        return f"<tr>{inside}</tr>"

    body = cells_of(table.columns, table.rows[:_MOST_ROWS])
    first = f", the first {len(body)}" if len(table.rows) > len(body) else ""
    title = ": ".join(text for text in (table.title, table.subtitle) if text)
    count = ": ".join(text for text in (title, counted(len(table.rows), table.noun)) if text)
    rows = line("th", [column.title for column in columns])
    rows += "".join(line("td", cells) for cells in body)
    return (
        f"<details><summary>{html_text(count + first)}</summary>\n"
        f'<div style="overflow:auto"><table>{rows}</table></div>\n</details>'
    )
