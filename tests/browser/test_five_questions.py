"""Somebody who has only the page of a broken model finds five answers, each within three clicks."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from tests.browser.watched import settle
from tests.conftest import run_cli

DATA = Path(__file__).parent / "data"


@pytest.fixture(scope="module")
def broken(tmp_path_factory):
    """The page that a user gets from the command line, and the model's facts by plain PyTorch."""
    folder = tmp_path_factory.mktemp("broken")
    for name in ("broken.py", "broken.yaml"):
        (folder / name).write_bytes((DATA / name).read_bytes())
    result = run_cli("grads", "-c", "broken.yaml", "-f", "html=page.html", cwd=folder)
    assert result.status == 0, result.err
    return folder / "page.html"


class Clicks:
    """Counts the clicks on a page."""

    def __init__(self, page):
        self.page = page
        self.count = 0

    def __call__(self, role, name, **more):
        self.page.get_by_role(role, name=name, **more).first.click()
        settle(self.page)
        self.count += 1
        assert self.count <= 3


@pytest.fixture
def clicks(open_page, broken):
    return Clicks(open_page(broken))


def test_where_is_the_first_nan(clicks):
    """No click: the header has the operator, the layer and the line; a click selects the layer."""
    verdict = clicks.page.locator(".verdict").inner_text()
    assert "NaN first appears in the backward of 'scale' at broken.py:19" in verdict
    line = (DATA / "broken.py").read_text().splitlines()[18]
    assert "torch.log" in line
    clicks("link", "scale")
    assert clicks.page.locator(".details h3").first.inner_text() == "scale"
    assert clicks.page.locator('[aria-selected="true"] .cell-layer').inner_text() == "scale"


def test_which_parameter_has_no_gradient(clicks):
    clicks("tab", "Gradients")
    clicks("button", "2 of 18 parameters get no gradient")
    shown = clicks.page.locator(".panel-gradients").inner_text()
    assert "unused.weight" in shown and "unused.bias" in shown
    assert "stem.weight" not in shown.split("Shape")[-1]


def test_where_do_most_flops_go(clicks):
    clicks("columnheader", "FLOPs")
    clicks("checkbox", "As a list")
    own = 2 * 2 * 16 * 16 * 9 * 32 * 32  # a convolution: batch, channels, kernel, output, 2 a MAC
    rows = clicks.page.locator('.panel-layers [role="row"][aria-level], .grid-body [role="row"]')
    texts = [text for text in rows.all_inner_texts() if "Conv2d" in text][:6]
    assert len(texts) == 6 and all("9.44M" in text for text in texts)
    assert f"{own / 1e6:.2f}M" == "9.44M"


def test_what_fired_after_layer3_in_backward(clicks):
    clicks.page.get_by_text("layer3", exact=True).first.click()
    clicks.count += 1
    clicks("tab", "Hooks")
    clicks("button", "tensor", exact=False)
    now = clicks.page.locator(".event-now").inner_text()
    assert "backward" in now and "layer3:output" in now
    rows = clicks.page.locator('.panel-hooks .grid-body [role="row"]')
    texts = rows.all_inner_texts()
    at = next(i for i, text in enumerate(texts) if "layer3:output" in text)
    # By plain PyTorch: the gradient of a block's last convolution comes after that of its output.
    assert "layer3.conv2:output" in texts[at + 1]


def test_what_the_clip_hook_changed(clicks):
    clicks("tab", "Hooks")
    clicks("checkbox", "only changes")
    clicks("button", "Next event")
    now = clicks.page.locator(".event-now")
    assert "layer2" in now.inner_text()
    table = now.locator("table")
    names = table.locator("thead th").all_inner_texts()
    before, after = (
        dict(zip(names, row.locator("td").all_inner_texts(), strict=True))
        for row in table.locator("tbody tr").all()
    )
    assert after["norm"] == "1"
    assert float(before["norm"]) == pytest.approx(plain_norm(), rel=1e-3)


def plain_norm():
    """The norm of layer2's output, by a hook attached by hand."""
    space = {}
    exec(compile((DATA / "broken.py").read_text(), "broken.py", "exec"), space)
    torch.manual_seed(0)
    model = space["build_model"]()
    seen = []
    model.layer2.register_forward_hook(lambda _m, _a, output: seen.append(output.norm().item()))
    torch.manual_seed(0)
    model(*space["example_inputs"]())
    return seen[0]
