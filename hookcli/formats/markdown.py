"""Reports as Markdown, for a pull request: pipe tables in which the user's strings are escaped."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from tabulate import tabulate

from hookcli.console import escape
from hookcli.formats.grads import flow as grads_flow, parameters, table
from hookcli.formats.inspect import existing
from hookcli.formats.inspect.cells import RIGHT
from hookcli.formats.inspect.table import LayerLine, columns, lines, notes
from hookcli.formats.inspect.training import training_columns, training_notes
from hookcli.formats.names import COLUMNS
from hookcli.formats.parts import summary
from hookcli.formats.parts.grid import Column, Row, cells_of
from hookcli.formats.parts.text import cut, place
from hookcli.formats.parts.verdict import TRY, left_out, nothing_found, shown
from hookcli.formats.trace import events as trace_rows
from hookcli.formats.view import View
from hookcli.report.report import Report

# A shape is not a link, and an underscore inside a word is not emphasis: both stay unescaped.
_MARK = re.compile(r"[\\`*_~\[\]|#$!]")
# Runs of characters match at once, except the bracket that may begin a shape.
_MARKS = re.compile(r"(\[[0-9, ]*\](?![\[(:]))|(?<=\w)_(?=\w)|((?:[\\`*~\]|#$!]|\[(?=\[))+|[_\[])")
_BULLET = re.compile(r"^(\d*)([-+.)])(?=\s|$)")  # which could begin a list
_ENTITIES = {
    "&": "&amp;",
    "<": "&lt;",
    ">": "&gt;",
    "@": "&#64;",
}  # "&" comes first
# GitHub makes links of bare addresses: their colon or dot is written as an entity.
_ADDRESS = re.compile(r"(?i)\b(https?|ftp|mailto|xmpp):|\b(www)\.")
_INDENT = "&emsp;"
_LONGEST = 1000  # characters of a label: every row is padded to the widest


def quote(text: str) -> str:
    """Escape a string so that it renders literally: no markup, HTML, mention or link."""
    if _MARK.search(text):
        text = _MARKS.sub(lambda m: "\\" + "\\".join(m[2]) if m[2] else m[0], text)
    text = _BULLET.sub(r"\1\\\2", text)
    for letter, entity in _ENTITIES.items():
        text = text.replace(letter, entity)
    return _ADDRESS.sub(lambda m: f"{m[1]}&#58;" if m[1] else f"{m[2]}&#46;", text)


def _layer(line: LayerLine) -> str:
    """Return the label, indented by its level: box glyphs do not align in proportional fonts."""
    return _INDENT * (len(line.guides) // 3) + quote(cut(line.label, _LONGEST))


def layers(report: Report, view: View) -> str:
    """Return the calls as a pipe table."""
    names = columns(report, view)
    body = [
        [_layer(line) if name == "layer" else quote(line.cell(name, 60)) for name in names]
        for line in lines(report, view)
    ]
    return _pipes([COLUMNS[n] for n in names], [n in RIGHT for n in names], body)


def render(report: Report, view: View) -> str:
    """Render a heading, the tables, the totals and the notes."""
    training = () if report.memory is None else report.memory.training
    return _page(
        report,
        [
            layers(report, view),
            grid(training_columns(), training),
            grid(existing.COLUMNS, existing.first_groups(report, view)),
        ],
        totals=summary.totals(report),
        notes=[
            *notes(report, view),
            *training_notes(report),
            *existing.notes(report, view),
        ],
    )


def render_trace(report: Report, view: View) -> str:
    """Render a heading, the events, the totals and the notes."""
    order = trace_rows.ordered_events(report, view)
    events = order.rows
    return _page(
        report,
        [grid(trace_rows.columns(report, view, events), events)],
        totals=trace_rows.totals(report, len(events)),
        notes=trace_rows.notes(report, view, order),
    )


def render_grads(report: Report, view: View) -> str:
    """Render a heading, the parameters, the calls, the totals, the problems and the notes."""
    order, flow = table.parameters(report, view), grads_flow.select_rows(report, view)
    return _page(
        report,
        [
            grid(parameters.columns(order.rows, view), order.rows),
            grid(grads_flow.columns(flow.rows, view), flow.rows),
        ],
        totals=table.totals(report),
        notes=table.notes(report, view, order, flow),
        alarms=table.alarms(report),
    )


def grid(grid: Mapping[str, Column[Row]], rows: Sequence[Row]) -> str:
    """Return the rows of a grid as a pipe table."""
    body = [[quote(cell) for cell in cells] for cells in cells_of(grid, rows)]
    return _pipes([c.title for c in grid.values()], [c.right for c in grid.values()], body)


def _pipes(titles: list[str], right: list[bool], body: list[list[str]]) -> str:
    """Return a pipe table, or "" without rows."""
    if not body or not titles:
        return ""
    return tabulate(
        body,
        headers=titles,
        tablefmt="pipe",
        colalign=["right" if r else "left" for r in right],
        disable_numparse=True,
    )


def verdict(report: Report) -> str:
    """Return the verdict as a list, or a line; "" if there is none."""
    lines = []
    for item in shown(report):
        where = f" ({quote(place(item.place))})" if item.place else ""
        lines.append(f"- **{item.severity}**: {quote(escape(item.sentence))}{where}")
        if item.advice:
            lines.append(f"  - {TRY}: {quote(escape(item.advice))}")
    more = quote(left_out(report) or nothing_found(report))
    return "\n".join(lines) + ("\n\n" if lines and more else "") + more


def _page(
    report: Report,
    tables: Sequence[str],
    *,
    totals: Sequence[tuple[str, str]],
    notes: Sequence[str],
    alarms: Sequence[tuple[str, str]] = (),
) -> str:
    """Return all parts that are not empty, separated by blank lines."""
    problems = [*alarms, *summary.failed(report)]
    parts = [
        f"### {quote(escape(report.model.type or report.model.source))}",
        "\n".join(f"- {name}: {quote(text)}" for name, text in summary.head(report)),
        verdict(report),
        *tables,
        "\n".join(f"- {name.strip()}: {quote(text)}" for name, text in totals),
        "\n".join(f"- **{label}**: {quote(text)}" for label, text in problems),
        "\n".join(f"- {quote(note)}" for note in notes),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"
