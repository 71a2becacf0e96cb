"""The panel of hooks: events one after another, and what they changed."""

from __future__ import annotations

import pytest

from tests.browser.grids import Grid
from tests.browser.samples import sample
from tests.browser.watched import settle


@pytest.fixture
def hooks(open_sample):
    page = open_sample("trace", "#tab=hooks")
    assert page.locator("#tab-hooks").get_attribute("aria-selected") == "true"
    return page


def press(page, name):
    page.get_by_role("button", name=name, exact=True).click()


def shown(page):
    """The number of the event that the address names, the details and the list show."""
    (selected,) = [row for row in Grid(page).rows() if row.selected == "true"]
    number = page.evaluate("new URLSearchParams(location.hash.slice(1)).get('event')")
    assert selected.cells[0].replace(",", "") == number
    assert page.locator(".details h3").first.text_content() == f"Event {number}"
    return int(number)


def test_next_goes_through_all_events_in_the_order_in_which_they_fired(hooks):
    seen = [event.seq for event in sample("trace").events]
    press(hooks, "First event")
    assert shown(hooks) == seen[0]
    for number in seen[1:8]:
        press(hooks, "Next event")
        assert shown(hooks) == number
    press(hooks, "Last event")
    assert shown(hooks) == seen[-1]
    assert hooks.evaluate("scrollY") == 0  # the buttons stay under the pointer
    press(hooks, "Next event")
    assert shown(hooks) == seen[-1]
    press(hooks, "Previous event")
    assert shown(hooks) == seen[-2]


def test_next_stays_among_the_events_of_a_filter(hooks):
    changed = [event.seq for event in sample("trace").events if event.changed]
    hooks.get_by_label("only changes").check()
    press(hooks, "First event")
    assert shown(hooks) == changed[0]
    press(hooks, "Next event")
    assert shown(hooks) == changed[1]
    backward = [event.seq for event in sample("trace").events if event.kind == "full_backward"]
    hooks.get_by_label("only changes").uncheck()
    hooks.get_by_label("Kind of hook").select_option("full_backward")
    press(hooks, "First event")
    assert shown(hooks) == backward[0]
    press(hooks, "Last event")
    assert shown(hooks) == backward[-1]


def test_a_change_is_shown_before_and_after(hooks):
    event = next(event for event in sample("trace").events if event.changes)
    hooks.evaluate("(seq) => { location.hash = `tab=hooks&event=${seq}`; }", event.seq)
    settle(hooks)
    table = hooks.locator(".event-now table")
    norm = table.locator("thead th").all_inner_texts().index("norm")
    norms = [
        float(table.get_by_role("row", name=name).locator("td").nth(norm).inner_text())
        for name in ("before", "after")
    ]
    change = event.changes[0]
    assert norms == pytest.approx([change.before["norm"], change.after["norm"]], rel=1e-3)


def test_a_click_in_the_timeline_selects_the_event_there(hooks):
    """One event is one unit wide, from the right of the lanes' names to the end."""
    events = sample("trace").events
    press(hooks, "Last event")
    canvas = hooks.locator("canvas").bounding_box()
    hooks.mouse.click(canvas["x"] + canvas["width"] - 3, canvas["y"] + canvas["height"] - 30)
    assert shown(hooks) == events[-1].seq
    names = 84
    middle = names + (canvas["width"] - names) * 20.5 / len(events)
    hooks.mouse.click(canvas["x"] + middle, canvas["y"] + 30)
    assert shown(hooks) == events[20].seq
