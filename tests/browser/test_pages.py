"""The page of each kind of document: opened, in both themes, at each width, on paper."""

from __future__ import annotations

import re

import pytest
from axe_playwright_python.sync_playwright import Axe

from tests.browser.reports import large
from tests.browser.samples import SAMPLES, html
from tests.browser.watched import emulate_media, reload

COMMANDS = {"grads_steps": "grads", "ranks": "grads", "run_diff": "diff"}
# Each panel once.
EXAMINED = {
    "inspect": ("layers", "diagram"), "grads": ("gradients",), "grads_steps": ("gradients",),
    "trace": ("hooks",), "check": ("checks",), "ranks": ("ranks",), "run": ("run",),
    "diff": ("calls", "parameters"), "run_diff": ("steps", "gradients"),
}  # fmt: skip
MOST_BYTES = 150_000  # of a page without its data
_DATA = re.compile(
    r'<script type="application/json" id="data">.*?</script>|<noscript>.*?</noscript>', re.DOTALL
)
_SEEN = {"include": ["html"], "exclude": [".grid-row:nth-child(n + 4)"]}
_SERIOUS = {"serious", "critical"}


def tabs(page):
    """The ids of the page's tabs, in their order."""
    return page.locator("[role=tab]").evaluate_all("(all) => all.map((tab) => tab.id)")


def overflow(page):
    """How many pixels the document is wider than its window."""
    return page.evaluate(
        "() => document.documentElement.scrollWidth - document.documentElement.clientWidth"
    )


# Choose a tab; then tell what is shown in the second frame from then.
_SHOW = """(id) => new Promise((done) => {
  const { documentElement: root } = document;
  const tell = () => {
    const panels = [...document.querySelectorAll("[role=tabpanel]")];
    const shown = panels.filter((panel) => panel.checkVisibility());
    done({
      shown: shown.map((panel) => panel.getAttribute("aria-labelledby")),
      text: shown[0].innerText.trim(),
      address: new URLSearchParams(location.hash.slice(1)).get("tab"),
      overflow: root.scrollWidth - root.clientWidth,
    });
  };
  document.getElementById(id).click();
  requestAnimationFrame(() => requestAnimationFrame(tell));
})"""


def violations(page, rules=()):
    """What axe finds, as sentences: the rule and the elements; only what is serious or critical.

    Of each grid it sees the first rows, because the others are made by the same functions.
    """
    options = {"resultTypes": ["violations"]}
    if rules:
        options["runOnly"] = {"type": "rule", "values": rules}
    found = page.evaluate("([seen, options]) => axe.run(seen, options)", [_SEEN, options])
    return [
        f"{row['id']}: {[node['html'][:120] for node in row['nodes'][:3]]}"
        for row in found["violations"]
        if row["impact"] in _SERIOUS
    ]


@pytest.mark.parametrize("name", SAMPLES)
def test_each_panel_of_each_page_is_shown_alone_in_wide_and_narrow_windows(open_sample, name):
    page = open_sample(name)
    assert page.title().endswith(f" · hookcli {COMMANDS.get(name, name)}")
    for width in (1400, 400):
        page.set_viewport_size({"width": width, "height": 800})
        for tab in reversed(tabs(page)):  # the first is shown already
            found = page.evaluate(_SHOW, tab)
            assert found["shown"] == [tab]
            assert found["text"]
            assert found["address"] == tab.removeprefix("tab-")
            assert found["overflow"] <= 0, (tab, width)


@pytest.mark.parametrize("name", EXAMINED)
def test_assistive_technology_can_read_each_panel_in_both_themes(open_sample, name):
    """Dark differs in its colours alone."""
    page = open_sample(name, size=(2000, 900))
    page.evaluate(Axe().axe_script)
    for tab in EXAMINED[name]:
        assert page.evaluate(_SHOW, f"tab-{tab}")["overflow"] <= 0
        emulate_media(page, color_scheme="light")
        assert violations(page) == [], tab
        emulate_media(page, color_scheme="dark")
        assert violations(page, rules=["color-contrast"]) == [], tab


def test_the_theme_is_that_of_the_system_until_the_reader_chooses(open_sample):
    page = open_sample("grads", theme="dark")
    switch = page.locator("#theme")
    background = "getComputedStyle(document.documentElement).backgroundColor"
    dark = page.evaluate(background)
    emulate_media(page, color_scheme="light")
    light = page.evaluate(background)
    assert light == "rgb(255, 255, 255)"
    assert dark != light
    for theme, colour in (("light", light), ("dark", dark)):
        switch.click()
        assert switch.text_content() == f"Theme: {theme}"
        assert page.evaluate(background) == colour
    reload(page)
    assert page.evaluate(background) == dark
    emulate_media(page, color_scheme="dark")
    switch.click()
    assert switch.text_content() == "Theme: system"
    assert page.evaluate(background) == dark


@pytest.mark.parametrize("name", ["grads_steps", "check", "run", "diff", "run_diff", "ranks"])
def test_on_paper_all_panels_follow_each_other_without_controls(open_sample, name):
    page = open_sample(name)
    emulate_media(page, media="print")
    panels = page.locator("[role=tabpanel]")
    for index in range(panels.count()):
        panels.nth(index).wait_for()
        assert panels.nth(index).inner_text().strip()
    tops = panels.evaluate_all("(all) => all.map((panel) => panel.getBoundingClientRect().top)")
    assert tops == sorted(set(tops))
    assert not page.locator("[role=tablist]").is_visible()
    assert not page.locator("#theme").is_visible()
    assert page.locator("h1").is_visible()


def test_paper_is_light_in_the_dark_theme(open_sample):
    page = open_sample("inspect", theme="dark")
    background = "getComputedStyle(document.documentElement).backgroundColor"
    dark = page.evaluate(background)
    emulate_media(page, media="print")
    assert page.evaluate(background) == "rgb(255, 255, 255)" != dark
    emulate_media(page, media="screen")
    assert page.evaluate(background) == dark


@pytest.mark.parametrize("name", SAMPLES)
def test_a_page_without_its_data_is_small(sample_files, name):
    assert len(_DATA.sub("", sample_files(name).read_text("utf-8")).encode()) <= MOST_BYTES


def test_a_page_of_20_000_layers_is_painted_and_filtered_in_time(open_page):
    """The best of three, because other programs use the processors too."""
    page = open_page(html(large(2000)))
    paint = "performance.getEntriesByName('first-contentful-paint')[0].startTime"
    painted, filtered = [page.evaluate(paint)], []
    for query in ("mlp", "attn", "norm"):
        page.fill("#search", query)
        last = "performance.getEntriesByName('hookcli:filter', 'measure').at(-1).duration"
        filtered.append(page.evaluate(last))
    while min(painted) > 2000 and len(painted) < 3:
        reload(page)
        painted.append(page.evaluate(paint))
    assert min(painted) <= 2000
    assert min(filtered) <= 100
