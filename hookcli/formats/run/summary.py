"""The summary of a training, which `hookcli run` prints at the end: about fifteen lines."""

from __future__ import annotations

from hookcli.formats.check.merged import merged
from hookcli.formats.parts import page
from hookcli.formats.parts.style import STATUSES, Style, paint_start
from hookcli.formats.run.facts import command_line, ending, figures, observed, problems, title
from hookcli.formats.run.findings import FIRST, first_non_finite, notes
from hookcli.formats.view import View
from hookcli.report.report import Report
from hookcli.report.training import TrainingReport
from hookcli.text import counted

_RECORDS = 6  # that have a line
_NOTES = 4


def render(report: TrainingReport, view: View) -> str:
    """Render the verdict, a line for each record, the first non-finite value, and notes."""
    lines = [_head(report, view)]
    if text := page.verdict(merged(report), view):
        lines.append(text)
    lines += [record_line(record, view) for record in report.records[:_RECORDS]]
    if left := len(report.records[_RECORDS:]):
        lines.append(f"{counted(left, 'more record')}: `-f table` shows all")
    lines += non_finite_lines(report, view)
    every = notes(report)
    lines += [note_line(note, view) for note in every[:_NOTES]]
    if left := len(every[_NOTES:]):
        more = f"{counted(left, 'more note')}: `-f table` shows all"
        lines.append(note_line(more, view))
    return page.plain("\n".join(lines), view) + "\n"


def _head(report: TrainingReport, view: View) -> str:
    script = f"hookcli run {command_line(report.script)}"
    text = page.wrapped(f"{script}: {ending(report)}, {observed(report)}", view.width)
    return _bold_start(text, script, view)


def _bold_start(text: str, start: str, view: View) -> str:
    """Return a wrapped text with its start in bold, unless it was wrapped within that."""
    if not text.startswith(start):
        return text
    return paint_start(text, len(start), Style.TITLE, color=view.color)


def note_line(note: str, view: View) -> str:
    """Return a note, wrapped unless it begins with a command, which is copied as a whole."""
    width = 0 if note.startswith("run `") else None
    return page.labelled("note", note, view, STATUSES["note"], width=width)


def non_finite_lines(report: TrainingReport, view: View, *, width: int | None = None) -> list[str]:
    """Return the lines about the first value that is not finite, its details indented."""
    wide = width or view.width
    return [
        page.labelled(label, text, view, Style.WRONG, width=wide)
        if label == FIRST
        else f"  {page.wrapped(f'{label}: {text}', wide - 2, indent=4)}"
        for label, text in first_non_finite(report)
    ]


def record_line(record: Report, view: View, *, width: int | None = None) -> str:
    """Return what happened in a record, wrapped, with its name in bold."""
    wide = width or view.width
    name = title(record)
    text = page.wrapped(f"{name}: {', '.join(figures(record))}", wide, indent=2)
    text = _bold_start(text, name, view)
    more = [f"  {page.wrapped(problem, wide - 2, indent=4)}" for problem in problems(record)]
    return "\n".join([text, *more])
