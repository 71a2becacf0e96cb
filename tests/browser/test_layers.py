"""The panel of layers: figures of calls and all below them, folds, the search and selections."""

from __future__ import annotations

import dataclasses

import pytest

from hookcli.report.report import UncalledRow
from tests.browser.reports import large
from tests.browser.samples import html
from tests.browser.watched import emulate_media, fragment, settle
from tests.formats.checks import row as check
from tests.formats.fabricate import layer, parameter, report, stats

# name, caller, FLOPs of the call itself, own parameters, all parameters, norm of the gradient
CALLS = (
    ("", None, 0, 0, 60, 1.0),
    ("stem", 0, 100, 10, 10, 0.5),
    ("body", 0, 20, 0, 50, "nan"),
    ("body.h.0", 2, 300, 20, 20, None),
    ("body.h.1", 2, None, 30, 30, 2.0),
    ("body.h.0", 2, 300, 20, 20, 4.0),
)
SHOWN = ["(root)", "stem", "body", "h.0", "h.1", "h.0", "idle"]


def calls():
    for order, (name, parent, flops, own, parameters, norm) in enumerate(CALLS):
        row = layer(
            order, name, "Block" if order in {0, 2} else "Linear", parent,
            call=int(order == 5), flops=flops, output_grad=norm and stats(norm),
        )  # fmt: skip
        yield dataclasses.replace(row, own_parameters=own, parameters=parameters)


@pytest.fixture
def small(open_page):
    """A page of three levels, in which a module is called twice and another one never."""
    return open_page(
        html(
            report(
                "inspect",
                layers=tuple(calls()),
                uncalled=(UncalledRow("body.idle", "Dropout", "net.py:9"),),
                parameters=(parameter("stem.weight", (10,)),),
                checks=(check("dead_layer", "stem", severity="error"),),
            )
        )
    )


def cells(page, column):
    """The texts of a column; of the names without the numbers of calls."""
    found = page.locator(f".panel-layers .grid-row:not([hidden]) .cell-{column}")
    return found.evaluate_all(
        "(all) => all.map((cell) => (cell.querySelector('bdi') ?? cell).textContent)"
    )


def row(page, name):
    """The row of the first call of a layer."""
    return (
        page.locator(".grid-row:not([hidden])").filter(has=page.get_by_text(name, exact=True)).first
    )


def hint(page, name, column):
    return row(page, name).locator(f".cell-{column}").get_attribute("title")


def search(page, text):
    page.get_by_role("searchbox").fill(text)


def header(page, name):
    return page.get_by_role("columnheader", name=name)


def test_names_are_below_their_callers_and_say_which_call(small):
    assert cells(small, "layer") == SHOWN
    assert small.locator(".grid-call").all_text_contents() == ["call 1"]
    assert hint(small, "h.1", "layer") == "body.h.1\nLinear\nnet.py:7"


def test_flops_are_those_of_a_call_and_all_calls_below_it(small):
    assert cells(small, "flops") == ["≥ 720", "100", "≥ 620", "300", "–", "300", "–"]
    assert hint(small, "body", "flops") == (
        "620 FLOPs (86.1 %)\n20 of the call itself\nSome of it is not known"
    )
    assert hint(small, "stem", "flops") == "100 FLOPs (13.9 %)"


def test_parameters_count_for_the_first_call_of_a_module(small):
    assert cells(small, "parameters") == ["60", "10", "50", "20", "30", "reused", "–"]
    assert hint(small, "body", "parameters").startswith(
        "50 parameters (83.3 %)\n0 of the module itself"
    )


def test_a_bar_has_the_length_of_a_share_of_the_largest_figure(small):
    shares = "['--own', '--all'].map((name) => bar.style.getPropertyValue(name))"
    bars = (
        row(small, "body").locator(".grid-bar").evaluate_all(f"(all) => all.map((bar) => {shares})")
    )
    assert bars == [["0.00%", "83.33%"], ["2.78%", "86.11%"]]


def test_columns_without_a_value_are_not_shown(small):
    names = small.get_by_role("columnheader").all_text_contents()
    assert names == [
        "Layer", "Type", "Input", "Output", "Parameters", "FLOPs", "Output gradient", "Status",
    ]  # fmt: skip
    small.get_by_text("Columns").click()
    small.get_by_label("Input").uncheck()
    assert "Input" not in small.get_by_role("columnheader").all_text_contents()
    assert len(cells(small, "output")) == len(SHOWN)
    assert cells(small, "input") == []


def test_a_status_is_in_words(small):
    assert cells(small, "status") == ["", "error", "", "", "", "", "uncalled"]
    assert "uncalled" in row(small, "idle").get_attribute("class")


def test_the_largest_comes_first_and_nan_before_it(small):
    header(small, "Output gradient").click()
    assert cells(small, "layer") == ["(root)", "body", "h.0", "h.1", "h.0", "idle", "stem"]
    assert cells(small, "grad_norm")[1:4] == ["nan", "4", "2"]


