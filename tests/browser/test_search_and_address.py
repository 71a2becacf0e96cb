"""The search, and the selection, which the address keeps."""

from __future__ import annotations

import pytest

from tests.browser.grids import Grid
from tests.browser.samples import sample
from tests.browser.watched import reload, settle


@pytest.fixture
def page(open_sample):
    return open_sample("grads")


def address(page):
    """The pairs of the address's fragment."""
    return page.evaluate("Object.fromEntries(new URLSearchParams(location.hash.slice(1)))")


def selected(page):
    return [row.text for row in Grid(page).rows() if row.selected == "true"]


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
    settle(page)
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
