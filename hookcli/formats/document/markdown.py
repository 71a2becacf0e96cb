"""Documents as Markdown, for a pull request: the strings of the document are escaped."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tabulate import tabulate

from hookcli.formats.document.document import (
    Block,
    CheckOutcome,
    Document,
    FactsBlock,
    LinesBlock,
    OutcomesBlock,
    ProblemsBlock,
    SectionBlock,
    TableBlock,
    TotalsBlock,
    VerdictBlock,
)
from hookcli.formats.parts.grid import cells_of
from hookcli.formats.parts.verdict import FIX, TRY
from hookcli.formats.view import View
from hookcli.outputs.escapes import markdown as quote

_INDENT = "&emsp;"  # of a level of a tree: box glyphs do not align in proportional fonts


def page(document: Document, view: View) -> str:
    """Return a heading, the parts that are not empty, and the notes, separated by blank lines."""
    last = document.last_line
    heading = ": ".join(quote(text) for text in (document.title, last and last.text) if text)
    text, was_item = f"### {heading}" if heading else "", False
    for block in _as_read(document.blocks):
        if part := _PRINTERS[type(block)](block):
            is_item = isinstance(block, SectionBlock) and not block.has_heading
            text += ("\n" if was_item and is_item else "\n\n" if text else "") + part
            was_item = is_item
    notes = "\n".join(f"- {quote(note)}" for note in document.notes)
    return "\n\n".join(part for part in (text, notes) if part) + "\n"


def _as_read(blocks: Sequence[Block]) -> list[Block]:
    """Return the blocks with the main problems before the tables, as a page is read from above."""
    main = [block for block in blocks if isinstance(block, ProblemsBlock) and block.is_main]
    rest = [block for block in blocks if not (isinstance(block, ProblemsBlock) and block.is_main)]
    at = next((i for i, block in enumerate(rest) if isinstance(block, TableBlock)), len(rest))
    return [*rest[:at], *main, *rest[at:]]


def _facts(block: FactsBlock) -> str:
    return "\n".join(f"- {fact.label}: {quote(fact.text)}" for fact in block.facts)


def _verdict(block: VerdictBlock) -> str:
    lines = []
    for cause in block.causes:
        where = f" ({quote(cause.place)})" if cause.place else ""
        lines.append(f"- **{cause.severity}**: {quote(cause.sentence)}{where}")
        if cause.advice:
            lines.append(f"  - {TRY}: {quote(cause.advice)}")
    more = quote(block.more or block.good)
    return "\n\n".join(part for part in ("\n".join(lines), more) if part)


def _table(block: TableBlock[Any]) -> str:
    """Return a pipe table, "" without rows."""
    if not block.rows or not block.columns:
        return ""
    columns = list(block.columns.values())
    cells = [[quote(cell) for cell in cells] for cells in cells_of(block.columns, block.rows)]
    for i, column in enumerate(columns):
        if (nested := column.nested) is not None:
            for row, line in zip(block.rows, cells, strict=True):
                line[i] = _INDENT * nested(row)[0] + line[i]
    pipes = tabulate(
        cells,
        headers=[column.title for column in columns],
        tablefmt="pipe",
        colalign=["right" if column.right else "left" for column in columns],
        disable_numparse=True,
    )
    title = f"**{quote(block.title)}**" if block.title else ""
    title += f": {quote(block.subtitle)}" if block.subtitle else ""
    return "\n\n".join(part for part in (title, pipes) if part)


def _section(block: SectionBlock) -> str:
    title, figures = quote(block.title), quote(", ".join(block.figures))
    problems = [quote(problem) for problem in block.problems]
    if not block.has_heading:
        return "\n".join([f"- **{title}**: {figures}", *(f"  - {text}" for text in problems)])
    parts = [f"#### {title}", figures, "\n".join(f"- {text}" for text in problems)]
    return "\n\n".join(part for part in parts if part)


def _totals(block: TotalsBlock) -> str:
    return "\n".join(f"- {name.strip()}: {quote(text)}" for name, text in block.pairs)


def _lines(block: LinesBlock) -> str:
    return "\n".join(f"- {quote(line)}" for line in block.lines)


def _problems(block: ProblemsBlock) -> str:
    lines = []
    for problem in block.problems:
        lines.append(f"- **{problem.label}**: {quote(problem.text)}")
        lines += [f"  - {label}: {quote(text)}" for label, text in problem.details]
    return "\n".join(lines)


def _outcomes(block: OutcomesBlock) -> str:
    """Return the findings as a list, and the other rows as one that opens on a click."""
    rest = "\n".join(_outcome(row) for row in block.rows if not row.is_finding)
    parts = [_findings([row for row in block.rows if row.is_finding]), quote(block.more)]
    if rest:
        parts.append(f"<details><summary>{block.rest}</summary>\n\n{rest}\n\n</details>")
    return "\n\n".join(part for part in parts if part)


def _findings(rows: Sequence[CheckOutcome]) -> str:
    """Return the findings as a list; the first one of each rule has the advice how to fix it."""
    lines, advised = [], set[str]()
    for row in rows:
        lines.append(_outcome(row))
        if row.advice and row.rule not in advised:
            advised.add(row.rule)
            lines.append(f"  - {FIX}: {quote(row.advice)}")
    return "\n".join(lines)


def _outcome(row: CheckOutcome) -> str:
    at = f" ({quote(row.place)})" if row.place else ""
    return f"- **{row.word}** {quote(f'{row.rule}, {row.name}')}: {quote(row.sentence)}{at}"


_PRINTERS: Mapping[type, Callable[[Any], str]] = {
    FactsBlock: _facts,
    VerdictBlock: _verdict,
    TableBlock: _table,
    SectionBlock: _section,
    TotalsBlock: _totals,
    LinesBlock: _lines,
    ProblemsBlock: _problems,
    OutcomesBlock: _outcomes,
}
