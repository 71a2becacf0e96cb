"""`saturated_activation` against the shares counted with plain torch."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.nn import functional as F

import hookcli
from hookcli.rules.activations.measured import ONE_HOT, SATURATED
from tests.rules.activations.measuring import found, measure, sentence
from tests.torch_version import needs_torch

saves = needs_torch("2.10", "activations that are not modules")


class Squashed(nn.Module):
    """A function between two layers, the first with weights of this size."""

    def __init__(self, function, scale=1.0):
        super().__init__()
        self.a, self.function, self.b = nn.Linear(8, 32), function, nn.Linear(32, 4)
        with torch.no_grad():
            self.a.weight.mul_(scale)

    def forward(self, x):
        return self.b(self.function(self.a(x)))


class Functional(nn.Module):
    """The same layers with a function that is not a module."""

    def __init__(self, other, function):
        super().__init__()
        self.a, self.b, self.__dict__["function"] = other.a, other.b, function

    def forward(self, x):
        return self.b(self.function(self.a(x)))


SLOPES = {
    nn.Sigmoid: (torch.sigmoid, 0.25),
    nn.Tanh: (torch.tanh, 1.0),
    nn.Hardsigmoid: (F.hardsigmoid, 1 / 6),
    nn.Hardtanh: (F.hardtanh, 1.0),
}


@saves
@pytest.mark.parametrize("scale", [1.0, 10.0, 100.0])
@pytest.mark.parametrize("kind", SLOPES)
def test_values_with_less_than_a_hundredth_of_the_slope_are_counted(kind, scale):
    torch.manual_seed(0)
    function, most = SLOPES[kind]
    model, batch = Squashed(kind(), scale), torch.randn(16, 8)
    x = model.a(batch).detach().requires_grad_()
    function(x).sum().backward()
    flat = int((x.grad < 0.01 * most).sum())
    [row] = measure(model, batch, SATURATED)
    assert (row["flat"], row["values"]) == (flat, 16 * 32)
    model = Functional(model, function)
    [row] = measure(model, batch, SATURATED)
    assert (row["flat"], row["after"]) == (flat, "a")


@saves
def test_the_rows_of_a_softmax_are_counted():
    torch.manual_seed(0)
    model, batch = Squashed(lambda x: x.softmax(-1), 60.0), torch.randn(50, 8)
    weights = model.a(batch).softmax(-1)
    [row] = measure(model, batch, ONE_HOT)
    sharp = int((weights.amax(-1) > 0.9975).sum())
    assert (row["flat"], row["values"]) == (sharp, 50)
    assert 10 < sharp < 50


def test_the_sentence_names_the_layer_and_the_share():
    torch.manual_seed(0)
    model, batch = Squashed(nn.Tanh(), 100.0), torch.randn(16, 8)
    flat = int((model.a(batch).tanh() ** 2 > 0.99).sum())
    text, advice = sentence(model, batch, "saturated_activation")
    assert text == (
        "tanh of 'function' (Tanh), after 'a', is saturated: less than 1 % of its slope is left "
        f"at {flat} of 512 values ({flat / 512:.0%})"
    )
    assert "'a'" in advice


@pytest.mark.parametrize("kind", [*SLOPES, lambda: nn.Softmax(-1)])
@pytest.mark.parametrize("seed", range(3))
def test_new_layers_are_not_saturated(kind, seed):
    torch.manual_seed(seed)
    assert found(Squashed(kind()), torch.randn(16, 8)) == []


def test_a_confident_output_is_not_a_fault_unless_no_slope_is_left():
    torch.manual_seed(0)
    for scale, saturated in ((20.0, False), (1000.0, True)):
        model = nn.Sequential(nn.Linear(8, 32), nn.Sigmoid())
        model[0].weight.data.mul_(scale)
        assert ("saturated_activation" in dict(found(model, torch.randn(16, 8)))) is saturated
    classes = nn.Sequential(nn.Linear(8, 32), nn.Softmax(-1))
    classes[0].weight.data.mul_(1000)
    assert "saturated_activation" not in dict(found(classes, torch.randn(16, 8)))


@saves
def test_a_tanh_inside_gelu_may_be_flat():
    def gelu(x):
        return 0.5 * x * (1 + torch.tanh(0.7979 * (x + 0.044715 * torch.pow(x, 3))))

    assert measure(Squashed(gelu, 100.0), torch.randn(16, 8), SATURATED) == []


@saves
def test_attention_that_looks_at_one_position_only():
    class Attention(nn.Module):
        def __init__(self, scale):
            super().__init__()
            self.q, self.k, self.scale = nn.Linear(16, 16), nn.Linear(16, 16), scale

        def forward(self, x):
            logits = self.scale * self.q(x) @ self.k(x).transpose(1, 2)
            causal = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool).triu(1)
            return logits.masked_fill(causal, float("-inf")).softmax(-1) @ x

    torch.manual_seed(0)
    batch = torch.randn(4, 10, 16)
    assert found(Attention(0.25), batch) == []
    assert found(Attention(1e5), batch)[0][0] == "saturated_activation"


def test_without_a_backward_pass_modules_are_read():
    torch.manual_seed(0)
    model, batch = Squashed(nn.Sigmoid(), 100.0), torch.randn(16, 8)
    with torch.no_grad():
        flat = int((4 * (y := model.a(batch).sigmoid()) * (1 - y) < 0.01).sum())
    [row] = measure(model, batch, SATURATED, "inspect")
    assert row["flat"] == flat
    assert found(model, batch, hookcli.trace)[0][0] == "saturated_activation"
