"""The report of a comparison of two trainings, with the verdict last."""

from __future__ import annotations

from hookcli.comparison.training.training_diff import TrainingDiff
from hookcli.formats.document.document import (
    Document,
    Fact,
    FactsBlock,
    LastLine,
    LinesBlock,
    Problem,
    ProblemsBlock,
    TableBlock,
)
from hookcli.formats.training_diff import lines, steps
from hookcli.formats.view import View


def build(diff: TrainingDiff, view: View) -> Document:
    """Return the document, whose last line begins with SAME or DIFFERENT."""
    rows = steps.select(diff, view)
    settings = TableBlock(
        steps.SETTINGS, rows.settings, "setting", give_way=steps.SETTINGS_GIVE_WAY
    )
    by_step = TableBlock(steps.steps_of(diff), rows.steps, "step", give_way=steps.STEPS_GIVE_WAY)
    gradients = TableBlock(
        steps.gradients_of(diff), rows.gradients, "parameter", give_way=steps.GRADIENTS_GIVE_WAY
    )
    first = [Problem(label, text) for label, text in lines.first(diff)]
    return Document(
        "",
        (
            FactsBlock(
                [Fact(label, text, is_title=True) for label, text in lines.head(diff)], align=2
            ),
            settings,
            by_step,
            gradients,
            ProblemsBlock(first, is_main=True),
            LinesBlock(lines.totals(diff)),
        ),
        lines.notes(diff, rows, view),
        LastLine(lines.last_line(diff), diff.verdict == "same"),
    )
