"""The page of a training: charts by step with a common selection, records, steps and updates."""

from __future__ import annotations

import dataclasses

import pytest

from hookcli.report.distributed import (
    JoinedRanks,
    LocalPart,
    MeshPlace,
    PartGroup,
    RankParting,
)
from tests.browser.samples import html
from tests.browser.watched import fragment, settle
from tests.formats.training_reports import EMPTY, GAN, exploding, record, training

CHART = ".panel-run .chart"
SELECTED = ".panel-run [role=row][aria-selected=true]"
COUNT = """(canvas) => {
  const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, 40);
  const is = (i, ...colour) => colour.every((value, at) => data[i + at] === value);
  return data.reduce((count, _, i) => count + (i % 4 === 0 && is(i, 208, 0, 111) ? 1 : 0), 0);
}"""  # how many pixels at the top have the colour of NaN
SHOT = "(canvas) => canvas.toDataURL()"


@pytest.fixture
def nan_run(open_page):
    return open_page(html(exploding()))


def plot(page, index=0):
    return page.locator(f"{CHART} .u-over").nth(index)


def picture(page, index):
    return page.locator(f"{CHART} canvas").nth(index).evaluate(SHOT)


def test_a_click_in_a_chart_selects_the_step_in_all_charts_and_in_the_table(nan_run):
    box = plot(nan_run).bounding_box()
    before = picture(nan_run, 1)
    plot(nan_run).click(position={"x": box["width"] / 2, "y": 40})
    step = int(fragment(nan_run).partition("step=")[2])
    assert 190 <= step <= 220
    assert nan_run.evaluate("scrollY") == 0
    charts = nan_run.locator(f"{CHART} [role=slider]")
    nows = charts.evaluate_all("(all) => all.map((one) => one.getAttribute('aria-valuenow'))")
    assert set(nows) == {str(step)}
    assert picture(nan_run, 1) != before
    assert nan_run.locator(SELECTED).first.inner_text().split()[0] == str(step)
    assert nan_run.locator(".details h3").inner_text() == f"Step {step}"


def test_the_arrow_keys_move_from_step_to_step(nan_run):
    nan_run.evaluate("() => { location.hash = 'tab=run&step=411'; }")
    settle(nan_run)
    nan_run.locator(SELECTED).first.wait_for()
    chart = nan_run.locator(f"{CHART} [role=slider]").first
    chart.press("ArrowRight")
    assert fragment(nan_run).endswith("step=412")
    assert chart.get_attribute("aria-valuetext") == "step 412: nan"
    chart.press("ArrowRight")
    assert fragment(nan_run).endswith("step=412")
    chart.press("Home")
    assert fragment(nan_run).endswith("step=0")


def test_steps_that_are_not_finite_or_skipped_have_signs_and_are_counted(nan_run):
    notes = nan_run.locator(".sign-list").inner_text()
    for part in ("NaN in 1 step", "Inf in 2 steps", "skipped in 2 steps"):
        assert part in notes
    # A pixel of the colour of NaN at the end of the first chart.
    assert nan_run.locator(f"{CHART} canvas").first.evaluate(COUNT) > 10


def test_the_table_can_show_only_the_steps_with_a_problem(nan_run):
    nan_run.get_by_label("skipped, NaN or Inf").check()
    rows = nan_run.locator(".panel-run .grid").first.locator(".grid-row:visible")
    assert [text.split()[0] for text in rows.all_inner_texts()] == ["5", "9", "412"]


def test_each_chart_has_a_switch_to_a_logarithmic_scale(nan_run):
    before = [picture(nan_run, index) for index in (0, 1)]
    nan_run.locator(f"{CHART} label input").first.check()
    assert picture(nan_run, 0) != before[0]
    assert picture(nan_run, 1) == before[1]


def test_dragging_zooms_all_charts_and_a_double_click_shows_all_again(nan_run):
    box = plot(nan_run).bounding_box()
    before = picture(nan_run, 1)
    nan_run.mouse.move(box["x"] + 40, box["y"] + 40)
    nan_run.mouse.down()
    nan_run.mouse.move(box["x"] + 160, box["y"] + 60, steps=4)
    nan_run.mouse.up()
    nan_run.wait_for_function(
        "(old) => document.querySelectorAll('.panel-run .chart canvas')[1].toDataURL() !== old",
        arg=before,
    )
    assert "step=" not in fragment(nan_run)
    plot(nan_run).dblclick(position={"x": 200, "y": 40})
    nan_run.keyboard.press("Escape")


