"""`dead_units` against the same counted with plain torch, and on networks that are healthy."""

from __future__ import annotations

from math import comb

import pytest
import torch
from hypothesis import given, settings, strategies as st
from torch import nn
from torch.nn import functional as F

import hookcli
from hookcli.engine.probes.activations.functions import NODES, Gate
from hookcli.rules.activations.dead_units import at_most
from hookcli.rules.activations.measured import DEAD
from tests.rules.activations.measuring import found, measure, sentence
from tests.torch_version import needs_torch

saves = needs_torch("2.10", "activations that are not modules")


class Functional(nn.Module):
    """A layer, a function, and a head."""

    def __init__(self, layer, function, width):
        super().__init__()
        self.layer, self.function, self.head = layer, function, nn.Linear(width, 2)

    def forward(self, x):
        h = self.function(self.layer(x))
        return self.head(h if h.dim() < 4 else h.mean((2, 3)))


def killed(layer, dead):
    """The layer with this many units far below zero."""
    with torch.no_grad():
        layer.bias[:dead] = -1000
    return layer


def by_hand(values, dim):
    others = [i for i in range(values.dim()) if i != dim % values.dim()]
    low = (values == 0).sum(others)
    count = values.numel() // values.shape[dim]
    return {
        "units": values.shape[dim],
        "dead": int((low == count).sum()),
        "on": int((low == 0).sum()),
        "values": count,
        "zero": pytest.approx(low[low < count].sum().item() / (low < count).sum().item() / count),
    }


@settings(max_examples=15, deadline=None)
@given(st.integers(2, 40), st.integers(1, 30), st.data())
def test_a_module_is_counted_as_by_hand(units, samples, data):
    torch.manual_seed(units)
    dead = data.draw(st.integers(0, units - 1))
    layer = nn.Linear(4, units)
    layer.bias.data[-1] = 1000.0
    model = nn.Sequential(killed(layer, dead), nn.ReLU(), nn.Linear(units, 2))
    batch = torch.randn(samples, 4)
    [row] = measure(model, batch, DEAD)
    wanted = by_hand(F.relu(model[0](batch)).detach(), -1)
    assert {key: row[key] for key in wanted} == wanted
    assert (row["after"], row["function"]) == ("0", "relu")


SHAPES = {
    "features": (lambda: nn.Linear(6, 10), (9, 6), -1),
    "tokens": (lambda: nn.Linear(6, 10), (3, 5, 6), -1),
    "channels": (lambda: nn.Conv2d(3, 10, 3), (4, 3, 8, 7), 1),
    "channels of a sequence": (lambda: nn.Conv1d(3, 10, 3), (4, 3, 12), 1),
}


@saves
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(
    "function",
    [F.relu, torch.relu_, lambda x: F.relu(x, inplace=True), lambda x: x.clamp(min=0), F.relu6],
)
def test_a_function_is_counted_as_by_hand(shape, function):
    torch.manual_seed(1)
    make, size, dim = SHAPES[shape]
    layer = killed(make(), 7)
    if shape == "tokens" and function is not F.relu:
        layer = nn.Sequential(layer, nn.LayerNorm(10))  # its output is not a view
        nn.init.constant_(layer[1].bias[:7], -1000)
    model = Functional(layer, function, 10)
    if "sequence" in shape:
        model.head = nn.Identity()
    batch = torch.randn(size)
    [row] = measure(model, batch, DEAD)
    wanted = by_hand(F.relu(layer(batch)).detach(), dim)
    assert {key: row[key] for key in wanted} == wanted
    assert row["after"].startswith("layer")


