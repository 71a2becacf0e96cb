"""The panel of gradients shows the cells of the report, finds what is wrong, and selects."""

from __future__ import annotations

import math

import pytest

from hookcli.report.report import UncalledRow
from tests.browser.samples import html
from tests.browser.watched import emulate_media, fragment, settle
from tests.formats.fabricate import layer, parameter, report, stats

# In the order of the report; forward calls `late` after `early`, and never `idle`.
CELLS = {
    "late.weight": [0.004, 3.0, "nan"],
    "late.bias": [0.003, 4.0, "inf"],
    "early.weight": [0.001, 0.0, 1e-6],
    "idle.weight": [None, None, None],
    "fixed": ["frozen", "frozen", "frozen"],
}
FORWARD = ["idle.weight", "fixed", "early.weight", "late.weight", "late.bias"]
STEPS = (0, 10, 30)
WORDS = {None: "no gradient", "frozen": "frozen", "nan": "NaN", "inf": "infinite", 0: "all zeros"}
MOVE = {"ArrowDown": (1, 0), "ArrowRight": (0, 1), "ArrowUp": (-1, 0), "ArrowLeft": (0, -1)}
LIVE = ".panel-gradients .plot [role=status]"


def words(cell):
    return WORDS.get(cell) or f"{cell:.4g}".replace("e-0", ".00e-")


def status(cell):
    if cell in {"nan", "inf"}:
        return "non_finite"
    return {None: "none", "frozen": "frozen", 0: "zero"}.get(cell, "ok")


def grad(cell):
    return None if cell in {None, "frozen"} else stats(cell)


def made(cells=CELLS, steps=STEPS):
    rows = []
    for name, row in cells.items():
        entries = tuple(
            {"step": step, "grad": grad(cell), "status": status(cell)}
            for step, cell in zip(steps, row, strict=True)
        )
        more = {"steps": entries if len(steps) > 1 else ()}
        rows.append(parameter(name, (2, 4), status(row[-1]), grad(row[-1]), ratio=0.5, **more))
    layers = [layer(0, "", "Net", None), layer(1, "early", "Linear", 0)]
    layers.append(layer(2, "late", "Linear", 0, output_grad=stats(0.25)))
    idle = (UncalledRow("idle", "Linear", None),)
    return html(report("grads", layers=tuple(layers), uncalled=idle, parameters=tuple(rows)))


@pytest.fixture
def panel(open_page):
    page = open_page(made(), "#tab=gradients")
    page.wait_for_selector(".plot-scroll")
    return page


def cells_by_keyboard(page, rows, columns):
    """What the page says of each cell, as the cursor goes through all of them."""
    page.focus(".plot-scroll")
    page.keyboard.press("ArrowDown")
    said = []
    for row in range(rows):
        for column in range(columns):
            said.append(page.text_content(LIVE))
            if column < columns - 1:
                page.keyboard.press("ArrowRight" if row % 2 == 0 else "ArrowLeft")
        page.keyboard.press("ArrowDown")
    return said


def test_the_cursor_says_the_cells_of_the_report_in_forward_order(panel):
    expected = []
    for index, name in enumerate(FORWARD):
        row = [
            f"{name}, step {step}: {words(cell)}"
            for step, cell in zip(STEPS, CELLS[name], strict=True)
        ]
        expected += row if index % 2 == 0 else row[::-1]
    assert cells_by_keyboard(panel, len(FORWARD), len(STEPS)) == expected


def test_layers_have_the_norm_of_their_parameters_together(panel):
    panel.locator(".grad-controls select").first.select_option("layer")
    said = cells_by_keyboard(panel, 4, 3)
    assert said[:3] == [f"idle, step {step}: no gradient" for step in STEPS]
    assert said[3:6] == [f"(root), step {step}: frozen" for step in STEPS[::-1]]
    assert said[:8:-1] == [
        f"late, step 0: {math.hypot(0.004, 0.003):.4g}",
        f"late, step 10: {math.hypot(3, 4):.4g}",
        "late, step 30: NaN",
    ]


