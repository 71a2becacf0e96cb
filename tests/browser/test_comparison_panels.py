"""The pages of a diff and of two trainings: side by side, filtered, and led to what differs."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.browser.samples import html, sample
from tests.browser.watched import fragment, settle

SELECTED = "[role=row][aria-selected=true]"


def test_the_header_jumps_to_the_first_call_that_differs(open_sample):
    page = open_sample("diff")
    page.get_by_role("link", name="show it").click()
    settle(page)
    row = page.locator(f".panel-calls {SELECTED}")
    row.wait_for()
    assert "first-difference" in row.get_attribute("class")
    details = page.locator(".details").inner_text()
    name = page.evaluate("new URLSearchParams(location.hash.slice(1)).get('layer')")
    assert details.count(name) >= 3  # the title, A and B
    assert "different" in details


def test_only_differences_can_be_shown(open_sample):
    page = open_sample("diff")
    count = "() => document.querySelectorAll('.panel-calls .grid-row:not([hidden])').length"
    shown = page.evaluate(count)
    page.get_by_label("only differences").check()
    fewer = page.evaluate(count)
    assert 0 < fewer < shown
    page.get_by_label("only differences").uncheck()
    assert page.evaluate(count) == shown


def test_the_search_finds_calls_and_parameters(open_sample):
    page = open_sample("diff")
    page.select_option("#status", "different")
    page.click("#tab-parameters")
    assert page.locator(".panel-parameters .grid").is_visible()
    page.select_option("#status", "")
    page.fill("#search", "bias")
    names = page.locator(".panel-parameters .grid-row:visible .cell-a .name").all_inner_texts()
    assert names
    assert all("bias" in name for name in names)


def test_the_trainings_are_drawn_over_each_other_with_the_step_at_which_they_part(open_sample):
    page = open_sample("run_diff")
    assert page.locator(".chart").first.locator(".line-name").all_inner_texts() == ["A", "B"]
    page.get_by_role("link", name="show it").click()
    settle(page)
    assert fragment(page).endswith("step=4")
    row = page.locator(f".panel-steps {SELECTED}")
    row.wait_for()
    assert "first-difference" in row.get_attribute("class")
    details = page.locator(".details").inner_text()
    assert "Step 4" in details
    a, b = (float(details.partition(f"Loss {side}")[2].split()[0]) for side in "AB")
    assert b == pytest.approx(1.5 * a, rel=1e-6)


def test_a_step_of_the_list_of_figures_is_selected(open_sample):
    page = open_sample("run_diff")
    page.locator(".panel-steps .plain button").first.click()
    assert fragment(page).endswith("step=4")


def test_the_columns_and_lines_of_a_diff_are_named_by_what_differs(open_page):
    known = sample("diff")
    state = tuple(
        replace(row, value=replace(row.value, dtypes=("float32", "bfloat16")))
        for row in known.state
        if row.value is not None
    )
    page = open_page(html(replace(known, state=state)))
    names = ["A: float32", "B: bfloat16"]
    assert page.locator("header dt").all_inner_texts()[:2] == names
    for tab in ("calls", "parameters"):
        page.click(f"#tab-{tab}")
        assert page.locator(f".panel-{tab} [role=columnheader]").all_inner_texts()[:2] == names
    trained = sample("run_diff")
    a, b = (
        replace(side, script=replace(side.script, arguments=("--niter", count)))
        for side, count in ((trained.a, "12"), (trained.b, "9"))
    )
    page = open_page(html(replace(trained, a=a, b=b)))
    lines = page.locator(".chart").first.locator(".line-name").all_inner_texts()
    assert lines == ["A: --niter 12", "B: --niter 9"]
