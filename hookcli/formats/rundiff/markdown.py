"""A comparison of two trainings as Markdown: the user's strings are escaped."""

from __future__ import annotations

from hookcli.comparison.trainings.training_diff import TrainingDiff
from hookcli.formats.markdown import grid
from hookcli.formats.rundiff import lines, steps
from hookcli.formats.view import View
from hookcli.outputs.escapes import markdown as quote


def render(diff: TrainingDiff, view: View) -> str:
    """Render the verdict as a heading, both scripts, the first difference, tables and notes."""
    rows = steps.select(diff, view)
    parts = [
        f"### {quote(lines.last_line(diff))}",
        "\n".join(f"- {label}: {quote(text)}" for label, text in lines.head(diff)),
        "\n".join(f"- **{label}**: {quote(text)}" for label, text in lines.first(diff)),
        grid(steps.SETTINGS, rows.settings),
        grid(steps.steps_of(diff), rows.steps),
        grid(steps.gradients_of(diff), rows.gradients),
        "\n".join(f"- {quote(text)}" for text in lines.totals(diff)),
        "\n".join(f"- {quote(text)}" for text in lines.notes(diff, rows, view)),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"
