"""A comparison of two trainings for a terminal, with the verdict last."""

from __future__ import annotations

from hookcli.comparison.trainings.training_diff import TrainingDiff
from hookcli.formats.parts.grid import draw
from hookcli.formats.parts.page import labelled, plain, wrapped
from hookcli.formats.parts.style import STATUSES, Style, paint
from hookcli.formats.parts.summary import unfit
from hookcli.formats.rundiff import lines, steps
from hookcli.formats.view import View
from hookcli.text import shorten

_LEAST = 40  # columns


def render(diff: TrainingDiff, view: View) -> str:
    """Render the page. Its last line begins with SAME or DIFFERENT."""
    rows = steps.select(diff, view)
    width = max(view.width, _LEAST)
    dropped: list[str] = []
    settings = draw(
        steps.SETTINGS,
        rows.settings,
        width=width,
        give_way=steps.SETTINGS_GIVE_WAY,
        color=view.color,
    )
    table = draw(
        steps.steps_of(diff),
        rows.steps,
        width=width,
        give_way=steps.STEPS_GIVE_WAY,
        color=view.color,
        dropped=dropped,
    )
    gradients = draw(
        steps.gradients_of(diff),
        rows.gradients,
        width=width,
        give_way=steps.GRADIENTS_GIVE_WAY,
        color=view.color,
        dropped=dropped,
    )
    parts = [
        "\n".join(
            paint(shorten(f"{label}  {text}", width), Style.TITLE, color=view.color)
            for label, text in lines.head(diff)
        ),
        settings,
        table,
        gradients,
        "\n".join(
            labelled(label, text, view, Style.WRONG, width=width)
            for label, text in lines.first(diff)
        ),
        "\n".join(lines.totals(diff)),
        "\n".join(
            labelled("note", text, view, STATUSES["note"], width=width)
            for text in (*lines.notes(diff, rows, view), *unfit(dropped, chosen=False))
        ),
        _last(diff, view),
    ]
    return plain("\n\n".join(part for part in parts if part), view) + "\n"


def _last(diff: TrainingDiff, view: View) -> str:
    text = wrapped(lines.last_line(diff), view.width)
    style = Style.PASSED if diff.verdict == "same" else Style.FAILED
    return "\n".join(paint(line, style, color=view.color) for line in text.split("\n"))