def test_the_summary_counts_what_is_wrong_and_shows_only_that(panel):
    buttons = panel.locator(".grad-summary button")
    assert buttons.all_text_contents() == [
        "1 of 5 parameters gets no gradient (idle.weight)",
        "1 is all zeros in some steps (early.weight)",
        "1 is NaN, first at step 30 (late.weight)",
        "1 is infinite, first at step 30 (late.bias)",
        "1 is frozen (fixed)",
    ]
    buttons.nth(2).click()
    assert fragment(panel) == "tab=gradients&parameter=late.weight&step=30"
    assert buttons.nth(2).get_attribute("aria-pressed") == "true"
    assert panel.get_by_text("1 of 5 parameters shown").is_visible()
    assert cells_by_keyboard(panel, 1, 3)[0] == "late.weight, step 0: 0.004"
    buttons.nth(2).click()
    assert not panel.get_by_text("parameters shown").is_visible()


def test_the_search_shows_only_the_rows_that_match(panel):
    panel.fill("#search", "weight")
    assert panel.get_by_text("3 of 5 parameters shown").is_visible()
    assert [text.partition(",")[0] for text in cells_by_keyboard(panel, 3, 1)] == [
        "idle.weight", "early.weight", "late.weight",
    ]  # fmt: skip
    panel.fill("#search", "nothing has this name")
    assert panel.get_by_text("0 of 5 parameters shown").is_visible()


def test_a_click_selects_a_cell_and_a_selection_elsewhere_is_outlined(panel):
    box = panel.locator(".plot-scroll").bounding_box()
    row, column = box["height"] / 5, box["width"] / 3
    panel.mouse.click(box["x"] + 1.5 * column, box["y"] + 3.5 * row)
    assert fragment(panel) == "tab=gradients&parameter=late.weight&step=10"
    marks = panel.locator(".plot-mark:visible")
    at = [mark.bounding_box() for mark in marks.all()]
    assert at[0]["y"] - box["y"] == pytest.approx(3 * row, abs=1.5)
    assert at[1]["x"] - box["x"] == pytest.approx(column, abs=1.5)
    panel.evaluate("location.hash = '#tab=gradients&layer=early&step=0'")
    settle(panel)
    panel.wait_for_function(
        "() => document.querySelector('.plot-mark').style.top === '40px'", timeout=3000
    )
    assert marks.nth(1).bounding_box()["x"] == pytest.approx(box["x"], abs=1.5)


# Where the cells are on the canvas, and a copy of it, which may be read again and again.
COPY = """
  const canvas = document.querySelector(".plot > canvas");
  const scroller = document.querySelector(".plot-scroll");
  const ratio = canvas.width / canvas.clientWidth;
  const copy = new OffscreenCanvas(canvas.width, canvas.height).getContext("2d");
  copy.drawImage(canvas, 0, 0);
  const [left, top, width, height] = ["offsetLeft", "offsetTop", "clientWidth", "clientHeight"]
    .map((name) => scroller[name] * ratio);
"""


def pixel(page, row, column, rows=5, columns=3):
    """The red, green and blue of a point near the corner of a cell, as it is drawn."""
    place = [(column + 0.08) / columns, (row + 0.2) / rows]
    return page.evaluate(
        f"""([x, y]) => {{
          {COPY}
          return [...copy.getImageData(left + x * width, top + y * height, 1, 1).data].slice(0, 3);
        }}""",
        place,
    )


def rgb(text):
    return [int(text[i : i + 2], 16) for i in (1, 3, 5)]


def test_cells_have_the_colours_of_the_palette_and_of_their_marks(panel):
    colour = "getComputedStyle(document.documentElement).getPropertyValue('--data-{}')"
    assert pixel(panel, 2, 2) == pytest.approx(rgb("#440154"), abs=1)  # the smallest norm
    assert pixel(panel, 4, 1) == pytest.approx(rgb("#fde725"), abs=1)  # the largest
    marks = {"frozen": (1, 0), "zero": (2, 1), "nan": (3, 2), "inf": (4, 2)}
    for theme in ("light", "dark"):
        emulate_media(panel, color_scheme=theme)
        for name, (row, column) in marks.items():
            assert pixel(panel, row, column) == rgb(panel.evaluate(colour.format(name)))
    assert len({tuple(pixel(panel, *at)) for at in marks.values()}) == len(marks)
    legend = panel.locator(".grad-legend").inner_text()
    assert "≤" in legend and "≥" in legend
    for word in WORDS.values():
        assert word in legend
    assert "not measured" not in legend


def test_the_axis_says_which_steps_are_missing(panel):
    assert panel.get_by_text("3 sampled steps, at unequal distances").is_visible()


