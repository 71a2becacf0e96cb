"""A check as Markdown: names render as text, and what passed is folded."""

from __future__ import annotations

import html

import pytest

from hookcli.formats.ci.step_summary import brief
from hookcli.formats.registry import FORMATS
from hookcli.formats.view import View
from hookcli.outputs.escapes import markdown as quote
from tests.formats.checks import CHECK, row
from tests.formats.fabricate import report
from tests.formats.test_formats import HOSTILE

OURS = ("<details><summary>1 skipped, 1 passed</summary>\n", "</details>\n")


@pytest.mark.parametrize(("draw", "facts"), [(FORMATS["markdown"].render, 3), (brief, 0)])
@pytest.mark.parametrize(
    "name", [*HOSTILE.values(), "</details>", "`x`", "a\n\n# b", "1. x", "- x"]
)
def test_a_reader_finds_no_markup_of_the_user_s(name, draw, facts):
    markdown_it = pytest.importorskip("markdown_it")
    rows = tuple(
        row(name, name, status, message=name, value=name, limit=name, place=f"{name}:3")
        for status in ("fail", "error", "skip", "pass")
    )
    text = draw(report("check", checks=rows, warnings=(name,)), View())
    tokens = markdown_it.MarkdownIt("gfm-like", {"linkify": False}).parse(text)
    kinds = [token.type for token in tokens]
    assert [token.content for token in tokens if token.type == "html_block"] == list(OURS)
    assert kinds.count("heading_open") == 1
    assert kinds.count("list_item_open") == 5 + facts
    plain = {"text", "softbreak", "text_special", "strong_open", "strong_close"}
    for token in tokens:
        for child in token.children or ():
            assert child.type in plain, child
    assert "##[" not in text


def test_it_reads_from_the_verdict_to_what_passed():
    text = FORMATS["markdown"].render(CHECK, View())
    order = ["### Net: FAILED", "**not judged**", "**fail**", "**warning**", "<details>",
             "**skip**", "**pass**", "</details>"]  # fmt: skip
    places = [text.index(part) for part in order]
    assert places == sorted(places)


def test_a_rule_s_remedy_is_told_once():
    found = report("check", checks=(row(target="a"), row(target="b"), row("dtype", "c")))
    lines = FORMATS["markdown"].render(found, View()).splitlines()[6:]
    assert [line[:13] for line in lines] == [
        "- **fail** fi", "  - to fix it", "- **fail** fi", "- **fail** dt", "  - to fix it",
    ]  # fmt: skip


def test_a_check_that_passed_is_a_line_and_a_fold():
    found = report("check", checks=(row(status="pass", message="all is well"),))
    assert FORMATS["markdown"].render(found, View()) == (
        "### Net: PASSED: 1 passed\n\n"
        "- model: Net  net.py:3\n- run: real tensors, train mode, cpu, seed 0\n"
        "- loss: probe 0.5\n\n"
        "<details><summary>1 passed</summary>\n\n"
        "- **pass** finite, –: all is well\n\n"
        "</details>\n"
    )


@pytest.mark.parametrize(
    "address", ["http://a.b", "HTTPS://a.b", "ftp://a.b", "www.a.b", "mailto:a", "a@b.c"]
)
def test_an_address_does_not_become_a_link(address):
    quoted = quote(address)
    assert html.unescape(quoted).replace("\u200b", "") == address
    assert not any(
        mark in quoted.lower() for mark in ("http:", "https:", "ftp:", "www.", "o:", "@")
    )