def test_a_click_selects_a_layer_everywhere(small):
    row(small, "stem").click()
    assert fragment(small).endswith("layer=stem")
    assert small.locator("[aria-selected=true].grid-row").inner_text().startswith("stem")
    assert small.locator(".details h3").inner_text() == "stem"


def test_a_search_shows_matches_in_their_places_and_then_the_folds_as_before(small):
    row(small, "body").locator(".grid-toggle").click()
    assert cells(small, "layer") == ["(root)", "stem", "body"]
    search(small, "DY.h.1")
    assert cells(small, "layer") == ["(root)", "body", "h.1"]
    dimmed = small.locator(".grid-row.dimmed:not([hidden]) bdi.name").all_text_contents()
    assert dimmed == ["(root)", "body"]
    assert row(small, "body").get_attribute("aria-expanded") == "true"
    assert small.locator(".grid mark").all_text_contents() == ["h.1"]
    search(small, "")
    assert cells(small, "layer") == ["(root)", "stem", "body"]


def test_a_match_can_be_opened_to_see_what_is_below_it(small):
    search(small, "Block")
    assert cells(small, "layer") == ["(root)", "body"]
    row(small, "body").locator(".grid-toggle").click()
    assert cells(small, "layer") == ["(root)", "body", "h.0", "h.1", "h.0", "idle"]


def test_matches_that_are_sorted_are_a_list_of_full_names(small):
    header(small, "Parameters").click()
    search(small, "h.")
    assert cells(small, "layer") == ["body.h.1", "body.h.0", "body.h.0"]
    assert small.locator(".grid-row[aria-level='1']:not([hidden])").count() == 3
    small.get_by_role("columnheader", name="Parameters").click(click_count=2)
    assert cells(small, "layer") == ["(root)", "body", "h.0", "h.1", "h.0"]


def test_a_list_has_all_layers_in_one_order(small):
    small.get_by_label("As a list").check()
    header(small, "FLOPs").click()
    assert cells(small, "layer")[:4] == ["(root)", "body", "body.h.0", "body.h.0"]


@pytest.fixture
def many(open_page):
    """A page of 2,001 layers, of which the 201 above the third level are open."""
    return open_page(html(large(200)), "#layer=blocks.150.attn.proj")


def test_a_layer_of_the_address_is_unfolded_and_in_view(many):
    chosen = many.locator("[aria-selected=true].grid-row")
    assert chosen.get_attribute("aria-level") == "4"
    assert chosen.locator("bdi").first.text_content() == "proj"
    assert in_view(many)
    assert many.locator(".grid-row:not([hidden])").count() < 100


def test_a_layer_that_is_chosen_elsewhere_is_shown_even_if_it_is_no_match(many):
    search(many, "blocks.7.mlp")
    assert many.locator("[aria-selected=true].grid-row:not([hidden])").count() == 0
    many.evaluate("() => { location.hash = '#tab=layers&layer=blocks.120.norm2'; }")
    settle(many)
    many.locator("[aria-selected=true].grid-row:not([hidden])").wait_for()
    assert in_view(many)
    search(many, "")
    assert in_view(many)


def in_view(page):
    return page.locator(".grid-row[aria-selected=true]:not([hidden])").evaluate(
        """(node) => {
          const row = node.getBoundingClientRect();
          const box = node.closest(".grid").getBoundingClientRect();
          const bottom = Math.min(box.bottom, innerHeight) + 1;
          return row.top >= Math.max(box.top, 0) && row.bottom <= bottom;
        }"""
    )


def test_depths_are_opened_one_by_one(many):
    rows = many.locator(".grid")
    many.get_by_role("button", name="Collapse all rows").click()
    assert rows.get_attribute("aria-rowcount") == "202"  # with the header: the root and its blocks
    many.get_by_role("button", name="Show a level more").click()
    assert rows.get_attribute("aria-rowcount") == "1002"
    many.get_by_role("button", name="Expand all rows").click()
    assert rows.get_attribute("aria-rowcount") == "2002"
    many.get_by_role("button", name="Show a level less").click()
    assert rows.get_attribute("aria-rowcount") == "1002"


def test_a_narrow_window_scrolls_the_grid_and_keeps_the_names(many):
    many.set_viewport_size({"width": 400, "height": 800})
    box = many.locator(".grid")
    before = many.locator("[aria-selected=true] .cell-layer").bounding_box()
    box.evaluate("(box) => { box.scrollLeft = 100; }")
    assert box.evaluate("(box) => box.scrollLeft") == 100
    assert many.locator("[aria-selected=true] .cell-layer").bounding_box()["x"] == before["x"]
    assert many.evaluate("() => document.documentElement.scrollWidth") <= 400


def test_on_paper_are_the_first_500_open_rows(many):
    many.get_by_role("button", name="Expand all rows").click()
    emulate_media(many, media="print")
    panel = many.locator(".panel-layers")
    panel.locator(".grid-row").nth(499).wait_for(state="attached")
    # With the row that is selected, which has the place of the focus.
    assert panel.locator(".grid-row:not([hidden])").count() == 501
    assert panel.get_by_text("1,501 more rows not printed").is_visible()
