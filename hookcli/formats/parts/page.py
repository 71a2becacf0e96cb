"""A page for a terminal: the head, the tables, totals, failed checks and notes."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from hookcli.console import escape
from hookcli.formats.parts import ranks, summary
from hookcli.formats.parts.style import STATUSES, Style, paint, paint_start
from hookcli.formats.parts.text import place
from hookcli.formats.parts.verdict import GOOD, TRY, left_out, nothing_found, shown
from hookcli.formats.view import View
from hookcli.report.report import Report
from hookcli.text import shorten

_LEAST = 40  # columns: lines are wrapped at this width on narrower terminals
_ASCII = {"–": "-", "…": "~", "×": "x", "→": "->", "≈": "~"}
_FIGURE = 20  # characters: longer strings are sentences, and are aligned left


def wrapped(text: str, width: int, *, indent: int = 6) -> str:
    """Wrap the text over several lines, later lines indented; long words are not broken."""
    return "\n".join(
        textwrap.wrap(
            text,
            max(width, _LEAST),
            subsequent_indent=" " * indent,
            break_long_words=False,
            break_on_hyphens=False,
        )
    )


def plain(text: str, view: View) -> str:
    """Replace the glyphs that an ASCII terminal does not have."""
    if view.unicode:
        return text
    for glyph, ascii_ in _ASCII.items():
        text = text.replace(glyph, ascii_)
    return text


def labelled(
    label: str, text: str, view: View, style: Style | None, *, width: int | None = None
) -> str:
    """Return `label: text`, wrapped, with its label in a style. A `width` of 0: one line."""
    body = f"{label}: {text}"
    body = body if width == 0 else wrapped(body, width or view.width)
    if not body.startswith(f"{label}:"):  # it was wrapped within the label
        return body
    return paint_start(body, len(label) + 1, style, color=view.color)


def alarm_style(label: str) -> Style:
    """The style of what is wrong: a finding by its severity."""
    return STATUSES.get(label, Style.WRONG)


def head(report: Report, view: View) -> str:
    """Return the lines about the model, the input and the run."""
    return "\n".join(head_lines(report, view, max(view.width, _LEAST)))


def head_lines(report: Report, view: View, width: int | None = None) -> list[str]:
    """Return the lines of the head, within a width if there is one."""
    lines = [f"{name:<6} {text}" for name, text in summary.head(report)]
    lines = lines if width is None else [shorten(line, width) for line in lines]
    return [paint(lines[0], Style.TITLE, color=view.color), *lines[1:]]


def verdict(report: Report, view: View, *, width: int | None = None) -> str:
    """Return the verdict as lines, "" if there is none. A `width` of 0: each on a line."""

    def fitted(text: str, indent: int) -> str:
        return text if width == 0 else wrapped(text, (width or view.width) - indent)

    if good := nothing_found(report):
        return paint_start(fitted(good, 0), len(GOOD), Style.GOOD, color=view.color)
    lines = []
    for item in shown(report):
        style = STATUSES[item.severity]
        lines.append(labelled(item.severity, escape(item.sentence), view, style, width=width))
        if item.place:
            lines.append(f"  --> {place(item.place)}")
        if item.advice:
            lines.append("  " + fitted(f"{TRY}: {escape(item.advice)}", 2))
    return "\n".join([*lines, *filter(None, [left_out(report)])])


def long_notes(notes: Sequence[str], view: View) -> list[str]:
    """Notes, each on a line however long it is."""
    return [labelled("note", note, view, STATUSES["note"], width=0) for note in notes]


def long_alarms(alarms: Sequence[tuple[str, str]], view: View) -> list[str]:
    """What is wrong, each thing on a line however long it is."""
    return [labelled(label, text, view, alarm_style(label), width=0) for label, text in alarms]


def assemble(
    report: Report,
    view: View,
    tables: Sequence[str],
    *,
    totals: Sequence[tuple[str, str]],
    notes: Sequence[str],
    alarms: Sequence[tuple[str, str]] = (),
) -> str:
    """Return all parts that are not empty, separated by blank lines.

    `alarms` are (label, text) lines before the failed checks.
    """
    parts = [head(report, view), verdict(report, view), *tables, *ranks.tables(report, view)]
    totals = [*totals, *ranks.totals(report)]
    if totals:
        wide = max(len(name) for name, _ in totals)
        most = max((len(text) for _, text in totals if len(text) <= _FIGURE), default=0)
        parts.append(
            "\n".join(
                f"{name:<{wide}}  {text:>{most}}"
                if len(text) <= _FIGURE
                else wrapped(f"{name:<{wide}}  {text}", view.width, indent=wide + 2)
                for name, text in totals
            )
        )
    failed = [*alarms, *ranks.alarms(report), *summary.failed(report)]
    parts.append("\n".join(labelled(name, text, view, alarm_style(name)) for name, text in failed))
    parts.append("\n".join(labelled("note", note, view, STATUSES["note"]) for note in notes))
    return plain("\n\n".join(part for part in parts if part), view) + "\n"
