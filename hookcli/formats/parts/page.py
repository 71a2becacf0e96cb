"""A page for a terminal: the head, the tables, totals, failed checks and notes."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from hookcli.formats.parts import ranks, summary
from hookcli.formats.view import View
from hookcli.report.report import Report
from hookcli.text import shorten

_LEAST = 40  # columns: below that, lines are as long as they must be
_ASCII = {"–": "-", "…": "~", "×": "x", "→": "->", "≈": "~"}
_YELLOW, _RED = 33, 31
_FIGURE = 20  # characters: what is longer is a sentence, and stands left


def wrapped(text: str, width: int, *, indent: int = 6) -> str:
    """The text over several lines, the later ones indented; long words stay whole."""
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
    """Without the glyphs that an ASCII terminal lacks."""
    if view.unicode:
        return text
    for glyph, ascii_ in _ASCII.items():
        text = text.replace(glyph, ascii_)
    return text


def bold(text: str) -> str:
    """In bold."""
    return f"\x1b[1m{text}\x1b[0m"


def _labelled(label: str, text: str, view: View, number: int) -> str:
    """`note: …` over several lines, its first word in colour."""
    body = wrapped(f"{label}: {text}", view.width)
    if not view.color:
        return body
    return f"\x1b[{number}m{label}:\x1b[0m{body.removeprefix(f'{label}:')}"


def head(report: Report, view: View) -> str:
    """Model, input and run, each on a line."""
    lines = [f"{name:<6} {text}" for name, text in summary.head(report)]
    lines = [shorten(line, max(view.width, _LEAST)) for line in lines]
    return "\n".join([bold(lines[0]) if view.color else lines[0], *lines[1:]])


def assemble(
    report: Report,
    view: View,
    tables: Sequence[str],
    *,
    totals: Sequence[tuple[str, str]],
    notes: Sequence[str],
    alarms: Sequence[tuple[str, str]] = (),
) -> str:
    """All parts that have something to say, a blank line between them.

    `alarms` are (label, text), and stand before the checks that failed.
    """
    parts = [head(report, view), *tables, *ranks.tables(report, view)]
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
    parts.append("\n".join(_labelled(label, text, view, _RED) for label, text in failed))
    parts.append("\n".join(_labelled("note", note, view, _YELLOW) for note in notes))
    return plain("\n\n".join(part for part in parts if part), view) + "\n"
