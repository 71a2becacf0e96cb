"""The panel of layers, the search and the selection, which the address keeps."""

from __future__ import annotations

import pytest

from tests.browser.grids import Grid
from tests.browser.samples import sample
from tests.browser.watched import reload


@pytest.fixture
def page(open_sample):
    return open_sample("grads")


def address(page):
    """The pairs of the address's fragment."""
    return page.evaluate("Object.fromEntries(new URLSearchParams(location.hash.slice(1)))")


def selected(page):
    return [row.text for row in Grid(page).rows() if row.selected == "true"]


def test_the_tree_is_that_of_the_calls(page):
    report = sample("grads")
    rows = Grid(page).rows()
    assert [row.level for row in rows] == [row.depth + 1 for row in report.layers]
    assert [row.cells[1] for row in rows] == [row.type for row in report.layers]
    parameters = [f"{row.parameters:,}" for row in report.layers]
    assert [row.cells[3] for row in rows] == parameters


def test_a_click_selects_a_layer_and_a_reload_keeps_it(page):
    page.get_by_role("row", name="qkv Linear").last.click()
    assert selected(page) == ["qkv"]
    assert address(page) == {"tab": "layers", "layer": "blocks.1.attention.qkv"}
    heading = page.locator(".details h3").first
    assert heading.text_content() == "blocks.1.attention.qkv"
    reload(page)
    assert selected(page) == ["qkv"]
    assert heading.text_content() == "blocks.1.attention.qkv"
    assert address(page)["layer"] == "blocks.1.attention.qkv"


def test_an_address_that_names_nothing_of_the_page_is_ignored(open_sample):
    page = open_sample("grads", "#tab=nothing&layer=no.such&event=7.5&step=x&record=9")
    assert selected(page) == []
    assert page.locator("#tab-layers").get_attribute("aria-selected") == "true"


def test_a_link_of_the_header_selects_what_is_wrong(open_sample):
    page = open_sample("check")
    page.get_by_role("link", name="aux_head").click()
    assert selected(page) == ["aux_head"]
    assert page.locator(".details h3").first.text_content() == "aux_head"


def test_a_slash_goes_to_the_search_which_filters_names_and_types(page):
    report = sample("grads")
    page.keyboard.press("/")
    page.keyboard.type("NORM")
    found = [row.name for row in report.layers if "norm" in f"{row.name} {row.type}".lower()]
    assert page.locator("#search").input_value() == "NORM"
    assert page.get_by_role("status").inner_text() == f"{len(found)} of {len(report.layers)}"
    above = {"", "blocks.0", "blocks.1"}
    shown = [row.name for row in report.layers if row.name in {*found, *above}]
    assert [row.text for row in Grid(page).rows()] == [
        name.rpartition(".")[2] if name.count(".") > 1 else name or "(root)" for name in shown
    ]
    page.keyboard.press("Escape")
    assert len(Grid(page).rows()) == len(report.layers)
    assert page.get_by_role("status").inner_text() == ""


def test_types_and_statuses_are_filters_too(page):
    report = sample("grads")
    page.locator("#type").select_option("LayerNorm")
    rows = [row for row in Grid(page).rows() if row.cells[1] == "LayerNorm"]
    assert len(rows) == sum(row.type == "LayerNorm" for row in report.layers) == 5
    page.locator("#type").select_option("")
    page.locator("#status").select_option("shared")
    assert [row.text for row in Grid(page).rows()] == ["(root)", "token_embedding", "lm_head"]


def test_the_list_is_sorted_by_a_column(page):
    """As a list, rows have no levels and their whole names."""
    page.get_by_label("As a list").check()
    page.get_by_role("columnheader", name="Parameters").click()
    rows = sorted(sample("grads").layers, key=lambda row: (-row.parameters, row.order))
    assert [row.text for row in Grid(page).rows()] == [row.name or "(root)" for row in rows]


def test_what_is_selected_elsewhere_is_unfolded_and_scrolled_to(page):
    page.get_by_role("button", name="Collapse all rows").click()
    assert "qkv" not in [row.text for row in Grid(page).rows()]
    page.evaluate("location.hash = 'tab=layers&layer=blocks.1.attention.qkv'")
    row = page.locator("[role=row][aria-selected=true]")
    row.wait_for()
    assert selected(page) == ["qkv"]
    assert row.evaluate("(row) => row.getBoundingClientRect().bottom <= innerHeight")
