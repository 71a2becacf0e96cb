"""What a report says, in order, before it becomes the text of an output.

A builder makes the document of one kind of report, and a printer makes one sort of output of any
document. Documents have no width, no colour and no markup. Their strings are on one line and
harmless in a terminal, as `console.escape` returns them; a printer escapes them for its output.

Most are named tuples: every command imports them, and Python makes such a class in an eighth of the
time of a dataclass.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, TypeAlias

from hookcli.formats.parts.grid import Column, Row
from hookcli.formats.parts.style import Style


class Fact(NamedTuple):
    """A line of the head. A long text `wraps`, or is cut."""

    label: str
    text: str
    is_title: bool = False
    wraps: bool = False


class FactsBlock(NamedTuple):
    """The head: what ran, and how. Texts begin after `align` characters, or a longer label."""

    facts: Sequence[Fact]
    align: int = 6


class Cause(NamedTuple):
    """One sentence of the verdict. `severity` is its label."""

    severity: str
    sentence: str
    place: str = ""
    advice: str = ""


class VerdictBlock(NamedTuple):
    """What is wrong, the worst first; or `good`, that nothing is.

    `more` tells how many sentences are left out. `failure` is the error that ended the run, for
    outputs beside which it is not printed.
    """

    causes: Sequence[Cause] = ()
    more: str = ""
    good: str = ""
    failure: str = ""


@dataclass(frozen=True, slots=True)
class TableBlock(Generic[Row]):
    """Rows of one sort; `noun` is what a row is.

    Columns give way on a narrow terminal in the order of `give_way`; `selectable`: --columns can
    choose them. `title_room` is that of `grid.draw`. `keeps_titles`: without rows the titles are
    shown. `advice` is a note for a terminal if the table has more rows than a screen.
    """

    columns: Mapping[str, Column[Row]]
    rows: Sequence[Row]
    noun: str
    give_way: Sequence[str] = ()
    selectable: bool = False
    title_room: int | None = None
    keeps_titles: bool = False
    title: str = ""
    subtitle: str = ""
    advice: str = ""


class TreeBlock(NamedTuple):
    """Lines of a tree, of any length. They are the only text with styles, which vary in a line."""

    lines: Sequence[str]


class SectionBlock(NamedTuple):
    """The start of a part: its title, figures in short phrases, and what is wrong with it."""

    title: str
    figures: Sequence[str]
    problems: Sequence[str] = ()
    place: str = ""
    has_heading: bool = True  # in Markdown; else it is an item of a list


class TotalsBlock(NamedTuple):
    """Figures over all rows, with labels. A label that is indented belongs to the one before."""

    pairs: Sequence[tuple[str, str]]


class LinesBlock(NamedTuple):
    """Sentences without labels."""

    lines: Sequence[str]


class Problem(NamedTuple):
    """What is wrong. `label` says how bad it is, or what it is; `details` have labels too."""

    label: str
    text: str
    details: Sequence[tuple[str, str]] = ()


class ProblemsBlock(NamedTuple):
    """What is wrong. `is_main`: the report is about it, so that it is before tables in a page."""

    problems: Sequence[Problem]
    is_main: bool = False


class CheckOutcome(NamedTuple):
    """One row of a check. `name` is the target, or what a list shows if there is none.

    `is_told`: the verdict has the same sentence.
    """

    word: str
    style: Style | None
    rule: str
    name: str
    sentence: str
    figures: str = ""
    place: str = ""
    advice: str = ""
    has_target: bool = True
    is_finding: bool = False
    is_told: bool = False


class OutcomesBlock(NamedTuple):
    """The rows of a check, the worst first. `folded` has rows that say the same as one.

    `rest` is the number of those that are no findings, in words; `more` tells what is left out.
    """

    rows: Sequence[CheckOutcome]
    folded: Sequence[CheckOutcome]
    rest: str
    more: str = ""


class LastLine(NamedTuple):
    """What it comes to, in a line that begins with a word in capitals, for a person or `tail`."""

    text: str
    is_good: bool


Block: TypeAlias = (
    FactsBlock
    | VerdictBlock
    | TableBlock[Any]
    | TreeBlock
    | SectionBlock
    | TotalsBlock
    | LinesBlock
    | ProblemsBlock
    | OutcomesBlock
)


class Document(NamedTuple):
    """A report: its title, its parts in order, the notes below them, and the last line."""

    title: str
    blocks: Sequence[Block]
    notes: Sequence[str] = ()
    last_line: LastLine | None = None
