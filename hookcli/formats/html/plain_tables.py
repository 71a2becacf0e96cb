"""The tables that a page shows where no script runs: those of a report's documents."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

from hookcli.comparison.training.training_diff import TrainingDiff
from hookcli.formats.check.merged import merged
from hookcli.formats.document.build import build, load
from hookcli.formats.document.document import (
    Block,
    LinesBlock,
    OutcomesBlock,
    ProblemsBlock,
    SectionBlock,
    TableBlock,
    TotalsBlock,
    VerdictBlock,
)
from hookcli.formats.inspect.document import table as inspect_table
from hookcli.formats.parts.grid import cells_of
from hookcli.formats.parts.text import cut
from hookcli.formats.results import Result
from hookcli.formats.training.details import own_view, tables
from hookcli.formats.training.document import steps_table
from hookcli.formats.training.facts import section, training_of
from hookcli.formats.training.steps import select_steps
from hookcli.formats.training_diff.steps import every_step
from hookcli.formats.view import View
from hookcli.report.report import Report
from hookcli.report.training import TrainingReport
from hookcli.text import counted

MOST_ROWS = 500  # of a table, as many as a page prints
MOST_PARTS = 40  # tables and lists of a page
_LONGEST = 300  # characters of a cell
_DEEPEST = 8  # levels that are indented
_DRAWN = frozenset({"bar", "loss_bar", "grad_bar"})  # columns that are pictures made of characters
_PRESETS = {"inspect": "Layers", "trace": "Hooks"}  # the title of what a record has below its steps
_ALL = View(only="*")  # a diff shows by default what differs


@dataclass(frozen=True, slots=True)
class PlainColumn:
    """The title of a column; `right`: its cells are numbers."""

    title: str
    right: bool = False


@dataclass(frozen=True, slots=True)
class PlainTable:
    """A table with its title, or sentences (`lines`). A cell is its level in a tree and its text.

    `more` tells how many rows are left out, "" if none.
    """

    title: str
    columns: Sequence[PlainColumn] = ()
    rows: Sequence[Sequence[tuple[int, str]]] = ()
    lines: Sequence[str] = ()
    more: str = ""


def plain_tables(result: Result) -> list[PlainTable]:
    """Return the tables of a result: all that its documents have beside what the header says."""
    if isinstance(result, TrainingReport):
        parts = _of_training(result)
    elif isinstance(result, Report):
        parts = _of_report(result)
    elif isinstance(result, TrainingDiff):
        parts = _of_two_trainings(result)
    else:
        parts = _tables("", build(result, _ALL).blocks)
    return list(islice(parts, MOST_PARTS))


def _of_report(report: Report) -> Iterator[PlainTable]:
    """Yield the tables of the panels Layers, Gradients, Hooks and Checks, those that have rows."""
    shown = {
        "Layers": ("inspect", bool(report.layers)),
        "Gradients": ("grads", any(row.status is not None for row in report.parameters)),
        "Hooks": ("trace", bool(report.events)),
        "Checks": ("check", bool(report.checks)),
    }
    for title, (name, has_rows) in shown.items():
        if has_rows:
            blocks = load(name)(report, View()).blocks
            # The totals and the problems are those of the whole report: once.
            once = () if title == "Layers" else (TotalsBlock, ProblemsBlock)
            yield from _tables(title, [block for block in blocks if not isinstance(block, once)])


def _of_training(report: TrainingReport) -> Iterator[PlainTable]:
    """Yield for each record its figures, its steps and its tables; then the checks of all."""
    view = View()
    for record in report.records:
        yield from _tables("", [section(record)])
        steps = select_steps(training_of(record), view, every=True).rows
        yield from _tables("Steps", [steps_table(steps, view)])
        if record.layers and record.command != "inspect":
            yield from _tables("Layers", [inspect_table(record, own_view(record, view))])
        yield from _tables(_PRESETS.get(record.command, "Gradients"), tables(record, view))
        if record.events and record.command != "trace":
            events = load("trace")(record, own_view(record, view)).blocks
            yield from _tables("Hooks", [one for one in events if isinstance(one, TableBlock)])
    whole = merged(report)
    if whole.checks:
        yield from _tables("Checks", load("check")(whole, view).blocks)


def _of_two_trainings(diff: TrainingDiff) -> Iterator[PlainTable]:
    """Yield the tables of the document, with all steps in place of those around the first."""
    for block in build(diff, _ALL).blocks:
        if isinstance(block, TableBlock) and block.noun == "step":
            yield from _tables("Steps", [replace(block, rows=every_step(diff))])
        else:
            yield from _tables("", [block])


def _tables(title: str, blocks: Sequence[Block]) -> Iterator[PlainTable]:
    for block in blocks:
        made = _MAKERS.get(type(block))
        table = None if made is None else made(block)
        if table is not None and (table.rows or table.lines):
            yield PlainTable(
                table.title or title, table.columns, table.rows, table.lines, table.more
            )
            title = ""


def _table(block: TableBlock[Any]) -> PlainTable:
    columns = {name: one for name, one in block.columns.items() if name not in _DRAWN}
    rows = block.rows[:MOST_ROWS]
    left = len(block.rows) - len(rows)
    nested = [column.nested for column in columns.values()]

    def line(row: Any, texts: Sequence[str]) -> list[tuple[int, str]]:
        levels = [0 if level is None else min(level(row)[0], _DEEPEST) for level in nested]
        return [(at, cut(text, _LONGEST)) for at, text in zip(levels, texts, strict=True)]

    cells = cells_of(columns, rows, _LONGEST)
    return PlainTable(
        ": ".join(text for text in (block.title, block.subtitle) if text),
        [PlainColumn(column.title, column.right) for column in columns.values()],
        [line(row, texts) for row, texts in zip(rows, cells, strict=True)],
        more=f"{counted(left, f'more {block.noun}')} not shown" if left else "",
    )


def _outcomes(block: OutcomesBlock) -> PlainTable:
    rows = block.rows[:MOST_ROWS]
    left = len(block.rows) - len(rows)
    return PlainTable(
        "",
        [PlainColumn(title) for title in ("Outcome", "Rule", "Target", "Message", "Place")],
        [
            [
                (0, cut(text, _LONGEST))
                for text in (row.word, row.rule, row.name, row.sentence, row.place)
            ]
            for row in rows
        ],
        more=f"{counted(left, 'more row')} not shown" if left else "",
    )


def _section(block: SectionBlock) -> PlainTable:
    lines = [" · ".join(block.figures), *block.problems]
    return PlainTable(block.title, lines=[line for line in lines if line] or [block.title])


def _totals(block: TotalsBlock) -> PlainTable:
    return _lines([f"{name.strip()}: {text}" for name, text in block.pairs])


def _problems(block: ProblemsBlock) -> PlainTable:
    lines: list[str] = []
    for problem in block.problems:
        lines.append(f"{problem.label}: {problem.text}")
        lines += [f"{label}: {text}" for label, text in problem.details]
    return _lines(lines)


def _verdict(block: VerdictBlock) -> PlainTable:
    """Return the findings that follow those of the header."""
    return _lines([f"{cause.severity}: {cause.sentence}" for cause in block.causes[_IN_HEADER:]])


def _lines(lines: Sequence[str]) -> PlainTable:
    left = max(len(lines) - MOST_ROWS, 0)
    return PlainTable(
        "",
        lines=[cut(line, 2 * _LONGEST) for line in lines[:MOST_ROWS]],
        more=f"{counted(left, 'more line')} not shown" if left else "",
    )


_IN_HEADER = 3  # findings
_MAKERS: Mapping[type, Callable[[Any], PlainTable]] = {
    TableBlock: _table,
    OutcomesBlock: _outcomes,
    SectionBlock: _section,
    TotalsBlock: _totals,
    ProblemsBlock: _problems,
    VerdictBlock: _verdict,
    LinesBlock: lambda block: _lines(block.lines),
}
