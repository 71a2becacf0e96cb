"""Reports and diffs as HTML for the output of a notebook: the verdict, a picture, first rows.

It has no script and fetches nothing. A notebook shows it in its own colours.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hookcli.comparison.diff import Diff
from hookcli.console import escape
from hookcli.formats.check import rows as check_rows
from hookcli.formats.diff import rows as diff_rows, sentences
from hookcli.formats.grads import parameters
from hookcli.formats.inspect.cells import RIGHT
from hookcli.formats.inspect.table import columns, lines
from hookcli.formats.names import COLUMNS
from hookcli.formats.parts import summary
from hookcli.formats.parts.grid import Column, Row, cells_of
from hookcli.formats.parts.text import place
from hookcli.formats.parts.verdict import TRY, left_out, nothing_found, shown
from hookcli.formats.registry import FORMATS
from hookcli.formats.trace import events
from hookcli.formats.view import View
from hookcli.outputs.escapes import html_text
from hookcli.report.report import Report
from hookcli.text import counted

_MOST_ROWS = 15
_LARGEST = 400_000  # characters of a picture: every cell's output is stored in the notebook
_WIDEST = 60  # characters of a cell
_COLORS = {"error": "#cf222e", "warning": "#9a6700", "good": "#1a7f37"}  # legible on white and dark


def report_html(report: Report, view: View) -> str:
    """Return a report as one `div`, whose strings are escaped."""
    title = escape(report.model.type or report.model.source)
    if report.command == "check":
        title = f"{title}: {check_rows.verdict(report, view.fail_on)}"
    parts = [
        _heading(title),
        _facts(summary.head(report)),
        _list(_verdict(report)),
        _picture(report, view),
        _table(report, view),
    ]
    return _box(parts)


def diff_html(diff: Diff, view: View) -> str:
    """Return a diff as one `div`, whose strings are escaped."""
    rows = diff_rows.select_rows(diff, view)
    first = [("", f"{label}: {text}") for label, text in sentences.first(diff)]
    parts = [
        _heading(sentences.last_line(diff)),
        _facts(sentences.head(diff)),
        _list(first),
        _grid(diff_rows.CALLS, rows.calls, "call"),
        _grid(diff_rows.STATE, rows.state, "tensor"),
    ]
    return _box(parts)


def _box(parts: Sequence[str]) -> str:
    content = "\n".join(part for part in parts if part)
    return f'<div class="hookcli-report" style="max-width:1000px">\n{content}\n</div>'


def _heading(text: str) -> str:
    return f'<div style="font-size:1.15em;font-weight:600">{html_text(text)}</div>'


def _facts(facts: Sequence[tuple[str, str]]) -> str:
    cells = "".join(
        f'<div style="opacity:.7">{html_text(label)}</div><div>{html_text(text)}</div>'
        for label, text in facts
    )
    style = "display:grid;grid-template-columns:max-content 1fr;gap:0 1em;margin:.3em 0"
    return f'<div style="{style}">{cells}</div>' if facts else ""


def _verdict(report: Report) -> list[tuple[str, str]]:
    """Return (severity, sentence) of the worst problems, or that nothing was found."""
    items = []
    if (error := report.error) is not None:
        where = f", in {error.layer}" if error.layer else ""
        message = " ".join(error.message.split())
        items.append(("error", f"{error.type} in {error.phase}{where}: {message}"))
    for item in shown(report):
        at = f" ({place(item.place)})" if item.place else ""
        advice = f"; {TRY}: {item.advice}" if item.advice else ""
        items.append((item.severity, f"{item.severity}: {item.sentence}{at}{advice}"))
    if more := left_out(report):
        items.append(("", more))
    if good := nothing_found(report):
        items.append(("good", good))
    return items


def _list(items: Sequence[tuple[str, str]]) -> str:
    entries = "".join(
        f'<li style="border-left:3px solid {_COLORS.get(kind, "currentColor")};'
        f'padding-left:.6em;margin:.2em 0">{html_text(text)}</li>'
        for kind, text in items
    )
    return f'<ul style="list-style:none;padding:0;margin:.4em 0">{entries}</ul>' if items else ""


def _picture(report: Report, view: View) -> str:
    picture = FORMATS["svg"](report, view)
    if len(picture) > _LARGEST or not (report.layers or report.parameters):
        return ""
    return f'<div style="overflow:auto;max-height:720px">\n{picture}</div>'


def _table(report: Report, view: View) -> str:
    """Return the first rows of what the command is about."""
    if report.command == "check":
        return _findings(report, view)
    if report.command == "grads" and report.parameters:
        known = parameters.select_rows(report, view).rows
        return _grid(parameters.columns(known, view, steps=3), known, "parameter")
    if report.command == "trace" and (seen := events.shown_events(report, view)):
        return _grid(events.columns(report, view, seen), seen, "event")
    names = columns(report, view)
    known_lines = lines(report, view)
    body = [
        [line.label if name == "layer" else line.cell(name, _WIDEST) for name in names]
        for line in known_lines[:_MOST_ROWS]
    ]
    titles = [COLUMNS[name] for name in names]
    return _rows(titles, [name in RIGHT for name in names], body, len(known_lines), "call")


def _findings(report: Report, view: View) -> str:
    rows = check_rows.select_rows(report, view)
    body = [
        [check_rows.word(row), row.rule, check_rows.target(row), check_rows.sentence(row)]
        for row in rows[:_MOST_ROWS]
    ]
    return _rows(["Result", "Rule", "Target", "Finding"], [False] * 4, body, len(rows), "check")


def _grid(grid: Mapping[str, Column[Row]], rows: Sequence[Row], word: str) -> str:
    titles, right = [c.title for c in grid.values()], [c.right for c in grid.values()]
    return _rows(titles, right, cells_of(grid, rows[:_MOST_ROWS]), len(rows), word)


def _rows(
    titles: Sequence[str],
    right: Sequence[bool],
    body: Sequence[Sequence[str]],
    count: int,
    word: str,
) -> str:
    """Return a table that opens on a click, "" without rows."""
    if not body:
        return ""
    sides = ["right" if is_right else "left" for is_right in right]

    def line(tag: str, cells: Sequence[str]) -> str:
        texts = zip(cells, sides, strict=True)
        inside = "".join(
            f'<{tag} style="text-align:{side}">{html_text(cell)}</{tag}>' for cell, side in texts
        )
        return f"<tr>{inside}</tr>"

    first = f", the first {len(body)}" if count > len(body) else ""
    table = line("th", titles) + "".join(line("td", cells) for cells in body)
    return (
        f"<details><summary>{html_text(counted(count, word) + first)}</summary>\n"
        f'<div style="overflow:auto"><table>{table}</table></div>\n</details>'
    )
