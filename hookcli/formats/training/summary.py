"""The summary of a training, which `hookcli run` prints at the end: about fifteen lines."""

from __future__ import annotations

from hookcli.formats.check.merged import merged
from hookcli.formats.document import common
from hookcli.formats.document.document import Document, LinesBlock, SectionBlock
from hookcli.formats.document.terminal import brief
from hookcli.formats.parts.verdict import nothing_in_steps
from hookcli.formats.training import facts, findings
from hookcli.formats.view import View
from hookcli.report.training import TrainingReport
from hookcli.text import counted

_RECORDS = 6  # that have a line
_NOTES = 4


def render(report: TrainingReport, view: View) -> str:
    """Render the verdict, a line for each record, the first non-finite value, and notes."""
    return brief(build(report), view)


def build(report: TrainingReport) -> Document:
    """Return the document of the summary."""
    name = facts.command_line(report.script)
    records, notes = report.records, findings.notes(report)
    left, left_notes = len(records[_RECORDS:]), len(notes[_NOTES:])
    return Document(
        name,
        (
            SectionBlock(f"hookcli run {name}", (facts.ending(report), facts.observed(report))),
            common.verdict(merged(report), nothing_in_steps(report)),
            *(facts.section(row)._replace(place="") for row in records[:_RECORDS]),
            LinesBlock([f"{counted(left, 'more record')}: `-f table` shows all"] if left else []),
            findings.problems(report),
        ),
        [
            *notes[:_NOTES],
            *([f"{counted(left_notes, 'more note')}: `-f table` shows all"] if left_notes else []),
        ],
    )
