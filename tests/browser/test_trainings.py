"""The pages of trainings and of ranks: the record and the step that are chosen."""

from __future__ import annotations

import pytest

from tests.browser.grids import Grid
from tests.browser.samples import sample
from tests.browser.watched import reload


def address(page):
    return page.evaluate("Object.fromEntries(new URLSearchParams(location.hash.slice(1)))")


@pytest.fixture
def training(open_sample):
    return open_sample("run")


def test_each_record_of_a_training_is_shown_and_kept_by_the_address(training):
    first, second = sample("run").records
    picker = training.get_by_label("Record")
    assert picker.locator("option").all_inner_texts() == [
        first.training.record, second.training.record,
    ]  # fmt: skip
    picker.select_option(second.training.record)
    assert address(training)["record"] == "1"
    training.click("#tab-layers")
    types = [row.cells[1] for row in Grid(training).rows()]
    assert types == [row.type for row in second.layers]
    reload(training)
    assert picker.evaluate("(select) => select.selectedIndex") == 1
    assert [row.cells[1] for row in Grid(training).rows()] == types


def test_a_step_that_is_chosen_is_kept_in_all_panels_and_by_the_address(training):
    Grid(training).element.get_by_role("row").filter(has_text="in detail").nth(1).click()
    assert address(training)["step"] == "1"
    training.click("#tab-gradients")
    training.click("#tab-run")
    reload(training)
    selected = [row for row in Grid(training).rows() if row.selected == "true"]
    assert [row.cells[0] for row in selected] == ["1"]
    loss = sample("run").records[0].training.steps[1].loss
    assert float(selected[0].cells[1]) == pytest.approx(loss, rel=1e-3)


def test_ranks_are_shown_with_their_losses_and_buckets(open_sample):
    page = open_sample("ranks", "#tab=ranks")
    report = sample("ranks").distributed
    page.get_by_role("combobox", name="Step").select_option(index=2)
    text = page.locator("#panel-ranks").inner_text()
    for bucket in (row for row in report.buckets if row.step == 2):
        assert f"{bucket.norm_after:.4g}" in text
        for norm in bucket.norms_before:  # one of each rank
            assert f"{norm:.4g}" in text
    for loss in report.ranks[0].losses:
        assert f"{loss:.4g}" in text
