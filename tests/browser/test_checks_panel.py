"""The panel of checks: groups that open lazily, chips, links, the error of a partial report."""

from __future__ import annotations

import dataclasses

import pytest

from hookcli.report.findings import CheckRow, PassedOver
from hookcli.report.report import ErrorInfo
from tests.browser.samples import html
from tests.browser.watched import fragment
from tests.formats.fabricate import LAYERS, parameter, report

ROWS = ".panel-checks .findings > li:not(.more)"


def check(i, status="fail", **more):
    known = {"rule": "dead_units", "target": "fc.weight", "severity": "error", "value": 0.5,
             "limit": 0.1, "message": f"finding {i}", "place": f"net.py:{i}",
             "fingerprint": f"{i:016x}"}  # fmt: skip
    return CheckRow(status=status, **{**known, **more})


MIXED = (
    check(1, advice="do this"),
    check(2, "pass", rule="finite"),
    check(3, severity="warning", rule="dtype", target="fc", step=4),
    check(4, "skip", rule="known", passed_over=PassedOver("suppression", "since May", None)),
    check(5, "error", rule="shape", target="", value=None, limit=None),
)


def page_of(*checks, **more):
    made = report("check", layers=LAYERS, parameters=(parameter("fc.weight", (4,)),))
    return html(dataclasses.replace(made, checks=checks, **more))


@pytest.fixture
def mixed(open_page):
    return open_page(page_of(*MIXED), "#tab=checks")


def groups(page):
    return page.locator(".finding-group > summary").all_inner_texts()


def test_failures_come_first_and_what_passed_is_folded(mixed):
    assert [text.split()[0] for text in groups(mixed)] == ["fail", "warning", "not", "skip", "pass"]
    opened = mixed.locator(".finding-group").evaluate_all("(all) => all.map((one) => one.open)")
    assert opened == [True, True, True, False, False]
    assert mixed.locator(ROWS).count() == 3
    mixed.locator("summary", has_text="skip").click()
    # A group is filled when it has opened, which a browser tells afterwards.
    mixed.locator(ROWS).filter(has_text="reason since May").wait_for()
    assert mixed.locator(ROWS).count() == 4


def test_a_finding_has_its_figures_its_place_and_what_to_try(mixed):
    text = mixed.locator(".finding-group").first.inner_text()
    for part in ("fc.weight", "finding 1", "value 0.5", "limit 0.1", "net.py:1", "try: do this"):
        assert part in text
    assert "step 4" in mixed.locator(".finding-group").nth(1).inner_text()


def test_chips_select_outcomes_and_count_them(mixed):
    chips = mixed.locator(".chip")
    assert chips.all_inner_texts() == [
        "failed 1", "warnings 1", "not judged 1", "skipped 1", "passed 1",
    ]  # fmt: skip
    chips.nth(4).click()
    assert [text.split()[0] for text in groups(mixed)] == ["pass"]
    assert mixed.locator(ROWS).count() == 1
    chips.nth(0).click()
    assert len(groups(mixed)) == 2
    chips.nth(4).click()
    chips.nth(0).click()
    assert len(groups(mixed)) == 5


def test_a_target_selects_its_parameter_and_its_step_everywhere(mixed):
    mixed.locator(ROWS).first.get_by_role("button", name="fc.weight").click()
    assert "parameter=fc.weight" in fragment(mixed)
    assert mixed.locator(".details h3").first.inner_text() == "fc.weight"
    assert mixed.locator(f"{ROWS}.selected").count() == 1
    mixed.locator(ROWS).nth(1).get_by_role("button", name="fc").click()
    assert "layer=fc" in fragment(mixed)
    assert "step=4" in fragment(mixed)
    assert mixed.locator(f"{ROWS}.selected").count() == 2  # of the layer, and of its parameter


def test_the_search_finds_rules_targets_and_messages(mixed):
    mixed.fill("#search", "FINDING 3")
    assert [text.split()[1] for text in groups(mixed)] == ["dtype"]
    mixed.fill("#search", "dead_units")
    assert len(groups(mixed)) == 1
    mixed.fill("#search", "nothing like it")
    assert "No check matches" in mixed.locator(".panel-checks").inner_text()


def test_20_000_checks_make_few_elements_until_they_are_asked_for(open_page):
    rows = (check(i, rule=f"rule_{i % 20}", target="fc.weight") for i in range(20_000))
    page = open_page(page_of(*rows), "#tab=checks")
    assert len(groups(page)) == 20
    few = page.locator(ROWS).count()
    assert few < 300
    page.locator(".more button").first.click()
    assert few < page.locator(ROWS).count() < 600


def test_the_error_of_a_partial_report_is_shown_first(open_page):
    error = ErrorInfo(
        "forward", "fc", 0, (), "RuntimeError", "shapes\ndiffer", "net.py:9", "pass it"
    )
    page = open_page(page_of(*MIXED, error=error), "#tab=checks")
    box = page.locator(".panel-checks .error-box")
    assert box.bounding_box()["y"] < page.locator(".chips").bounding_box()["y"]
    for part in ("RuntimeError in forward", "shapes\ndiffer", "net.py:9", "pass it"):
        assert part in box.inner_text()
    box.get_by_role("button", name="fc").click()
    assert "layer=fc" in fragment(page)
