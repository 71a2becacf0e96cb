"""The blocks of documents: every printer shows every string of them, in each kind of block."""

from __future__ import annotations

import re
import typing
from dataclasses import replace

import pytest

from hookcli.formats.document import document as blocks
from hookcli.formats.document.build import BUILDERS
from hookcli.formats.document.document import (
    Cause,
    CheckOutcome,
    Document,
    Fact,
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
from hookcli.formats.document.markdown import page as markdown
from hookcli.formats.document.terminal import brief, page, uncut
from hookcli.formats.names import TABLES
from hookcli.formats.notebook import render as notebook
from hookcli.formats.parts.grid import Column
from hookcli.formats.registry import formats_of
from hookcli.formats.results import KINDS
from hookcli.formats.view import View
from tests.formats.fabricate import TRACE

FINDING = CheckOutcome("fail", None, "rule", "name", "said", " (figures)", "net.py:3",
                       "advice", is_finding=True)  # fmt: skip
PASS = CheckOutcome("pass", None, "calm", "none", "well", has_target=False)
COLUMNS = {"a": Column("Alpha", str), "b": Column("Beta", lambda row: "cell")}
# Each block with the strings that a terminal shows of it, and those that Markdown shows.
SHOWN = {
    FactsBlock: (FactsBlock([Fact("label", "fact", is_title=True),
                             Fact("other", "wrap", wraps=True)]),
                 ["label", "fact", "other", "wrap"], None),
    VerdictBlock: (VerdictBlock([Cause("error", "cause", "net.py:1", "mend")], "left"),
                   ["error", "cause", "net.py:1", "mend", "left"], None),
    TableBlock: (TableBlock(COLUMNS, ["row"], "thing", title="title", subtitle="part"),
                 ["title", "part", "Alpha", "Beta", "row", "cell"], None),
    TreeBlock: (TreeBlock(["root", "leaf"]), ["root", "leaf"], []),  # only `uncut` gets trees
    SectionBlock: (SectionBlock("part", ["one", "two"], ["bad"], "net.py:7"),
                   ["part", "one", "two", "bad", "net.py:7"], ["part", "one", "two", "bad"]),
    TotalsBlock: (TotalsBlock([("sum", "12"), ("  of", "a sentence of some words, and more")]),
                  ["sum", "12", "of", "a sentence of some words, and more"], None),
    LinesBlock: (LinesBlock(["first", "second"]), ["first", "second"], None),
    ProblemsBlock: (ProblemsBlock([Problem("error", "broken", [("why", "cause")])]),
                    ["error", "broken", "why", "cause"], None),
    OutcomesBlock: (OutcomesBlock([FINDING, PASS], [FINDING, PASS], "1 passed", "left"),
                    ["fail", "rule", "name", "said", "figures", "net.py:3", "left", "pass", "calm",
                     "well"],
                    ["fail", "rule", "name", "said", "net.py:3", "advice", "left", "1 passed",
                     "calm", "none", "well"]),
}  # fmt: skip


def test_every_kind_of_block_is_tried_here():
    kinds = {typing.get_origin(kind) or kind for kind in typing.get_args(blocks.Block)}
    assert kinds == set(SHOWN)


@pytest.mark.parametrize("kind", SHOWN, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("draw", [page, uncut, brief])
@pytest.mark.parametrize("color", [False, True])
def test_a_terminal_shows_every_string(kind, draw, color):
    block, terminal, _ = SHOWN[kind]
    text = draw(Document("", [block], ["note"], LastLine("SAME: end", True)), View(color=color))
    plain = re.sub("\x1b\\[[0-9]+m", "", text)
    assert (plain != text) == color
    for word in (*terminal, "note", "SAME: end"):
        assert word in plain


@pytest.mark.parametrize(
    "kind", [kind for kind in SHOWN if kind is not TreeBlock], ids=lambda kind: kind.__name__
)
def test_markdown_shows_every_string(kind):
    block, terminal, other = SHOWN[kind]
    text = markdown(Document("Net", [block], ["note"], LastLine("SAME: end", True)), View())
    assert text.startswith("### Net: SAME: end\n\n")
    for word in (*(terminal if other is None else other), "note"):
        assert word in text


def test_columns_that_do_not_fit_are_the_last_note():
    wide = {name: Column(name * 10, lambda row: "x" * 30) for name in "abc"}
    chosen = TableBlock(wide, ["row"], "thing", give_way=("a",), selectable=True)
    text = page(Document("", [chosen, TableBlock(wide, ["row"], "thing", ("b",))], ["about it"]),
                View(width=70))  # fmt: skip
    assert text.splitlines()[-3:] == [
        "note: about it",
        "note: 1 column does not fit: a (use a wider terminal or `--columns`)",
        "note: 1 column does not fit: b (use a wider terminal)",
    ]


def test_what_a_page_is_about_comes_before_its_tables():
    main = ProblemsBlock([Problem("First difference", "here")], is_main=True)
    document = Document("", [SHOWN[FactsBlock][0], SHOWN[TableBlock][0], main])
    assert markdown(document, View()).index("here") < markdown(document, View()).index("Alpha")
    assert page(document, View()).index("here") > page(document, View()).index("Alpha")


def test_a_last_line_is_one_line_however_narrow_the_terminal_is():
    last = "DIFFERENT: " + ", ".join(["a record only in A"] * 9)
    assert page(Document("", [], (), LastLine(last, False)), View(width=40)) == f"{last}\n"


def test_every_command_and_every_kind_of_result_has_a_builder():
    assert {*TABLES, *KINDS} - {"report"} | {"check"} == set(BUILDERS)
    assert {row.kind for row in BUILDERS.values()} == set(KINDS)


@pytest.mark.parametrize("command", [*BUILDERS, *KINDS, "unheard of", ""])
def test_a_saved_report_may_have_any_command(command):
    other = replace(TRACE, command=command)
    for name, row in formats_of("report").items():
        if not row.writes_folder and not row.needs_timings:
            assert row.render(other, View()), name
    assert notebook(other, View())
