"""`vanishing_gradient`, `exploding_gradient`, `grad_norm` and `grad_to_weight` on small models."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings, strategies as st
from torch import nn

import hookcli
from hookcli.rules.gradients.profile import Profile, profiles
from tests.formats.fabricate import layer as call, parameter, report, stats
from tests.rules.judging import only

SIZE = 8


def deep(count, activation, *, gain=None, seed=0):
    """A stack of linear layers; `gain` is the standard deviation of a weight times sqrt(SIZE)."""
    torch.manual_seed(seed)
    layers = [m for _ in range(count) for m in (nn.Linear(SIZE, SIZE), activation())]
    model = nn.Sequential(*layers, nn.Linear(SIZE, 2))
    if gain is not None:
        for layer in model:
            if isinstance(layer, nn.Linear):
                nn.init.normal_(layer.weight, std=gain / SIZE**0.5)
    return model


def by_hand(model, batch, loss):
    """The root mean square of the gradient of each weight, in the order of the layers."""
    loss(model(batch)).backward()
    sizes = [
        layer.weight.grad.double().square().mean().sqrt().item()
        for layer in model
        if isinstance(layer, nn.Linear)
    ]
    model.zero_grad()
    return sizes


def causes(report):
    return [diagnosis.cause for diagnosis in report.diagnoses]


def test_the_profile_is_that_of_torch():
    model, batch = deep(6, nn.Tanh), torch.randn(4, SIZE)
    report = hookcli.grads(model, batch, loss="sum")
    weights = profiles(report)[0]
    assert weights.names == tuple(str(i) for i in range(0, 13, 2))
    assert weights.sizes == pytest.approx(by_hand(model, batch, torch.sum), rel=1e-5)


def test_sigmoids_vanish_and_the_sentence_has_the_figures():
    model, batch = deep(45, nn.Sigmoid), torch.randn(4, SIZE)
    sizes = by_hand(model, batch, torch.sum)
    report = hookcli.grads(model, batch, loss="sum")
    first = report.diagnoses[0]
    assert (first.cause, first.target) == ("vanishing_gradient", "0")
    assert 0 < sizes[0] < 1.2e-38
    assert f"to {sizes[0]:.2g} at '0'" in first.sentence
    assert "Sigmoid layers" in first.sentence
    assert "lose precision" in first.sentence


@pytest.mark.parametrize("count", [5, 12, 40])
@pytest.mark.parametrize("activation", [nn.ReLU, nn.GELU, nn.Tanh])
def test_well_initialized_networks_are_not_blamed(count, activation):
    gain = 1.0 if activation is nn.Tanh else 2**0.5
    model = deep(count, activation, gain=gain, seed=count)
    for layer in model[:-1]:
        if isinstance(layer, nn.Linear):  # orthogonal: a product of few random ones still varies
            nn.init.orthogonal_(layer.weight, gain)
    assert causes(hookcli.grads(model, torch.randn(16, SIZE))) == []


def test_large_weights_explode_although_the_gradients_of_weights_are_alike():
    report = hookcli.grads(deep(20, nn.Identity, gain=4.0), torch.randn(4, SIZE))
    weights, biases = profiles(report)
    assert abs(weights.fall) < 1
    assert biases.fall < -4
    assert causes(report)[0] == "exploding_gradient"


def test_a_zero_initialization_is_not_a_vanishing_gradient():
    model = deep(8, nn.ReLU, gain=2**0.5)
    nn.init.zeros_(model[-1].weight)
    report = hookcli.grads(model, torch.randn(16, SIZE))
    assert causes(report) == ["zero_initialization"]
    assert "16 parameters got zero gradients because '16.weight' is zero" in (
        report.diagnoses[0].sentence
    )


def test_weights_that_are_all_zero_never_change():
    model = nn.Sequential(nn.Linear(SIZE, SIZE), nn.ReLU(), nn.Linear(SIZE, 2))
    for layer in (model[0], model[2]):
        nn.init.zeros_(layer.weight)
        nn.init.zeros_(layer.bias)
    first = hookcli.grads(model, torch.randn(4, SIZE)).diagnoses[0]
    assert first.cause == "zero_initialization"
    assert "no gradient changes them" in first.sentence


@settings(max_examples=200, deadline=None)
@given(st.lists(st.floats(-40, 3), min_size=4, max_size=40), st.floats(-5, 5))
def test_the_scale_of_the_loss_does_not_matter(logs, factor):
    one = Profile("weights", ("",) * len(logs), tuple(10**x for x in logs))
    other = Profile("weights", ("",) * len(logs), tuple(10 ** (x + factor) for x in logs))
    assert one.fall == pytest.approx(other.fall, abs=1e-6)
    flipped = Profile("weights", one.names, one.sizes[::-1])
    assert flipped.fall == pytest.approx(-one.fall, abs=1e-6)
    assert flipped.trend == pytest.approx(-one.trend, abs=1e-6)


def test_trend_is_the_rank_correlation():
    """Against the definition by ranks, without ties: 1 - 6 sum d^2 / (n^3 - n)."""
    values = [0.3, 0.1, 2.0, 5.0, 4.0]
    ranks = [sorted(values).index(v) for v in values]
    d = sum((i - r) ** 2 for i, r in enumerate(ranks))
    expected = 1 - 6 * d / (5**3 - 5)
    assert Profile("weights", ("",) * 5, tuple(values)).trend == pytest.approx(expected)


@pytest.mark.parametrize(("scale", "failed"), [(1.0, False), (1e9, True), (1e-12, True)])
def test_the_norm_of_all_gradients(scale, failed):
    model, batch = deep(2, nn.ReLU), torch.randn(4, SIZE)
    report = hookcli.check(model, inputs=batch, loss=lambda y: scale * y.sum(), rules=["grad_norm"])
    row = next(row for row in report.checks if row.rule == "grad_norm")
    (scale * model(batch).sum()).backward()
    total = torch.nn.utils.get_total_norm([p.grad for p in model.parameters()]).item()
    assert row.value == pytest.approx(total, rel=1e-4)
    assert (row.status == "fail") is failed


def test_the_ratio_of_gradient_and_weight():
    model, batch = deep(2, nn.ReLU), torch.randn(4, SIZE)
    report = hookcli.check(
        model, inputs=batch, loss=lambda y: 1e5 * y.sum(), rules=["grad_to_weight"]
    )
    (1e5 * model(batch).sum()).backward()
    wanted = {
        name: p.grad.norm().item() / p.norm().item()
        for name, p in model.named_parameters()
        if p.grad.norm() / p.norm() > 10
    }
    found = {row.target: row.value for row in report.checks if row.status == "fail"}
    assert found == pytest.approx(wanted, rel=1e-4)
    assert found


@pytest.mark.parametrize(
    ("sizes", "rule"),
    [((1e300, 1e200, 1e100, 1e-40), "exploding_gradient"),
     ((1e-40, 1e100, 1e200, 1e300), "vanishing_gradient")],
)  # fmt: skip
def test_gradients_of_float64_may_change_by_more_decades_than_a_float_has(sizes, rule):
    rows = tuple(
        parameter(f"l{i}.weight", (1, 1), grad=stats(size)) for i, size in enumerate(sizes)
    )
    layers = (call(0, "", "Net", None),
              *(call(i + 1, f"l{i}", "Linear", 0) for i in range(len(sizes))))  # fmt: skip
    found = only(rule, report("grads", layers=layers, parameters=rows))
    assert (found.status, found.target) == ("fail", "l0")
    assert found.value == (1e307 if rule == "exploding_gradient" else 1e-307)
    other = {"exploding_gradient", "vanishing_gradient"} - {rule}
    assert only(*other, report("grads", layers=layers, parameters=rows)).status == "pass"


class Window(nn.Module):
    """Attention with a bias of positions, a parameter of the module that calls the layers."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.stem, self.qkv = nn.Linear(SIZE, SIZE), nn.Linear(SIZE, 3 * SIZE)
        self.proj, self.head = nn.Linear(SIZE, SIZE), nn.Linear(SIZE, 2)
        self.places = nn.Parameter(torch.zeros(49, 49))

    def forward(self, x):
        q, k, v = self.qkv(self.stem(x)).chunk(3, -1)
        shares = (q @ k.transpose(-2, -1) / SIZE**0.5 + self.places).softmax(-1)
        return self.head(self.proj(shares @ v).mean(1))


def test_a_parameter_of_a_module_that_calls_layers_has_no_depth():
    report = hookcli.check(Window(), inputs=torch.randn(2, 49, SIZE), rules=["vanishing_gradient"])
    assert "" not in {name for profile in profiles(report) for name in profile.names}
    assert report.checks[0].status == "pass"


def test_biases_before_a_batch_norm_are_not_judged():
    layers = [m for _ in range(4) for m in (nn.Linear(SIZE, SIZE), nn.BatchNorm1d(SIZE), nn.ReLU())]
    report = hookcli.check(nn.Sequential(*layers, nn.Linear(SIZE, 2)), inputs=torch.randn(6, SIZE))
    weights, biases = profiles(report)
    assert (len(weights.names), biases.names) == (5, ())
