"""The slider over the steps of a training: each tab shows the figures of its step in the report."""

from __future__ import annotations

from math import sqrt

import pytest

from tests.browser.grids import Grid
from tests.browser.samples import sample
from tests.browser.watched import fragment, settle

STEPS = range(12)


def figure(value):
    """A number as the page writes it; these are not below 0.001."""
    return f"{value:.4g}"


@pytest.fixture(scope="module")
def report():
    return sample("run").records[0]


@pytest.fixture
def slide(open_sample):
    """Open a tab; return a function that moves the slider and returns the page."""

    def at(tab, name="run"):
        page = open_sample(name, f"#tab={tab}")

        def move(step):
            page.locator("#step").fill(str(step))
            settle(page)
            assert fragment(page).endswith(f"step={step}")
            assert page.locator(".step-text").inner_text() == str(step)
            return page

        return move

    return at


def last_in_detail(report, step):
    """The last step up to one that was observed in detail."""
    return max(known for known in report.training.sampled if known <= step)


def norms(report, step):
    """The norm of the gradient of each parameter at a step, by name."""
    return {
        row.name: next(e["grad"]["norm"] for e in row.numbered_steps() if e["step"] == step)
        for row in report.parameters
    }


def test_the_sample_has_steps_in_detail_and_in_outline(report):
    assert [row.step for row in report.training.steps] == list(STEPS)
    assert list(report.training.sampled) == [0, 1, 2]
    assert len({figure(norms(report, step)["main.0.weight"]) for step in (0, 1, 2)}) == 3


def test_the_run_tab_marks_the_step_and_shows_its_updates(slide, report):
    move = slide("run")
    ratios = {row.name: row.ratios for row in report.training.updates}
    for step in STEPS:
        page = move(step)
        row = page.locator(".panel-run [aria-label=Steps] [role=row][aria-selected=true]")
        cells = row.locator("[role=gridcell]").all_inner_texts()
        assert cells[:2] == [str(step), figure(report.training.steps[step].loss)]
        at = report.training.sampled.index(last_in_detail(report, step))
        for update in page.locator(".panel-run [aria-label=Updates] .grid-row:visible").all():
            name, ratio = update.locator("[role=gridcell]").all_inner_texts()[:2]
            assert ratio == figure(ratios[name][at])


def test_the_gradients_tab_shows_the_norms_of_the_step(slide, report):
    move = slide("gradients")
    for step in (*STEPS, 0):
        page = move(step)
        detail = last_in_detail(report, step)
        rows = {row.cells[0]: row.cells[2] for row in Grid(page).rows()}
        assert rows == {name: figure(norm) for name, norm in norms(report, detail).items()}
        assert page.locator(".step-note").inner_text() == f"the table shows step {detail}"


def test_the_gradients_stay_sorted_when_the_slider_moves(slide):
    report = sample("grads_steps")
    move = slide("gradients", "grads_steps")
    page = move(0)
    page.get_by_role("columnheader", name="Gradient norm").click()
    for step in (0, 5, 9):
        move(step)
        shown = [row.cells[2] for row in Grid(page).rows()]
        known = [
            entry["grad"]["norm"]
            for row in report.parameters
            for entry in row.numbered_steps()
            if entry["step"] == step and entry["grad"] is not None
        ]
        assert len(known) > 3
        assert [float(text) for text in shown[: len(known)]] == pytest.approx(
            sorted(known, reverse=True), rel=1e-2
        )


def test_the_layers_tab_shows_the_gradients_of_the_parameters_of_each_layer(slide, report):
    move = slide("layers")
    for step in STEPS:
        page = move(step)
        detail = last_in_detail(report, step)
        titles = page.locator(".panel-layers [role=columnheader]").all_inner_texts()
        column = titles.index("Parameter gradients")
        rows = {row.cells[0]: row.cells[column] for row in Grid(page).rows() if row.level <= 3}
        known = norms(report, detail)
        assert rows["(root)"] == figure(sqrt(sum(norm**2 for norm in known.values())))
        assert rows["0"] == figure(known["main.0.weight"])
        assert rows["2"] == figure(known["main.2.weight"])
        assert rows["1"] == "–"
        assert f"parameter gradients: step {detail};" in page.locator(".step-note").inner_text()


def test_the_diagram_is_coloured_by_the_gradients_of_the_step(slide, report):
    move = slide("diagram")
    page = move(0)
    page.wait_for_selector(".diagram .box-name")
    page.get_by_label("Colour by").select_option("gradient")
    for step in STEPS:
        move(step)
        known = norms(report, last_in_detail(report, step)).values()
        keys = page.locator(".diagram-key").all_inner_texts()
        assert keys == [figure(min(known)), figure(max(known))]


def test_the_hooks_tab_shows_the_events_of_the_step(slide, report):
    move = slide("hooks")
    for step in STEPS:
        page = move(step)
        detail = last_in_detail(report, step)
        seqs = [event.seq for event in report.events if event.step == detail]
        shown = [int(row.cells[0]) for row in Grid(page).rows()]
        assert shown == seqs[: len(shown)]
        assert len(shown) > 5


def test_every_tab_of_a_training_has_the_slider_and_no_page_of_one_run_has_it(open_sample, slide):
    page = slide("run")(3)
    for tab in page.locator("[role=tab]").all():
        tab.click()
        assert page.locator("#step").is_visible()
        assert page.locator("#step").input_value() == "3"
    for name in ("inspect", "grads", "diff"):
        assert not open_sample(name).locator("#step").is_visible()


def test_the_slider_moves_with_the_keyboard_and_follows_another_choice(slide):
    page = slide("run")(4)
    page.locator("#step").press("ArrowRight")
    assert fragment(page).endswith("step=5")
    page.locator(".panel-run .chart [role=slider]").first.press("Home")
    assert page.locator("#step").input_value() == "0"
    assert page.locator("#step").get_attribute("aria-valuetext") == "step 0"
