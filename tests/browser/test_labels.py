"""Labels: none overlaps another or is cut, whatever names a model has."""

from __future__ import annotations

import functools

import pytest
import torch
from torch import nn

import hookcli
from tests.browser.labels import cut_cells, empty_boxes, in_diagram
from tests.browser.samples import SAMPLES, html, model_of, sample
from tests.browser.watched import emulate_media, settle

LONG = "the_linear_projection_of_the_values_after_the_softmax_operation"  # 63 characters


class WWWWMMMMWWWWMMMMWWWWMMMM(nn.Module):
    """A block with wide letters, and a name as long as a label may be."""

    def __init__(self) -> None:
        super().__init__()
        self.WMWMWM, self.線性層投影 = nn.Linear(4, 4), nn.Linear(4, 4)
        self.add_module(LONG, nn.Linear(4, 4))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.線性層投影(self.get_submodule(LONG)(torch.relu(self.WMWMWM(x)))) + x


class Wide(nn.Module):
    """Blocks of wide letters, layers that get all results before, and branches that meet."""

    def __init__(self) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(WWWWMMMMWWWWMMMMWWWWMMMM() for _ in range(2))
        self.dense = nn.ModuleList(nn.Linear(4 * (i + 1), 4) for i in range(6))
        self.branches = nn.ModuleList(nn.Linear(4, 4) for _ in range(6))
        self.unused, self.dead = nn.Linear(4, 4), nn.Linear(4, 4)

    def forward(self, x: torch.Tensor) -> dict[str, object]:
        for block in self.blocks:
            x = block(x)
        made = [x]
        for layer in self.dense:
            made.append(layer(torch.cat(made, -1)))
        parts = [torch.softmax(torch.tanh(torch.sigmoid(b(made[-1]))), -1) for b in self.branches]
        with torch.no_grad():
            dead = self.dead(x)
        return {"y": torch.stack(parts).mean(0), "dead": dead, "made": made}


def _transformer() -> tuple[nn.Module, torch.Tensor]:
    layer = nn.TransformerEncoderLayer(16, 2, 32, batch_first=True)
    return nn.TransformerEncoder(layer, 4, enable_nested_tensor=False), torch.randn(2, 5, 16)


MODELS = {
    "siamese": functools.partial(model_of, "siamese", "SiameseNet"),
    "unet": functools.partial(model_of, "unet", "UNet"),
    "gpt": functools.partial(model_of, "tiny_gpt", "TinyGPT"),
    "vae": functools.partial(model_of, "vae", "VAE"),
    "experts": functools.partial(model_of, "moe", "MixtureOfExperts"),
    "resnet": functools.partial(model_of, "inplace_resnet", "InplaceResNet"),
    "transformer": _transformer,
    "wide": lambda: (Wide(), torch.randn(4, 4)),
}


@functools.cache
def page_of(name: str) -> str:
    """The page of a model; with checks if it has faults, which are marks in the diagram."""
    if name == "check":
        return html(sample("check"))
    model, batch = MODELS[name]()
    if name == "wide":
        return html(hookcli.check(model, inputs=batch))
    return html(hookcli.inspect(model, batch))


@pytest.mark.parametrize("name", [*MODELS, "check"])
def test_no_label_of_the_diagram_overlaps_or_is_cut_at_any_level(open_page, name):
    page = open_page(page_of(name), "#tab=diagram")
    page.wait_for_selector(".diagram .box-name")
    levels = int(page.locator(".diagram-level").inner_text().split()[-1])
    for level in range(1, levels + 1):
        while not page.locator(".diagram-level").inner_text().startswith(f"Level {level} "):
            shown = int(page.locator(".diagram-level").inner_text().split()[1])
            page.get_by_label("Open a level" if shown < level else "Close a level").click()
            page.wait_for_timeout(50)
        settle(page)
        labels, wrong = in_diagram(page)
        assert len(labels) > 3
        assert wrong == [], level
        assert not any("…" in label for label in labels), level


def test_a_name_of_64_characters_is_whole_and_a_longer_one_has_a_tip(open_page):
    page = open_page(page_of("wide"), "#tab=diagram&layer=blocks.0.WMWMWM")
    page.wait_for_selector(f".box[aria-label*='{LONG}']")
    settle(page)
    assert LONG in in_diagram(page)[0]


@pytest.mark.parametrize("name", ["wide", "siamese"])
def test_no_label_of_the_diagram_overlaps_or_is_cut_on_paper(open_page, name):
    page = open_page(page_of(name))
    emulate_media(page, media="print")
    page.wait_for_selector(".diagram .box-name")
    labels, wrong = in_diagram(page)
    assert len(labels) > 3
    assert wrong == []


@pytest.mark.parametrize("name", [*SAMPLES, "wide"])
@pytest.mark.parametrize("width", [1280, 420])
def test_no_cell_is_cut_without_an_ellipsis_and_no_box_is_empty(open_page, name, width):
    source = page_of("wide") if name == "wide" else html(sample(name))
    page = open_page(source, size=(width, 900))
    for tab in page.locator("[role=tab]").all():
        tab.click()
        settle(page)
        assert cut_cells(page) == [], tab.get_attribute("id")
        assert empty_boxes(page) == [], tab.get_attribute("id")


def test_a_hint_in_the_search_is_not_cut(open_sample):
    page = open_sample("grads", size=(1280, 900))
    room, needed = page.locator("#search").evaluate("""(input) => {
      const ctx = document.createElement("canvas").getContext("2d");
      const { font, paddingLeft, paddingRight } = getComputedStyle(input);
      ctx.font = font;
      const room = input.clientWidth - parseFloat(paddingLeft) - parseFloat(paddingRight);
      return [room, ctx.measureText(input.placeholder).width + 20];  // the button that clears it
    }""")
    assert needed <= room
