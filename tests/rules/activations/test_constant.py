"""`all_zero` and `low_variance`: planted faults, and models that only look like them."""

from __future__ import annotations

import pytest
import torch
from torch import nn

import hookcli
from tests.rules.activations.measuring import failing, found, sentence
from tests.torch_version import needs_torch

BATCH = torch.linspace(-2, 2, 16 * 8).view(16, 8).sin() * 3


class Through(nn.Module):
    """Two layers with something between them and something after them."""

    def __init__(self, middle=None, last=None, out=4):
        super().__init__()
        self.a, self.b = nn.Linear(8, 16), nn.Linear(16, out)
        self.middle, self.last = middle or nn.Identity(), last or nn.Identity()

    def forward(self, x):
        return self.last(self.b(self.middle(self.a(x))))


class Do(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, x):
        return self.function(x)


class OneFeature(nn.Module):
    """A norm over one feature returns its bias."""

    def __init__(self):
        super().__init__()
        self.a, self.norm, self.b = nn.Linear(8, 1), nn.LayerNorm(1), nn.Linear(1, 4)

    def forward(self, x):
        return self.b(self.norm(self.a(x)))


def seeded(make):
    torch.manual_seed(0)
    return make()


IGNORING = {
    "detached from the input": lambda: Through(Do(lambda x: torch.ones_like(x))),
    "softmax module over one": lambda: Through(last=nn.Softmax(-1), out=1),
    "times zero": lambda: Through(Do(lambda x: x * 0 + 1)),
    "far too small": lambda: Through(Do(lambda x: x * 1e-20)),
}


@pytest.mark.parametrize("name", IGNORING)
def test_a_model_that_ignores_its_input(name):
    assert "low_variance" in failing(seeded(IGNORING[name]), BATCH)


@needs_torch("2.10", "activations that are not modules")
def test_a_softmax_of_one_is_named():
    model = seeded(lambda: Through(last=Do(lambda x: x.softmax(-1)), out=1))
    text, advice = sentence(model, BATCH, "normalizes_one_value")
    assert text.startswith("softmax in 'last' (Do) is over one element")
    assert advice.startswith("use a sigmoid")


def test_the_layer_that_loses_the_input_is_named():
    for bias, rule in ((0.0, "all_zero"), (1.0, "low_variance")):
        model = seeded(OneFeature)
        nn.init.constant_(model.norm.bias, bias)
        text, _ = sentence(model, BATCH.repeat(3, 1), "normalizes_one_value")
        assert text.startswith("'norm' (LayerNorm) normalizes one value at a time")
        assert rule in failing(model, BATCH.repeat(3, 1))


def test_the_difference_is_that_of_torch():
    model = seeded(lambda: Through(Do(lambda x: x * 1e-7)))
    assert [one for one in found(model, BATCH) if one[0] != "linear_after_linear"] == []
    config = {"checks": [{"rule": "low_variance", "spread": 1e-5}]}
    rows = hookcli.check(model, config, inputs=BATCH).checks
    [row] = [row for row in rows if row.rule == "low_variance"]
    with torch.no_grad():
        y = model(BATCH)
    spread = float((y - y[0]).abs().max() / y.abs().max())
    assert f"differs by {spread:.1e} of its" in row.message


def zero_last():
    model = Through(nn.ReLU())
    nn.init.zeros_(model.b.weight)
    nn.init.zeros_(model.b.bias)
    return model


class Residual(nn.Module):
    """A branch that begins with zeros, as in ReZero and ControlNet."""

    def __init__(self):
        super().__init__()
        self.a, self.branch, self.b = nn.Linear(8, 8), nn.Linear(8, 8), nn.Linear(8, 4)
        nn.init.zeros_(self.branch.weight)
        nn.init.zeros_(self.branch.bias)
        self.gate = nn.Parameter(torch.zeros(1))

    def forward(self, x):
        h = self.a(x)
        return self.b(h + self.branch(h) + self.gate * h)


class Positions(nn.Module):
    """Positions are the same for each sample, and so is what a layer makes of them."""

    def __init__(self):
        super().__init__()
        self.a, self.positions, self.p = nn.Linear(8, 8), nn.Embedding(5, 8), nn.Linear(8, 8)

    def forward(self, x):
        ids = torch.arange(5).expand(len(x), 5)
        return self.a(x)[:, None] + self.p(self.positions(ids))


class Graph(nn.Module):
    """All nodes have the same neighbours, so their outputs are equal."""

    def __init__(self, adjacency=None):
        super().__init__()
        self.a = nn.Linear(8, 4)
        self.register_buffer("adjacency", adjacency)

    def forward(self, x, adjacency=None):
        return (self.adjacency if adjacency is None else adjacency) @ self.a(x)


HEALTHY = {
    "a complete graph": (lambda: Graph(torch.ones(16, 16)), BATCH),
    "a complete graph as an input": (Graph, (BATCH, torch.rand(16, 1).expand(16, 16) * 0 + 1)),
    "zero weights of the last layer": (zero_last, BATCH),
    "a branch of zeros": (Residual, BATCH),
    "positions": (Positions, BATCH),
    "dropout of everything": (lambda: Through(nn.Dropout(1.0)), BATCH),
    "the same sample twice": (Through, BATCH[:1].repeat(4, 1)),
    "a batch of zeros": (Through, torch.zeros(4, 8)),
    "one sample": (Through, BATCH[:1]),
    "a batch norm": (lambda: Through(nn.BatchNorm1d(16)), BATCH),
}


@pytest.mark.parametrize("name", HEALTHY)
def test_what_is_meant_to_be_constant_is_no_fault(name):
    make, batch = HEALTHY[name]
    rules = failing(seeded(make), batch)
    expected = {"low_variance"} if name == "dropout of everything" else set()
    assert rules & {"low_variance", "all_zero"} == expected


def test_zero_weights_count_if_asked_for():
    config = {"checks": [{"rule": "all_zero", "zero_weights": True}]}
    rows = hookcli.check(seeded(zero_last), config, inputs=BATCH).checks
    assert {row.target for row in rows if row.rule == "all_zero"} == {"b", ""}
