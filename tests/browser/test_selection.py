"""What is selected in one panel is selected in all others, and the address keeps it."""

from __future__ import annotations

import pytest

from tests.browser.grids import Grid
from tests.browser.samples import sample
from tests.browser.watched import reload, settle

NAMES = [row.name for row in sample("grads_steps").parameters]


@pytest.fixture
def page(open_sample):
    return open_sample("grads_steps")


def selected_row(page, tab):
    page.click(f"#tab-{tab}")
    (row,) = [row for row in Grid(page).rows() if row.selected == "true"]
    return row


def marked_parameter(page):
    """The parameter whose row of the heat map is outlined."""
    page.click("#tab-gradients")
    top = page.locator(".plot-mark:visible").first.bounding_box()["y"]
    rows = page.locator(".plot-scroll").bounding_box()
    return NAMES[round((top - rows["y"]) / rows["height"] * len(NAMES))]


def selected_box(page):
    page.click("#tab-diagram")
    box = page.locator(".diagram [aria-selected=true]")
    box.wait_for()
    return box.get_attribute("aria-label").partition(",")[0]


def check_all_panels(page, layer, parameter, target):
    assert selected_row(page, "layers").text == layer
    assert marked_parameter(page) == parameter
    assert selected_box(page) == layer
    assert selected_row(page, "hooks").cells[3] == target


def test_a_layer_is_selected_in_all_panels_and_after_a_reload(page):
    page.get_by_role("row", name="mean Linear").click()
    assert page.locator(".details h3").first.text_content() == "mean"
    check_all_panels(page, "mean", "mean.weight", "mean:output")
    reload(page)
    assert page.locator(".details h3").first.text_content() == "mean"
    check_all_panels(page, "mean", "mean.weight", "mean:output")


def test_a_parameter_is_selected_in_all_panels(page):
    """One that no hook is attached to: the panel of hooks shows its layer."""
    page.evaluate("location.hash = 'tab=layers&parameter=mean.bias'")
    settle(page)
    page.locator(".details").get_by_role("heading", name="mean.bias").wait_for()
    check_all_panels(page, "mean", "mean.bias", "mean:output")


def test_an_event_is_selected_with_its_layer_and_its_step(page):
    event = next(
        e for e in sample("grads_steps").events if e.step == 3 and e.target == "mean:output"
    )
    page.evaluate("(seq) => { location.hash = `tab=hooks&event=${seq}`; }", event.seq)
    settle(page)
    page.locator(".details").get_by_role("heading", name=f"Event {event.seq}").wait_for()
    assert selected_row(page, "hooks").cells[0].replace(",", "") == str(event.seq)
    assert selected_row(page, "layers").text == "mean"
    assert selected_box(page) == "mean"
    address = page.evaluate("Object.fromEntries(new URLSearchParams(location.hash.slice(1)))")
    assert address == {"tab": "diagram", "event": str(event.seq), "step": "3"}
