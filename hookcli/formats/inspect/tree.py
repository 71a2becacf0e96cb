"""A line for each call, indented below its caller, with every leaf and the place in the source."""

from __future__ import annotations

from hookcli.formats.inspect.cells import no_output, parameters
from hookcli.formats.inspect.table import lines
from hookcli.formats.parts import summary
from hookcli.formats.parts.page import plain
from hookcli.formats.parts.text import leaves_full, place
from hookcli.formats.view import View
from hookcli.report.report import Report


def render(report: Report, view: View) -> str:
    """The model, the tree, the totals and the notes. Lines are as long as they need to be."""
    arrow = "→" if view.unicode else "->"
    out = [f"{name:<6} {text}" for name, text in summary.head(report)]
    out.append("")
    for line in lines(report, view):
        row = line.row
        text = f"{line.guides}{line.label}  {leaves_full(row.inputs, inputs=True)} {arrow} "
        text += leaves_full(row.outputs) if row.outputs else no_output(row)
        count = parameters(row, hidden=line.hidden)
        text += f"  {count} params" if count not in {"–", "(reused)"} else ""
        text += f"  {place(row.place)}" if row.place else ""
        out.append(text)
    out.append("")
    out += [f"{name}: {text}" for name, text in summary.totals(report)]
    out += [f"note: {note}" for note in summary.notes(report, view.only)]
    return plain("\n".join(out), view) + "\n"
