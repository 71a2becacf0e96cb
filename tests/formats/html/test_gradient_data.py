"""The gradients in the data of a page are those that plain PyTorch computes."""

from __future__ import annotations

import dataclasses

import pytest
import torch
from torch import nn

import hookcli
from hookcli.formats.html.data.record import parameters
from hookcli.formats.html.data.references import References
from hookcli.formats.parts.color_scale import PALETTE
from tests.formats.fabricate import layer, parameter, report, stats

STEPS, RATE = 3, 0.01  # the learning rate of grads without a configuration


class Faulty(nn.Module):
    """`used` learns, and its gradient is NaN in the last step; the others never learn."""

    def __init__(self):
        super().__init__()
        self.used = nn.Linear(4, 3)
        self.idle = nn.Linear(4, 3)
        self.gate = nn.Parameter(torch.ones(3))
        self.fixed = nn.Parameter(torch.ones(3), requires_grad=False)
        self.calls = 0

    def forward(self, x):
        y = self.used(x) * self.fixed + 0 * self.gate
        if self.calls == STEPS - 1:
            y = y * float("nan")
        self.calls += 1
        return {"loss": (y**2).sum()}


def made():
    torch.manual_seed(0)
    return Faulty(), torch.randn(5, 4)


def by_hand():
    """The norm of each gradient in each step, by a plain loop; None without a gradient."""
    model, batch = made()
    optimizer = torch.optim.SGD(model.parameters(), lr=RATE)
    norms = {name: [] for name, _ in model.named_parameters()}
    for _ in range(STEPS):
        optimizer.zero_grad()
        model(batch)["loss"].backward()
        for name, values in model.named_parameters():
            norms[name].append(None if values.grad is None else values.grad.norm().item())
        optimizer.step()
    return norms


def data(made_report):
    return parameters(made_report, References(made_report))


@pytest.fixture(scope="module")
def steps():
    model, batch = made()
    return data(hookcli.grads(model, batch, steps=STEPS))


def test_the_grid_has_the_norms_of_each_step(steps):
    truth = by_hand()
    rows = dict(zip(steps["name"]["texts"], steps["grid"], strict=True))
    assert steps["steps"] == [0, 1, 2]
    for name in ("used.weight", "used.bias"):
        assert rows[name][:2] == pytest.approx(truth[name][:2], rel=1e-5)
        assert rows[name][2] == "nan"
        assert str(truth[name][2]) == "nan"
    assert truth["gate"][:2] == rows["gate"][:2] == [0, 0]
    assert rows["idle.weight"] == rows["idle.bias"] == truth["idle.weight"] == [None] * STEPS
    assert rows["fixed"] == ["frozen"] * STEPS


def test_the_scale_spans_the_norms_and_the_palette_has_colours(steps):
    norms = [cell for row in steps["grid"] for cell in row if isinstance(cell, float) and cell > 0]
    low, high = steps["scale"]
    assert len(norms) == 4
    assert low < high
    assert low <= sorted(norms)[1]
    assert sorted(norms)[-2] <= high
    assert len(steps["palette"]) == len(PALETTE)
    assert steps["palette"][0] == "#440154"


def test_a_gradient_without_a_norm_says_why():
    """What is not measured differs from what is missing, and NaN is found without its norm."""
    step = [
        ({"norm": None}, None),
        (stats(1.0, nans=2), "non_finite"),
        (stats("inf"), "non_finite"),
        (stats(0.0), "zero"),
        (stats(0.0, numel=0), "ok"),
        (None, "none"),
        (None, "frozen"),
    ]
    row = parameter("fc.weight", (2,), grad=None, status="frozen")
    entries = [{"step": 10 * i, "grad": g, "status": s} for i, (g, s) in enumerate(step)]
    late = dataclasses.replace(row, name="late", steps=({"step": 70, "grad": stats(2.0)},))
    rows = (dataclasses.replace(row, steps=tuple(entries)), late)
    found = data(report("grads", layers=(layer(0, "", "Net", None),), parameters=rows))
    assert found["steps"] == [0, 10, 20, 30, 40, 50, 60, 70]
    assert found["grid"][0] == ["", "nan", "inf", 0, "", None, "frozen", ""]
    assert found["grid"][1] == [""] * 7 + [2.0]


def test_a_single_step_has_no_grid_but_a_scale():
    rows = (parameter("a", (2,), grad=stats(1e-3)), parameter("b", (2,), status="none"))
    found = data(report("grads", layers=(layer(0, "", "Net", None),), parameters=rows))
    assert (found["steps"], found["grid"]) == ([], [])
    low, high = found["scale"]
    assert low < 1e-3 < high
    none = data(report("inspect", layers=(layer(0, "", "Net", None),), parameters=rows[1:]))
    assert none["scale"] is None