def test_the_first_value_that_is_not_finite_leads_to_its_step_and_layer(nan_run):
    box = nan_run.locator(".panel-run .error-box")
    assert "aten.log" in box.inner_text()
    box.get_by_role("button").click()
    assert "layer=fc2" in fragment(nan_run)
    assert "step=412" in fragment(nan_run)


def test_a_check_leads_to_its_record_and_the_picker_shows_it(open_page):
    page = open_page(html(GAN), "#record=1&tab=checks")
    assert page.locator("#record").input_value() == "1"
    page.locator(".findings").get_by_role("button", name="netG (Adam): aux.weight").click()
    assert page.locator("#record").input_value() == "0"
    assert "parameter=aux.weight" in fragment(page)
    assert "record=" not in fragment(page)
    page.select_option("#record", "1")
    page.click("#tab-run")
    assert "netD (Discriminator, Adam)" in page.locator(".panel-run").inner_text()


def test_an_update_is_that_of_the_selected_step_and_selects_its_parameter(nan_run):
    nan_run.evaluate("() => { location.hash = 'tab=run&step=100'; }")
    settle(nan_run)
    section = nan_run.locator("section:not(.panel)", has_text="Updates of parameters")
    section.get_by_text("step 100").wait_for()
    section.locator(".grid-row", has_text="fc2.bias").click()
    assert "parameter=fc2.bias" in fragment(nan_run)
    assert "step=100" in fragment(nan_run)


def test_a_script_that_trained_nothing_has_a_page(open_page):
    page = open_page(html(EMPTY))
    assert page.locator("[role=tab]").all_inner_texts() == ["Run"]
    assert "grads" in page.locator(".panel-run").inner_text()


def on_a_mesh():
    """Four ranks that are joined: 2 × 2, of which one parted."""
    made = record(total=8)
    first, *others = made.parameters
    mesh = MeshPlace(("dp", "tp"), (2, 2), (0, 1), "0-3")
    split = dataclasses.replace(
        first, placements=("Replicate", "Shard(0)"), mesh=mesh, local=LocalPart((16, 1, 3, 3))
    )
    partings = (
        RankParting("learning rate", 3, 0, 5, "", 0.02, 0.01),
        RankParting("parameters", 3, 0, 5, split.name, None, None, before=False),
        RankParting("losses", 1, 0, 6, "", 0.06011076271533966, 0.06367839127779007),
    )
    groups = (
        PartGroup(("Replicate", "Shard(0)"), mesh, 1),
        PartGroup((), None, len(others)),
    )
    info = dataclasses.replace(
        made.training, joined=JoinedRanks("0-3", 4, None, 8, 4), groups=groups, partings=partings
    )
    report = training(dataclasses.replace(made, parameters=(split, *others), training=info))
    tracking = dataclasses.replace(report.tracking, world_size=4)
    return dataclasses.replace(report, tracking=tracking)


@pytest.mark.parametrize("width", [1280, 800])
def test_the_tab_of_ranks_shows_the_mesh_the_placements_and_where_ranks_part(open_page, width):
    page = open_page(html(on_a_mesh()), "#tab=ranks", size=(width, 900))
    assert page.locator("#tab-ranks").inner_text() == "Ranks4"
    panel = page.locator(".panel-ranks")
    text = " ".join(panel.inner_text().split())
    for part in (
        "ranks joined 0-3",
        "mesh dp 2 × tp 2",
        "1 parameter Replicate and Shard(0) over dp 2 × tp 2",
        "plain tensors",
        "rank 3 learning rate differs from rank 0 at step 5: 0.02, not 0.01",
        "rank 3 parameters differ from rank 0 after step 5, first conv1.weight",
        "rank 1 losses differ from rank 0 at step 6: 0.06011, not 0.06368",
    ):
        assert part in text, text
    assert "ranks 0-3 of 4" in page.locator("header").first.inner_text()
    # Nothing is cut off or beside the window.
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    for element in panel.locator("dt, dd, li").all():
        box = element.bounding_box()
        assert box["width"] > 20 and box["x"] + box["width"] <= width


def test_a_parameter_tells_how_ranks_have_it(open_page):
    page = open_page(html(on_a_mesh()), "#tab=gradients&parameter=conv1.weight")
    details = " ".join(page.locator(".details").inner_text().split())
    assert "placements Replicate and Shard(0) over dp 2 × tp 2" in details
    assert "part of this rank [16, 1, 3, 3]" in details
