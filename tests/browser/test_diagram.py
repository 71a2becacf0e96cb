"""The diagram: boxes of modules, edges of tensors, and what opens, selects and moves them."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
import torch
from playwright.sync_api import Page, expect
from torch import nn

import hookcli
from hookcli.formats.registry import FORMATS
from hookcli.formats.view import View
from hookcli.report.edges import EdgeRow
from hookcli.report.report import Report
from tests.browser.conftest import OpenPage
from tests.browser.watched import emulate_media, fragment, settle
from tests.formats.fabricate import layer, report


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv1, self.conv2 = nn.Conv2d(3, 3, 3, padding=1), nn.Conv2d(3, 3, 3, padding=1)
        self.relu = nn.ReLU()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.relu(self.conv2(self.relu(self.conv1(x))) + x)


class Residual(nn.Module):
    """Two blocks in a Sequential, a cell that runs three times, and a module that never runs."""

    def __init__(self) -> None:
        super().__init__()
        self.blocks = nn.Sequential(Block(), Block())
        self.cell = nn.RNNCell(3, 3)
        self.spare = nn.Linear(1, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.blocks(x).mean((2, 3))
        state = None
        for _ in range(3):
            state = self.cell(x, state)
        return state


def page_of(made: Report) -> str:
    return FORMATS["html"].render(made, View())


@pytest.fixture(scope="module")
def residual() -> str:
    torch.manual_seed(0)
    return page_of(hookcli.inspect(Residual(), torch.randn(2, 3, 8, 8)))


def chain(count: int, *, width: int = 1) -> Report:
    """A root with `count` children, each with `width` of its own, one after the other."""
    calls, edges = [layer(0, "", "Net", None)], []
    order, before = 1, None
    for index in range(count):
        name, outer = f"blocks.{index}", order
        calls.append(replace(layer(order, name, "Block", 0), depth=1))
        order += 1
        for inner in range(width):
            calls.append(replace(layer(order, f"{name}.fc{inner}", "Linear", outer), depth=2))
            targets = (outer, order) if inner == 0 else (order,)
            edges += [EdgeRow(before, "", target, "[0]") for target in targets]
            before = order
            order += 1
    return replace(report("inspect", layers=tuple(calls)), edges=tuple(edges))


def opened(open_page: OpenPage, html: str, fragment: str = "", **how: object) -> Page:
    page = open_page(html, f"#tab=diagram{fragment}", **how)
    page.wait_for_selector(".diagram .box")
    return page


def wait_until(page: Page, condition: str) -> None:
    """Wait for a condition; the page's policy forbids playwright's own way, which is `eval`."""
    page.evaluate(
        f"async () => {{ while (!({condition})) await new Promise((r) => setTimeout(r, 20)); }}"
    )


def names(page: Page) -> list[str]:
    """The accessible names of all boxes up to the first comma, in reading order."""
    labels = page.locator(".diagram .box").evaluate_all(
        "boxes => boxes.map((box) => box.getAttribute('aria-label'))"
    )
    return [label.split(", ")[0] for label in labels]


def edges(page: Page) -> set[tuple[str, str]]:
    """The names at the ends of all edges; an operator's is its own, a port's "in" or "out"."""
    return set(
        map(
            tuple,
            page.evaluate(
                """() => {
                  const name = (id) => {
                    const box = document.querySelector(`.diagram [data-box="${id}"]`);
                    return box ? box.getAttribute("aria-label").split(", ")[0] : id.split("(")[0];
                  };
                  return [...document.querySelectorAll(".diagram .line")]
                    .map(({ dataset }) => [name(dataset.from), name(dataset.to)]);
                }"""
            ),
        )
    )


def box(page: Page, name: str):
    return page.locator(f'.diagram .box[aria-label^="{name},"]')


def test_a_residual_block_has_its_sum_as_an_operator(open_page: OpenPage, residual: str):
    page = opened(open_page, residual)
    block = {
        (start, end) for start, end in edges(page) if "blocks.0." in start or "blocks.0." in end
    }
    # Two calls of the ReLU: both have a label that begins with its name.
    assert block == {
        ("in", "blocks.0.conv1"),
        ("blocks.0.conv1", "blocks.0.relu"),
        ("blocks.0.relu", "blocks.0.conv2"),
        ("blocks.0.conv2", "add"),
        ("add", "blocks.0.relu"),
        ("blocks.0.relu", "out"),
    }
    assert ("in", "add") in edges(page)
    assert names(page).count("blocks.0.relu") == 2


class PreNorm(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm, self.fc = nn.LayerNorm(4), nn.Linear(4, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.fc(self.norm(x))


def test_a_sum_with_what_is_from_outside_is_in_the_box_that_adds(open_page: OpenPage):
    model = nn.Sequential(nn.Linear(4, 4), PreNorm())
    page = opened(open_page, page_of(hookcli.inspect(model, torch.ones(2, 4))))
    assert edges(page) == {
        ("in", "0"), ("0", "1"), ("1", "out"),
        ("in", "1.norm"), ("1.norm", "1.fc"), ("1.fc", "add"), ("in", "add"), ("add", "out"),
    }  # fmt: skip


def cached(count: int) -> Report:
    """Blocks that each keep a tensor, which all later blocks get and the root returns."""
    calls, edges = [layer(0, "", "Net", None)], []
    for index in range(count):
        outer, inner = 2 * index + 1, 2 * index + 2
        calls += [
            layer(outer, f"h.{index}", "Block", 0),
            replace(layer(inner, f"h.{index}.fc", "Linear", outer), depth=2),
        ]
        before = None if index == 0 else inner - 2
        edges += [EdgeRow(before, "", target, "[0]") for target in (outer, inner)]
        edges += [
            EdgeRow(earlier, "", outer, f"[1][{earlier}]", through=("cat",))
            for earlier in range(2, inner, 2)
        ]
        edges.append(EdgeRow(inner, "", 0, f"[1][{index}]", "output", ("cat",)))
    edges.append(EdgeRow(2 * count, "", 0, "[0]", "output"))
    return replace(report("inspect", layers=tuple(calls)), edges=tuple(edges))


def test_caches_are_no_lines(open_page: OpenPage):
    page = opened(open_page, page_of(cached(6)))
    outer = {pair for pair in edges(page) if ".fc" not in str(pair)}
    assert outer == {
        ("in", "h.0"), *((f"h.{at}", f"h.{at + 1}") for at in range(5)), ("h.5", "out"),
    }  # fmt: skip
    assert page.locator(".stub").all_text_contents() == ["↳ outputis also part of the output"] * 5


def test_the_details_of_a_layer_lead_along_edges(open_page: OpenPage, residual: str):
    page = opened(open_page, residual, "&layer=blocks.1.conv2")
    details = page.locator(".details")
    expect(details).to_contain_text("Receives from" + "blocks.1.relu")
    expect(details).to_contain_text("Sends to" + "blocks.1.relu")
    details.get_by_role("button", name="blocks.1.relu").first.click()
    assert "layer=blocks.1.relu" in fragment(page)
    expect(box(page, "blocks.1.relu").first).to_have_attribute("aria-selected", "true")


def test_edges_have_shapes(open_page: OpenPage, residual: str):
    page = opened(open_page, residual)
    labels = page.locator(".line-label").evaluate_all(
        "nodes => nodes.map((n) => n.lastChild.previousSibling.textContent)"
    )
    assert "[2, 3, 8, 8]" in labels
    assert "mean [2, 3]" in labels


def test_labels_do_not_overlap_boxes(open_page: OpenPage, residual: str):
    page = opened(open_page, residual)
    overlaps = page.evaluate(
        """() => {
          const apart = (a, b) =>
            a.right <= b.left + 1 || b.right <= a.left + 1 ||
            a.bottom <= b.top + 1 || b.bottom <= a.top + 1;
          const rects = (selector) =>
            [...document.querySelectorAll(selector)].map((node) => node.getBoundingClientRect());
          const labels = rects(".line-label");
          const others = rects(".box:not(.open) > .frame, .operator rect");
          return labels.filter((label, index) =>
            ![...others, ...labels.slice(0, index)].every((other) => apart(label, other))).length;
        }"""
    )
    assert overlaps == 0


def test_calls_in_a_loop_are_one_box(open_page: OpenPage, residual: str):
    page = opened(open_page, residual)
    assert names(page).count("cell") == 1
    expect(box(page, "cell")).to_contain_text("×3 ↻")
    expect(box(page, "cell")).to_have_attribute("aria-label", re.compile("3 calls"))


def test_a_module_that_was_not_called_has_a_box_without_edges(open_page: OpenPage, residual: str):
    page = opened(open_page, residual)
    expect(box(page, "spare")).to_have_class(re.compile("uncalled"))
    assert not [pair for pair in edges(page) if "spare" in pair]


def test_levels_open_and_close_boxes(open_page: OpenPage, residual: str):
    page = opened(open_page, residual)
    assert len(names(page)) == 13  # blocks, 2 blocks of 4 boxes, cell, spare
    for count in (5, 3):
        page.get_by_role("button", name="Close a level").click()
        expect(page.locator(".diagram .box")).to_have_count(count)
    assert edges(page) == {("in", "blocks"), ("blocks", "cell"), ("cell", "out")}
    page.get_by_role("button", name="Open a level").click()
    expect(page.locator(".diagram .box")).to_have_count(5)


def test_a_box_opens_by_its_button_by_a_double_click_and_by_enter(
    open_page: OpenPage, residual: str
):
    page = opened(open_page, residual)
    box(page, "blocks.1").locator("[data-toggle]").click()
    expect(page.locator(".diagram .box")).to_have_count(9)
    expect(box(page, "blocks.1")).to_have_attribute("aria-expanded", "false")
    box(page, "blocks.1").dblclick()
    expect(page.locator(".diagram .box")).to_have_count(13)
    page.keyboard.press("Enter")  # the focus stayed on the box
    expect(page.locator(".diagram .box")).to_have_count(9)


def test_a_click_selects_and_a_drag_does_not(open_page: OpenPage, residual: str):
    page = opened(open_page, residual)
    target = box(page, "blocks.0.conv1")
    place = target.bounding_box()
    page.mouse.move(place["x"] + 20, place["y"] + 20)
    page.mouse.down()
    page.mouse.move(place["x"] + 60, place["y"] + 40, steps=3)
    page.mouse.up()
    assert "layer=" not in fragment(page)
    moved = target.bounding_box()
    assert moved["x"] == pytest.approx(place["x"] + 40, abs=1)
    target.click()
    assert "layer=blocks.0.conv1" in fragment(page)
    expect(target).to_have_attribute("aria-selected", "true")
    expect(page.locator(".details")).to_contain_text("blocks.0.conv1")


def test_a_selection_from_elsewhere_opens_the_boxes_around_it(open_page: OpenPage):
    page = opened(open_page, page_of(chain(700, width=2)), "&layer=blocks.345.fc1")
    target = box(page, "blocks.345.fc1")
    expect(target).to_have_attribute("aria-selected", "true")
    frame, place = page.locator(".diagram").bounding_box(), target.bounding_box()
    assert frame["y"] <= place["y"] <= frame["y"] + frame["height"] - place["height"]


def test_deeply_nested_modules_stay_closed(open_page: OpenPage):
    calls = [layer(0, "", "Net", None)]
    calls += [replace(layer(at, f"m{at}", "Block", at - 1), depth=at) for at in range(1, 1200)]
    page = opened(open_page, page_of(replace(report("inspect", layers=tuple(calls)), edges=())))
    page.evaluate("location.hash = '#tab=diagram&layer=m1100'")
    settle(page)
    expect(page.locator(".diagram-status")).to_have_text(
        "At most 100 boxes are opened within each other"
    )
    expect(page.locator(".details")).to_contain_text("m1100")
    page.evaluate("location.hash = '#tab=diagram&layer=m90'")
    settle(page)
    expect(box(page, "m90")).to_have_attribute("aria-selected", "true")


def test_arrow_keys_follow_edges(open_page: OpenPage, residual: str):
    page = opened(open_page, residual)
    box(page, "blocks.0.conv1").click()
    page.keyboard.press("ArrowDown")
    assert focused(page).startswith("blocks.0.relu, ReLU")
    page.keyboard.press("ArrowDown")
    assert focused(page).startswith("blocks.0.conv2, Conv2d, output [2, 3, 8, 8]")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowUp")
    assert focused(page).startswith("blocks.0.conv1,")
    page.keyboard.press("Home")
    assert focused(page) == "blocks, Sequential, output [2, 3, 8, 8], 336 parameters, expanded"


def focused(page: Page) -> str:
    return page.evaluate("document.activeElement.getAttribute('aria-label')")


def test_one_box_is_in_the_tab_order(open_page: OpenPage, residual: str):
    page = opened(open_page, residual)
    assert page.locator('.diagram .box[tabindex="0"]').count() == 1
    page.get_by_role("button", name="Show all").click()
    box(page, "cell").click()
    assert page.locator('.diagram .box[tabindex="0"]').count() == 1
    assert page.locator('.diagram [role="treeitem"]').count() == len(names(page))


def test_a_search_dims_what_does_not_match(open_page: OpenPage, residual: str):
    page = opened(open_page, residual)
    page.get_by_role("button", name="Close a level").click()
    expect(page.locator(".diagram .box")).to_have_count(5)
    page.locator("#search").fill("blocks.1.conv2")
    bright = page.locator(".diagram .box:not(.dim)")
    expect(bright).to_have_count(2)  # the closed block that has the match, and the box around it


def test_a_report_without_edges_follows_the_order_of_calls(open_page: OpenPage):
    page = opened(open_page, page_of(replace(chain(3), edges=None)))
    pairs = edges(page)
    assert ("blocks.0", "blocks.1") in pairs and ("blocks.1", "blocks.2") in pairs
    assert page.locator(".line.dotted").count() == page.locator(".line").count()
    expect(page.locator("#panel-diagram")).to_contain_text("This report has no edges")


def test_a_long_sequence_is_shown_in_ranges(open_page: OpenPage):
    page = opened(open_page, page_of(chain(300)))
    assert page.locator(".diagram .group").count() == 15
    box(page, "20 × Block").first.dblclick()
    expect(page.locator(".diagram .box")).to_have_count(35)
    assert ("blocks.0", "blocks.1") in edges(page)


def test_without_a_worker_the_boxes_are_in_a_column(open_page: OpenPage, residual: str):
    page = open_page(residual)
    page.evaluate("() => { globalThis.Worker = undefined; }")
    page.get_by_role("tab", name="Diagram").click()
    page.wait_for_selector(".diagram .box")
    assert len(names(page)) == 13
    expect(page.locator(".diagram-status")).to_contain_text("simple layout")


def test_on_paper_the_diagram_is_as_wide_as_the_page(open_page: OpenPage, residual: str):
    page = open_page(residual)
    page.wait_for_selector(".tabs")
    emulate_media(page, media="print")
    page.wait_for_selector(".diagram .box")
    view, drawn = page.evaluate(
        """() => [document.querySelector(".diagram").getBoundingClientRect().width,
                  document.querySelector(".diagram > g").getBoundingClientRect().width]"""
    )
    assert 0 < drawn <= view <= page.viewport_size["width"]


@pytest.mark.parametrize("width", [400, 2000])
def test_the_diagram_fits_into_narrow_and_wide_windows(
    open_page: OpenPage, residual: str, width: int
):
    page = opened(open_page, residual, size=(width, 800))
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.locator(".diagram").bounding_box()["height"] <= 800 * 0.7 + 1


COUNT_LAYOUTS = """() => {
  const Plain = Worker;
  globalThis.layouts = 0;
  globalThis.Worker = class extends Plain {
    constructor(...values) {
      super(...values);
      this.addEventListener("message", () => { layouts += 1; });
    }
  };
}"""


def test_from_a_thousand_boxes_on_it_opens_collapsed_and_a_worker_lays_it_out(open_page: OpenPage):
    page = open_page(page_of(chain(500, width=3)))
    page.evaluate(COUNT_LAYOUTS)
    page.get_by_role("tab", name="Diagram").click()
    page.wait_for_selector(".diagram .box")
    assert page.locator(".diagram .open").count() == 0
    page.get_by_role("button", name="Open a level").click()
    wait_until(page, "document.querySelectorAll('.diagram .box').length > 500")
    assert page.evaluate("[layouts, typeof dagre]") == [2, "undefined"]
    page.get_by_role("button", name="Open a level").click()
    expect(page.locator(".diagram-status")).to_contain_text("2,018 boxes are too many")
    assert page.locator(".diagram .box").count() < 1500
