"""The report of a diff: both models, the differences, the first one, and the verdict last."""

from __future__ import annotations

from hookcli.comparison.diff import Diff
from hookcli.formats.diff import rows as diff_rows, sentences
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
from hookcli.formats.view import View


def build(diff: Diff, view: View) -> Document:
    """Return the document, whose last line begins with SAME or DIFFERENT."""
    rows = diff_rows.select_rows(diff, view)
    first = [Problem(label, text) for label, text in sentences.first(diff)]
    columns, give_way = diff_rows.calls_of(diff), diff_rows.CALLS_GIVE_WAY
    return Document(
        "",
        (
            FactsBlock([_fact(label, text) for label, text in sentences.head(diff)], align=7),
            TableBlock(columns, rows.calls, "call", give_way=give_way),
            TableBlock(diff_rows.STATE, rows.state, "tensor", give_way=diff_rows.STATE_GIVE_WAY),
            ProblemsBlock(first, is_main=True),
            LinesBlock(sentences.totals(diff)),
        ),
        sentences.notes(diff, rows, view),
        LastLine(sentences.last_line(diff), diff.verdict == "same"),
    )


def _fact(label: str, text: str) -> Fact:
    is_side = label in {"A", "B"}
    return Fact(label, text, is_title=is_side, wraps=not is_side)
