"""Documents for a terminal: as wide as the view, in its colours and characters.

`page` cuts and wraps, `uncut` does neither, and `brief` has no blank lines.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from hookcli.formats.document.document import (
    Block,
    CheckOutcome,
    Document,
    FactsBlock,
    LastLine,
    LinesBlock,
    OutcomesBlock,
    Problem,
    ProblemsBlock,
    SectionBlock,
    TableBlock,
    TotalsBlock,
    TreeBlock,
    VerdictBlock,
)
from hookcli.formats.parts.grid import draw
from hookcli.formats.parts.style import STATUSES, Style, paint, paint_start
from hookcli.formats.parts.summary import unfit
from hookcli.formats.parts.verdict import GOOD, TRY
from hookcli.formats.view import View
from hookcli.text import shorten

_LEAST = 40  # columns: lines are wrapped at this width on narrower terminals
_WIDE = 10_000  # columns of a table that is not cut
_SCREEN = 60  # rows
_ASCII = {"–": "-", "…": "~", "×": "x", "→": "->", "≈": "~"}
_FIGURE = 20  # characters: longer strings are sentences, and are aligned left
_INDENT = 4  # of text that does not fit behind the rule
_TAIL = (TotalsBlock, ProblemsBlock)  # what is below the tree, without blank lines between


def page(document: Document, view: View) -> str:
    """Return the parts that are not empty, separated by blank lines."""
    printer = _Printer(view)
    return printer.finished("\n\n".join(part for _, part in printer.parts(document)))


def uncut(document: Document, view: View) -> str:
    """Return the parts with each line as long as it is; below the tree without blank lines."""
    printer = _Printer(view, is_cut=False)
    text, was_below = "", False
    for block, part in printer.parts(document):
        is_below = block is None or isinstance(block, _TAIL)
        text += ("\n" if was_below and is_below else "\n\n" if text else "") + part
        was_below = is_below
    return printer.finished(text)


def brief(document: Document, view: View) -> str:
    """Return the parts on consecutive lines."""
    printer = _Printer(view)
    return printer.finished("\n".join(part for _, part in printer.parts(document)))


class _Printer:
    """Prints blocks, and notes what does not fit: names of columns, and advice on long tables."""

    def __init__(self, view: View, *, is_cut: bool = True) -> None:
        self.view = view
        self.is_cut = is_cut
        self._dropped: list[str] = []
        self._dropped_for_good: list[str] = []  # --columns cannot choose them
        self._advice: list[str] = []

    def parts(self, document: Document) -> list[tuple[Block | LastLine | None, str]]:
        """Return the text of each block, of the notes (None) and of the last line, if not empty."""
        parts: list[tuple[Block | LastLine | None, str]] = [
            (block, _PRINTERS[type(block)](self, block)) for block in document.blocks
        ]
        parts.append((None, self.notes(document.notes)))
        if (last := document.last_line) is not None:
            parts.append((last, self.painted(last.text, _last_style(last))))
        return [(block, part) for block, part in parts if part]

    def finished(self, text: str) -> str:
        """Return the text with the characters that the terminal has."""
        for glyph, ascii_ in {} if self.view.unicode else _ASCII.items():
            text = text.replace(glyph, ascii_)
        return text + "\n"

    def wrapped(self, text: str, *, indent: int = 6, less: int = 0) -> str:
        """Return the text on several lines, later ones indented; long words are not broken."""
        if not self.is_cut:
            return text
        lines = textwrap.wrap(
            text,
            max(self.view.width - less, _LEAST),
            subsequent_indent=" " * indent,
            break_long_words=False,
            break_on_hyphens=False,
        )
        return "\n".join(lines)

    def labelled(self, label: str, text: str, style: Style | None, *, wraps: bool = True) -> str:
        """Return `label: text` with its label in a style, unless it is wrapped within the label."""
        body = f"{label}: {text}"
        body = self.wrapped(body) if wraps else body
        if not body.startswith(f"{label}:"):
            return body
        return self.painted_start(body, len(label) + 1, style)

    def painted(self, text: str, style: Style | None) -> str:
        """Return the text in a style."""
        return paint(text, style, color=self.view.color)

    def painted_start(self, text: str, count: int, style: Style | None) -> str:
        """Return the text with its first characters in a style."""
        return paint_start(text, count, style, color=self.view.color)

    def facts(self, block: FactsBlock) -> str:
        """Return a line for each fact, which begins with its label."""
        lines = []
        for fact in block.facts:
            line = f"{fact.label:<{block.align}} {fact.text}"
            if fact.wraps:
                line = self.wrapped(line, indent=block.align + 1)
            elif self.is_cut:
                line = shorten(line, max(self.view.width, _LEAST))
            lines.append(self.painted(line, Style.TITLE) if fact.is_title else line)
        return "\n".join(lines)

    def verdict(self, block: VerdictBlock) -> str:
        """Return each sentence with its place and advice below; notes follow if all is well."""
        lines = []
        if block.good:
            lines.append(self.painted_start(self.wrapped(block.good), len(GOOD), Style.GOOD))
        for cause in block.causes:
            lines.append(self.labelled(cause.severity, cause.sentence, STATUSES[cause.severity]))
            if cause.place:
                lines.append(f"  --> {cause.place}")
            if cause.advice:
                lines.append("  " + self.wrapped(f"{TRY}: {cause.advice}", less=2))
        return "\n".join([*lines, *filter(None, [block.more])])

    def table(self, block: TableBlock[Any]) -> str:
        """Return the table within the width; columns that do not fit become a note."""
        if block.advice and len(block.rows) > _SCREEN:
            self._advice.append(block.advice)
        drawn = draw(
            block.columns,
            block.rows,
            width=self.view.width if self.is_cut else _WIDE,
            give_way=block.give_way,
            color=self.view.color,
            title_room=block.title_room,
            empty=block.keeps_titles,
            dropped=self._dropped if block.selectable else self._dropped_for_good,
        )
        title = ": ".join(text for text in (block.title, block.subtitle) if text)
        return f"{self.painted(title, Style.TITLE)}\n{drawn}" if title and drawn else drawn

    def tree(self, block: TreeBlock) -> str:
        """Return the lines as they are."""
        return "\n".join(block.lines).strip("\n")

    def section(self, block: SectionBlock) -> str:
        """Return the title in bold with the figures, and what is wrong below."""
        text = self.wrapped(f"{block.title}: {', '.join(block.figures)}", indent=2)
        if text.startswith(block.title):
            text = self.painted_start(text, len(block.title), Style.TITLE)
        lines = [f"  {self.wrapped(text, indent=4, less=2)}" for text in block.problems]
        return "\n".join([text, *lines, *([f"  --> {block.place}"] if block.place else [])])

    def totals(self, block: TotalsBlock) -> str:
        """Return a line for each total, with the figures below each other."""
        if not self.is_cut:
            return "\n".join(f"{name}: {text}" for name, text in block.pairs)
        wide = max((len(name) for name, _ in block.pairs), default=0)
        most = max((len(text) for _, text in block.pairs if len(text) <= _FIGURE), default=0)
        return "\n".join(
            f"{name:<{wide}}  {text:>{most}}"
            if len(text) <= _FIGURE
            else self.wrapped(f"{name:<{wide}}  {text}", indent=wide + 2)
            for name, text in block.pairs
        )

    def lines(self, block: LinesBlock) -> str:
        """Return the sentences as they are."""
        return "\n".join(block.lines)

    def problems(self, block: ProblemsBlock) -> str:
        """Return a line for each problem, with details below."""
        return "\n".join(line for problem in block.problems for line in self._problem(problem))

    def _problem(self, problem: Problem) -> list[str]:
        style = STATUSES.get(problem.label, Style.WRONG)
        details = [
            f"  {self.wrapped(f'{label}: {text}', indent=4, less=2)}"
            for label, text in problem.details
        ]
        return [self.labelled(problem.label, problem.text, style), *details]

    def outcomes(self, block: OutcomesBlock) -> str:
        """Return the rows below each other: the outcome, the rule, and what was found."""
        words = max((len(row.word) for row in block.folded), default=0)
        rules = max((len(row.rule) for row in block.folded), default=0)
        lines = [self._outcome(row, words, rules) for row in block.folded]
        return "\n".join([*lines, *filter(None, [block.more])])

    def _outcome(self, row: CheckOutcome, words: int, rules: int) -> str:
        """Return a row with its place. What the verdict told is not repeated."""
        name = row.name if row.has_target else ""
        said = "see above" if row.is_told else row.sentence
        text = ": ".join(part for part in (name, said) if part)
        text += "" if row.is_told else row.figures
        lead = f"{row.word:<{words}}  {row.rule:<{rules}}  "
        indent = len(lead) if len(lead) <= max(self.view.width, _LEAST) // 2 else _INDENT
        body = f"{lead}{text}" if indent == len(lead) else f"{lead.rstrip()}\n{' ' * indent}{text}"
        lines = [self.wrapped(line, indent=indent) for line in body.split("\n")]
        if row.place and not row.is_told:
            lines.append(f"{' ' * indent}--> {row.place}")
        return self.painted_start("\n".join(lines), len(row.word), row.style)

    def notes(self, notes: Sequence[str]) -> str:
        """Return the notes, with those about the display last.

        A note that begins with a command is not wrapped, as that is copied as a whole.
        """
        every = [
            *notes,
            *unfit(self._dropped),
            *unfit(self._dropped_for_good, chosen=False),
            *self._advice,
        ]
        return "\n".join(
            self.labelled("note", note, STATUSES["note"], wraps=not note.startswith("run `"))
            for note in every
        )


def _last_style(last: LastLine) -> Style:
    return Style.PASSED if last.is_good else Style.FAILED


_PRINTERS: Mapping[type, Callable[[_Printer, Any], str]] = {
    FactsBlock: _Printer.facts,
    VerdictBlock: _Printer.verdict,
    TableBlock: _Printer.table,
    TreeBlock: _Printer.tree,
    SectionBlock: _Printer.section,
    TotalsBlock: _Printer.totals,
    LinesBlock: _Printer.lines,
    ProblemsBlock: _Printer.problems,
    OutcomesBlock: _Printer.outcomes,
}
