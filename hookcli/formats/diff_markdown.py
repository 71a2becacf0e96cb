"""A diff for a pull request, with everything of the user's escaped."""

from __future__ import annotations

from hookcli.formats import diff_rows, diff_words
from hookcli.formats.markdown import grid, quote
from hookcli.formats.view import View
from hookcli.report.diff import Diff


def render(diff: Diff, view: View) -> str:
    """The verdict as a heading, the sides, where it began, the tables and the notes."""
    rows = diff_rows.shown(diff, view)
    parts = [
        f"### {quote(diff_words.last_line(diff))}",
        "\n".join(f"- {label}: {quote(text)}" for label, text in diff_words.head(diff)),
        "\n".join(f"- **{label}**: {quote(text)}" for label, text in diff_words.first(diff)),
        grid(diff_rows.CALLS, rows.calls),
        grid(diff_rows.STATE, rows.state),
        "\n".join(f"- {quote(text)}" for text in diff_words.totals(diff)),
        "\n".join(f"- {quote(text)}" for text in diff_words.notes(diff, rows, view)),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"