def test_a_map_of_more_cells_than_pixels_shows_the_worst_and_zooms(open_page):
    """Of 4,000 parameters in 2 steps one is NaN; the bin around it says so."""
    cells = {f"layer{i // 100}.{i}.weight": [0.1 + i / 1000, 0.2] for i in range(4000)}
    cells["layer12.1234.weight"][0] = "nan"
    page = open_page(made(cells, (0, 1)), "#tab=gradients&parameter=layer12.1234.weight&step=0")
    page.wait_for_selector(".plot-scroll")
    assert page.get_by_text("A cell shows the worst of").is_visible()
    box = page.locator(".plot-scroll").bounding_box()
    y = box["y"] + box["height"] * 1234.5 / 4000
    page.mouse.move(box["x"] + 5, y)
    tip = page.locator(".plot-tip")
    assert "layer12.1234.weight" in tip.inner_text()
    assert "step 0: NaN" in tip.inner_text()
    assert "the worst of" in tip.inner_text()
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] - 2, y + 8, steps=3)
    page.mouse.up()
    inner = "document.querySelector('.plot-space').offsetHeight"
    zoomed = page.evaluate(inner)
    assert zoomed > 20 * box["height"]
    assert not page.get_by_text("A cell shows the worst of").is_visible()
    scroll = page.evaluate("document.querySelector('.plot-scroll').scrollTop")
    assert scroll / zoomed == pytest.approx(1234.5 / 4000, abs=0.01)
    page.focus(".plot-scroll")
    page.keyboard.press("-")
    assert page.evaluate(inner) < zoomed
    page.keyboard.press("0")
    assert page.evaluate(inner) == pytest.approx(box["height"], abs=2)


def test_one_step_has_bars_as_long_as_the_logarithm_of_the_norm(open_page):
    cells = {
        "early.weight": [1.0],
        "late.weight": [0.001],
        "late.bias": [0.0],
        "idle.weight": [None],
    }
    page = open_page(made(cells, (0,)), "#tab=gradients")
    page.wait_for_selector(".plot-scroll")
    said = cells_by_keyboard(page, 4, 1)
    assert said == [
        "idle.weight, gradient no gradient, weight 2, gradient / weight 0.5",
        "early.weight, gradient 1, weight 2, gradient / weight 0.5",
        "late.weight, gradient 0.001, weight 2, gradient / weight 0.5, "
        "gradient at the layer's output 0.25",
        "late.bias, gradient all zeros, weight 2, gradient / weight 0.5, "
        "gradient at the layer's output 0.25",
    ]
    length = page.evaluate(
        f"""() => {{
          {COPY}
          const line = copy.getImageData(left, top + (1.5 * height) / 4 + 4, width, 1).data;
          const same = (at) => [0, 1, 2].every((part) => line[at * 4 + part] === line[part + 8]);
          let end = 2;
          while (end < width && same(end)) end += 1;
          return end / width;
        }}"""
    )
    assert length == pytest.approx(3 / 4, abs=0.02)  # from 0.001 to 10 are 4 powers of ten
    grid = page.locator(".panel-gradients .grid-row:visible .cell-name")
    assert grid.all_text_contents() == ["idle.weight", "early.weight", "late.weight", "late.bias"]


def test_the_whole_picture_is_on_paper(panel):
    emulate_media(panel, media="print")
    canvas = panel.locator(".plot > canvas")
    assert canvas.is_visible()
    assert not panel.locator(".plot-scroll").is_visible()
    assert panel.evaluate("document.querySelector('.plot > canvas').width") == 1400


@pytest.mark.parametrize(
    ("cells", "text"),
    [
        ({"a": [1.0, 2.0], "b": [3.0, 4.0]}, "all 2 parameters are finite and above zero"),
        ({"a": [1.0, 2.0], "b": ["frozen"] * 2}, "1 of 2 parameters is frozen (b)all others are"),
        ({"a": ["frozen"] * 2, "b": ["frozen"] * 2}, "2 of 2 parameters are frozen"),
        ({"a": [None, None], "b": [None, 1.0]}, "gets no gradient in some steps (b)"),
    ],
)
def test_the_summary_says_what_holds_for_all(open_page, cells, text):
    page = open_page(made(cells, (0, 1)), "#tab=gradients")
    summary = page.locator(".grad-summary")
    summary.wait_for()
    assert text in summary.text_content()
    assert ("above zero" in summary.text_content()) == ("above zero" in text or "others" in text)
