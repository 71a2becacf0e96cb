"""A page that is printed: the file that the browser makes has all panels, to their ends."""

from __future__ import annotations

import re
from math import floor

import pytest

from tests.browser.watched import emulate_media

PAGE = {"width": "800px", "height": "1000px"}
HEIGHT = "() => document.documentElement.scrollHeight"


def sheets(pdf: bytes) -> int:
    """How many pages a PDF has."""
    return len(re.findall(rb"/Type\s*/Page\b", pdf))


@pytest.mark.parametrize("name", ["grads", "grads_steps", "trace", "run", "diff", "check"])
def test_what_is_printed_has_all_panels_to_their_ends(open_sample, name):
    """The browser counts the pages before it tells scripts that the medium is paper."""
    page = open_sample(name)
    printed = page.pdf(**PAGE)
    page.set_viewport_size({"width": 800, "height": 1000})
    emulate_media(page, media="print")
    needed = page.evaluate(HEIGHT) / 1000
    assert needed > 1.5  # else nothing could be lost
    assert sheets(printed) >= floor(needed)
    emulate_media(page, media="screen")
    visible = page.locator("[role=tabpanel]:visible")
    assert visible.count() == 1


def test_what_is_printed_without_scripts_has_all_tables(pages, sample_files):
    with pages.without_scripts(sample_files("run"), (800, 1000)) as page:
        printed = page.pdf(**PAGE, outline=True, tagged=True)
        page.emulate_media(media="print")
        assert sheets(printed) >= floor(page.evaluate(HEIGHT) / 1000)
    titles = re.findall(rb"/Title \(([^)]*)\)", printed)
    assert {b"Steps", b"Layers", b"Gradients", b"Hooks", b"Checks"} <= set(titles)


def test_no_control_is_printed(open_sample):
    page = open_sample("run")
    emulate_media(page, media="print")
    page.locator("#panel-hooks").wait_for()
    shown = "(all) => all.filter((one) => one.checkVisibility()).map((one) => one.outerHTML)"
    controls = page.locator("main :is(select, input)").evaluate_all(shown)
    assert controls == []
