"""One line per call, indented below its caller, with all tensors and the place in the source."""

from __future__ import annotations

from hookcli.formats.document import common
from hookcli.formats.document.document import Document, TreeBlock
from hookcli.formats.inspect import existing
from hookcli.formats.inspect.cells import memory, no_output, parameters
from hookcli.formats.inspect.document import lines, notes
from hookcli.formats.inspect.training import training_notes, training_totals
from hookcli.formats.names import MEMORY_COLUMNS
from hookcli.formats.parts import summary
from hookcli.formats.parts.style import Style, paint
from hookcli.formats.parts.text import leaves_full, place
from hookcli.formats.view import View
from hookcli.report.report import LayerRow, Report


def body(report: Report, view: View) -> list[str]:
    """Return a line for each call. Lines are not cut."""
    arrow = "→" if view.unicode else "->"
    out = []
    for line in lines(report, view):
        row = line.row
        guides = paint(line.guides, Style.FAINT, color=view.color)
        text = f"{guides}{line.label}  {leaves_full(row.inputs, inputs=True)} {arrow} "
        text += leaves_full(row.outputs) if row.outputs else _no_output(row, view)
        count = parameters(row, hidden=line.hidden)
        text += f"  {count} params" if count not in {"–", "(reused)"} else ""
        text += f"  {place(row.place)}" if row.place else ""
        if line.memory is not None:
            saved, peak, backward = (memory(line.memory, column) for column in MEMORY_COLUMNS)
            text += f"  saved {saved}, peak {peak}, in backward {backward}"
        out.append(text)
    return out


def build(report: Report, view: View) -> Document:
    """Return the document with the tree and the existing hooks."""
    return common.document(
        report,
        view,
        [TreeBlock(body(report, view)), TreeBlock(existing.lines(report, view))],
        totals=[*summary.totals(report), *training_totals(report)],
        notes=[*notes(report, view), *training_notes(report)],
    )


def _no_output(row: LayerRow, view: View) -> str:
    text = no_output(row)
    return paint(text, Style.WRONG if text == "raised" else Style.FAINT, color=view.color)