@saves
@pytest.mark.parametrize(
    "function", [F.gelu, F.silu, F.mish, F.elu, F.selu, F.celu, F.softplus, F.hardswish]
)
def test_the_limits_are_where_the_slope_ends(function):
    x = torch.tensor([-1.0], requires_grad=True)
    node = function(x).grad_fn
    make, saved = NODES[node.name()]
    gate = make(node)
    assert saved == "self"
    assert isinstance(gate, Gate)
    grid = torch.linspace(-25, 1, 26_001, dtype=torch.float64, requires_grad=True)
    function(grid).sum().backward()
    blocked = grid.detach()[gate.low(grid.detach())]
    assert len(blocked), "some of the grid is below the limit"
    slopes = grid.grad[: len(blocked)].abs()
    assert slopes.max() < 2**-23
    above = grid.grad[(grid > blocked[-1] + 1.5) & (grid < blocked[-1] + 2)].abs()
    assert above.max() > 2**-23


def test_three_quarters_dead_is_one_sentence_with_the_numbers():
    torch.manual_seed(0)
    model = nn.Sequential(killed(nn.Linear(8, 64), 48), nn.ReLU(), nn.Linear(64, 4))
    text, advice = sentence(model, torch.randn(32, 8), "dead_units")
    assert text == (
        "48 of 64 units of '1' (ReLU), after '0', are dead: relu passes no gradient for any of "
        "the 32 values of each"
    )
    assert "'0'" in advice
    assert ("dead_units", "1") in found(model, torch.randn(32, 8), hookcli.trace)


@saves
def test_a_function_in_a_block_is_named_with_its_layer():
    torch.manual_seed(0)
    model = Functional(killed(nn.Conv2d(3, 32, 3), 24), F.relu, 32)
    text, _ = sentence(model, torch.randn(2, 3, 8, 8), "dead_units")
    assert text.startswith("24 of 32 units of the model, after 'layer', are dead")


def test_a_dead_layer_and_what_follows_from_it():
    torch.manual_seed(0)
    model = nn.Sequential(killed(nn.Linear(8, 16), 16), nn.ReLU(), nn.Linear(16, 4))
    text, _ = sentence(model, torch.randn(32, 8), "dead_units")
    assert text.startswith("all 16 units of '1' (ReLU), after '0', are dead")


@pytest.mark.parametrize("samples", [2, 3, 8, 64])
@pytest.mark.parametrize("seed", range(2))
def test_chance_is_no_fault(samples, seed):
    """New networks, also deep ones, in which all samples become alike, and narrow ones."""
    torch.manual_seed(seed)
    for width, depth in ((4, 3), (16, 12), (128, 2)):
        layers = [m for _ in range(depth) for m in (nn.Linear(width, width), nn.ReLU())]
        model = nn.Sequential(*layers, nn.Linear(width, 2))
        for module in model[::2]:
            nn.init.kaiming_normal_(module.weight)
        config = {"checks": [{"rule": "dead_units"}]}
        report = hookcli.check(model, config, inputs=torch.randn(samples, width))
        assert [row.status for row in report.checks if row.rule == "dead_units"] == ["pass"]


def test_two_samples_are_too_few_to_tell():
    torch.manual_seed(0)
    model = nn.Sequential(killed(nn.Linear(8, 64), 48), nn.ReLU(), nn.Linear(64, 4))
    assert "dead_units" not in dict(found(model, torch.randn(2, 8)))


@given(st.integers(1, 60), st.data())
def test_the_bound_is_above_the_binomial_tail(trials, data):
    successes = data.draw(st.integers(0, trials))
    chance = data.draw(st.floats(0.01, 0.99))
    tail = sum(
        comb(trials, k) * chance**k * (1 - chance) ** (trials - k)
        for k in range(successes, trials + 1)
    )
    assert at_most(successes, trials, chance) >= tail * (1 - 1e-9)


def test_the_limit_is_an_option():
    torch.manual_seed(0)
    model = nn.Sequential(killed(nn.Linear(8, 64), 20), nn.ReLU(), nn.Linear(64, 4))
    config = {"checks": [{"rule": "dead_units", "share": 0.3}]}
    rows = hookcli.check(model, config, inputs=torch.randn(64, 8)).checks
    row = next(row for row in rows if row.rule == "dead_units")
    assert (row.status, row.value, row.limit) == ("fail", 20 / 64, 0.3)
