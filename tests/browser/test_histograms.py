"""Histograms of gradients and activations: the bars are the counts of the report, by layer."""

from __future__ import annotations

import pytest

import hookcli
from tests.browser.samples import DATA, html, model_of
from tests.browser.watched import fragment

# Of each histogram: what it is of, and the bars.
_DRAWN = """(all) => all.map((figure) => ({
  of: figure.querySelector("figcaption").innerText,
  bars: [...figure.querySelectorAll("rect")].map((bar) => ({
    count: Number(bar.dataset.count), height: Number(bar.getAttribute("height")),
    title: bar.textContent,
  })),
  ends: figure.querySelector(".histogram-ends").innerText.split(/\\s+/).map(Number),
}))"""


@pytest.fixture(scope="module")
def report():
    model, batch = model_of("vae", "VAE")
    return hookcli.trace(model, batch, steps=3, config=DATA / "vae_histograms.yaml")


@pytest.fixture(scope="module")
def source(report):
    return html(report)


def counted(report, step, *targets):
    """The histograms of the report at these targets, in the order of events."""
    return [
        (event.target, leaf.stats["histogram"])
        for event in report.events
        if event.step == step and event.target in targets
        for leaf in event.values
    ]


def check(drawn, known):
    assert [one["of"].split()[0] for one in drawn] == [target for target, _ in known]
    for one, (_, histogram) in zip(drawn, known, strict=True):
        counts = [bar["count"] for bar in one["bars"]]
        assert counts == histogram["counts"]
        heights = [bar["height"] for bar in one["bars"]]
        assert heights == pytest.approx([60 * count / max(counts) for count in counts])
        assert one["ends"] == pytest.approx([histogram["low"], histogram["high"]], rel=1e-3)
        assert one["bars"][0]["title"].startswith(f"{counts[0]} from ")


def test_a_layer_has_the_histograms_of_its_activations_and_gradients(open_page, source, report):
    page = open_page(source, "#tab=layers&layer=encoder.1&step=0")
    targets = ("encoder.1", "encoder.1:output", "encoder.1.weight", "encoder.1.bias")
    known = counted(report, 0, *targets)
    assert len(known) == 4
    assert known[0][1]["counts"] != known[1][1]["counts"]
    check(page.locator(".histogram").evaluate_all(_DRAWN), known)


def test_a_parameter_has_the_histogram_of_its_gradient_at_the_step_of_the_slider(
    open_page, source, report
):
    page = open_page(source, "#tab=gradients&parameter=encoder.1.weight")
    for step in (0, 1, 2):
        page.locator("#step").fill(str(step))
        assert fragment(page).endswith(f"step={step}")
        of_parameter = page.locator(".details .detail").first
        assert of_parameter.locator("h4").first.inner_text() == f"Histograms, step {step}"
        drawn = of_parameter.locator(".histogram").evaluate_all(_DRAWN)
        check(drawn, counted(report, step, "encoder.1.weight"))


def test_without_counts_there_is_no_histogram(open_sample):
    page = open_sample("trace", "#tab=layers&layer=bottom")
    assert page.locator(".detail h3").first.inner_text() == "bottom"
    assert page.locator(".histograms").count() == 0
