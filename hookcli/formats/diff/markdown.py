"""A diff as Markdown, for a pull request: the user's strings are escaped."""

from __future__ import annotations

from hookcli.comparison.diff import Diff
from hookcli.formats.diff import rows as diff_rows, sentences
from hookcli.formats.markdown import grid
from hookcli.formats.view import View
from hookcli.outputs.escapes import markdown as quote


def render(diff: Diff, view: View) -> str:
    """Render the verdict as a heading, both models, the first difference, tables and notes."""
    rows = diff_rows.select_rows(diff, view)
    parts = [
        f"### {quote(sentences.last_line(diff))}",
        "\n".join(f"- {label}: {quote(text)}" for label, text in sentences.head(diff)),
        "\n".join(f"- **{label}**: {quote(text)}" for label, text in sentences.first(diff)),
        grid(diff_rows.CALLS, rows.calls),
        grid(diff_rows.STATE, rows.state),
        "\n".join(f"- {quote(text)}" for text in sentences.totals(diff)),
        "\n".join(f"- {quote(text)}" for text in sentences.notes(diff, rows, view)),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"
