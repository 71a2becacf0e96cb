"""A diff for a terminal: both models, the differences, the first one, and the verdict last."""

from __future__ import annotations

from hookcli.comparison.diff import Diff
from hookcli.formats.diff import rows as diff_rows, sentences
from hookcli.formats.parts.grid import draw
from hookcli.formats.parts.page import labelled, plain, wrapped
from hookcli.formats.parts.style import STATUSES, Style, paint
from hookcli.formats.parts.summary import unfit
from hookcli.formats.view import View
from hookcli.text import shorten


def render(diff: Diff, view: View) -> str:
    """Render the page. Its last line begins with SAME or DIFFERENT."""
    rows = diff_rows.select_rows(diff, view)
    width = max(view.width, 40)
    dropped: list[str] = []
    calls = draw(
        diff_rows.calls_of(diff),
        rows.calls,
        width=width,
        give_way=diff_rows.CALLS_GIVE_WAY,
        color=view.color,
        dropped=dropped,
    )
    state = draw(
        diff_rows.STATE,
        rows.state,
        width=width,
        give_way=("shape", "gradient"),
        color=view.color,
        dropped=dropped,
    )
    parts = [
        "\n".join(
            paint(shorten(line, width), Style.TITLE, color=view.color)
            if label in {"A", "B"}
            else wrapped(line, width, indent=8)
            for label, line in (
                (label, f"{label:<7} {text}") for label, text in sentences.head(diff)
            )
        ),
        calls,
        state,
        "\n".join(
            labelled(label, text, view, Style.WRONG, width=width)
            for label, text in sentences.first(diff)
        ),
        "\n".join(sentences.totals(diff)),
        "\n".join(
            labelled("note", text, view, STATUSES["note"], width=width)
            for text in (*sentences.notes(diff, rows, view), *unfit(dropped, chosen=False))
        ),
        _last(diff, view),
    ]
    return plain("\n\n".join(part for part in parts if part), view) + "\n"


def _last(diff: Diff, view: View) -> str:
    text = wrapped(sentences.last_line(diff), view.width)
    style = Style.PASSED if diff.verdict == "same" else Style.FAILED
    return "\n".join(paint(line, style, color=view.color) for line in text.split("\n"))
