"""The table for a pull request: pipes, with everything of the user's escaped."""

from __future__ import annotations

import re

from tabulate import tabulate

from hookcli.formats import summary
from hookcli.formats.cells import RIGHT
from hookcli.formats.names import COLUMNS
from hookcli.formats.table import Line, columns, lines
from hookcli.formats.view import View
from hookcli.report.model import Report

# A shape is no link, and an underscore inside a word no emphasis: they stay readable as they are.
_MARKS = re.compile(r"(\[[0-9, *]*\](?![\[(:]))|(?<=\w)_(?=\w)|([\\`*_~\[\]|#$!])")
_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", "@": "&#64;"}
_INDENT = "&emsp;"


def quote(text: str) -> str:
    """Text that renders as itself: no markup, HTML, mention or link of it takes effect."""
    text = _MARKS.sub(lambda m: f"\\{m[2]}" if m[2] else m[0], text)
    return "".join(_ENTITIES.get(c, c) for c in text)


def _layer(line: Line) -> str:
    """Tree guides as indentation: box glyphs do not align in proportional type."""
    return _INDENT * (len(line.guides) // 3) + quote(line.label)


def render(report: Report, view: View) -> str:
    """A heading, the table, the totals and the notes."""
    names = columns(report, view)
    body = [
        [_layer(line) if name == "layer" else quote(line.cell(name, 60)) for name in names]
        for line in lines(report, view)
    ]
    title = quote(report.model.type or report.model.source)
    parts = [f"### {title}", "\n".join(f"- {n}: {quote(t)}" for n, t in summary.head(report))]
    if body:
        parts.append(
            tabulate(
                body,
                headers=[COLUMNS[name] for name in names],
                tablefmt="pipe",
                colalign=["right" if name in RIGHT else "left" for name in names],
                disable_numparse=True,
            )
        )
    parts.append("\n".join(f"- {n.strip()}: {quote(t)}" for n, t in summary.totals(report)))
    parts.append("\n".join(f"- {quote(note)}" for note in summary.notes(report, view.only)))
    return "\n\n".join(part for part in parts if part) + "\n"
