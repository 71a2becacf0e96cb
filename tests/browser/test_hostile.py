"""Names from the user's code stay text in a page, whatever characters they have."""

from __future__ import annotations

from urllib.parse import quote

import pytest
import torch
from torch import nn

import hookcli
from tests.browser.reports import HOSTILE, LONG, MARKUP, hostile
from tests.browser.samples import html
from tests.browser.test_pages import overflow, tabs
from tests.browser.watched import settle
from tests.formats.training_reports import hostile as hostile_training

FOREIGN_SCRIPTS = """() => [...document.scripts].filter((script) =>
  script.id !== "data" && script.textContent.includes("alert(1)")).length"""
ELEMENTS = "() => [...document.querySelectorAll('*')].map((e) => e.localName)"


@pytest.fixture(scope="module")
def page_of_hostile_names():
    return html(hostile())


def test_hostile_names_stay_text_in_each_tab(open_page, page_of_hostile_names):
    page = open_page(page_of_hostile_names)
    for tab in tabs(page):
        page.click(f"#{tab}")
        elements = page.evaluate(ELEMENTS)
        assert not {"img", "iframe", "object", "b"} & set(elements)
        assert page.evaluate(FOREIGN_SCRIPTS) == 0
        assert page.locator("[onclick], [onload], [onerror], a[href^='javascript:']").count() == 0
        assert overflow(page) <= 0


def test_a_hostile_name_is_selected_by_the_address_and_shown_as_text(
    open_page, page_of_hostile_names
):
    page = open_page(page_of_hostile_names)
    details = page.locator(".details")
    for shown in HOSTILE.values():
        page.evaluate("(address) => { location.hash = address; }", f"layer={quote(shown, safe='')}")
        settle(page)
        details.get_by_role("heading", name=shown, exact=True).wait_for()
        written = page.evaluate("new URLSearchParams(location.hash.slice(1)).get('layer')")
        assert written == shown
        assert details.inner_text().count(shown) >= 3  # name, type, place, …


def test_a_name_of_10_000_characters_neither_widens_the_page_nor_is_lost(
    open_page, page_of_hostile_names
):
    page = open_page(page_of_hostile_names, f"#layer={LONG}", size=(400, 800))
    assert overflow(page) <= 0


class Named(nn.Module):
    """Its layers have hostile names."""

    def __init__(self, scale):
        super().__init__()
        for name in (text for text in HOSTILE if "." not in text):
            self.add_module(name, nn.Linear(2, 2))
            getattr(self, name).weight.data.fill_(scale)

    def forward(self, x):
        for layer in self.children():
            x = torch.tanh(layer(x))
        return x


@pytest.mark.parametrize("scale", [1.0, 2.0])
def test_hostile_names_of_a_comparison_stay_text(open_page, scale):
    torch.manual_seed(0)
    diff = hookcli.diff(Named(1.0), Named(scale), torch.ones(1, 2), grads=True)
    page = open_page(html(diff))
    for tab in tabs(page):
        page.click(f"#{tab}")
        assert page.locator("img, iframe, b").count() == 0
        assert page.evaluate(FOREIGN_SCRIPTS) == 0
        assert overflow(page) <= 0
        assert page.get_by_text(MARKUP).count() >= 1


def test_hostile_names_of_a_training_stay_text(open_page):
    page = open_page(html(hostile_training(MARKUP)))
    for tab in tabs(page):
        page.click(f"#{tab}")
        assert page.locator("img").count() == 0
        assert overflow(page) <= 0
