"""A module's own share of its input's gradient: its terms, their sum, and what it costs torch."""

from __future__ import annotations

import pytest
import torch
from torch import nn

import hookcli
from hookcli.engine.statistics import statistics

from .running import finished, hook


class Uses(nn.Module):
    """Uses its input so many times."""

    def __init__(self, times, through=None):
        super().__init__()
        self.weights = nn.Parameter(torch.linspace(0.5, 1.5, times))
        self.through = through or nn.Identity()

    def forward(self, x):
        return torch.stack([(self.through(x) * weight).tanh() for weight in self.weights]).sum(0)


class Net(nn.Module):
    """x is used by `uses`, before it and after it."""

    def __init__(self, uses):
        super().__init__()
        self.first = nn.Linear(128, 128)
        self.uses = uses

    def forward(self, x):
        x = self.first(x)
        return x.cos() + self.uses(x) + x.exp()


BATCH = torch.linspace(-1, 1, 256 * 128).view(256, 128)


def by_hand(net):
    """What a full backward hook is given: every use of the input between entry and exit."""
    found = []
    handle = net.uses.register_full_backward_hook(lambda _m, gi, _go: found.append(gi[0].clone()))
    net(BATCH).sum().backward()
    handle.remove()
    net.zero_grad()
    return found[0]


@pytest.mark.parametrize("times", [1, 2, 3, 5])
@pytest.mark.parametrize("how", [{}, {"create_graph": True}, {"times": 2, "retain_graph": True}])
def test_a_share_is_what_a_full_backward_hook_gets(times, how):
    net = Net(Uses(times))
    truth = by_hand(net)
    for action in (("stats", "norm"), ("stats", None), "record"):
        events = finished(net, BATCH, [hook("node", "uses:input", action)], **how).events
        assert len(events) == how.get("times", 1)
        for event in events:
            assert event.values[0][1:3] == ((256, 128), "float32")
            if action == "record":
                assert event.stats is None
                continue
            assert event.stats[0]["norm"] == pytest.approx(truth.norm().item(), rel=1e-5)
            if action[1] is None:
                assert event.stats[0]["mean"] == pytest.approx(truth.mean().item(), rel=1e-4)
                assert event.stats[0]["max"] == pytest.approx(truth.max().item(), rel=1e-5)


@pytest.mark.parametrize(
    ("through", "dtype"),
    [
        (lambda x: x.half(), "float32"),
        (lambda x: x.t().contiguous().t(), "float32"),
        (lambda x: x.to(torch.complex64).abs(), "float32"),
        (lambda x: x.mean().expand(256, 128), "float32"),
        (lambda x: x[:, ::2].repeat(1, 2), "float32"),
        (lambda x: x * torch.tensor(float("inf")), "float32"),
    ],
)
def test_terms_of_any_layout_add_up(through, dtype):
    class Through(nn.Module):
        def forward(self, x):
            return through(x).float()

    net = Net(Uses(2, Through()))
    truth = by_hand(net)
    (event,) = finished(net, BATCH, [hook("node", "uses:input", ("stats", "norm"))]).events
    assert event.values[0][2] == dtype
    expected = pytest.approx(truth.norm().item(), rel=1e-5, nan_ok=True)
    assert event.stats[0]["norm"] == expected
    assert event.stats[0]["nans"] == truth.isnan().sum()


class Written(nn.Module):
    """A residual block, whose input's gradient is the sum of two."""

    def __init__(self):
        super().__init__()
        self.block = nn.Sequential(nn.Linear(128, 128), nn.Tanh())

    def forward(self, x):
        return x + self.block(x)


def writes(net, **attach):
    """How often torch wrote each of the gradients that come between the blocks, as it added."""
    found = []

    def onto_output(_module, _args, output):
        output.register_hook(lambda gradient: found.append(gradient._version))

    handles = [layer.register_forward_hook(onto_output) for layer in net[:-1]]
    with hookcli.attach(net, **attach) if attach else torch.enable_grad():
        net(BATCH).sum().backward()
    for handle in handles:
        handle.remove()
    net.zero_grad()
    return found


@pytest.mark.parametrize("command", ["grads", "trace", "inspect"])
def test_torch_still_adds_in_place(command):
    net = nn.Sequential(*(Written() for _ in range(4)))
    bare = writes(net)
    assert any(bare)
    assert writes(net, command=command) == bare


def test_a_container_and_its_first_layer_share_one_measurement(monkeypatch):
    measured, own = [], statistics.norm_of_sum
    monkeypatch.setattr(
        statistics, "norm_of_sum", lambda a, b: measured.append(a.shape) or own(a, b)
    )
    net = nn.Sequential(nn.Linear(128, 128), nn.Sequential(nn.Sequential(Written()), Written()))
    asked = [hook("node", f"{name}:input", ("stats", "norm")) for name in ("1", "1.0", "1.0.0")]
    events = finished(net, BATCH, asked).events
    assert len({event.stats[0]["norm"] for event in events}) == 1 < len(events)
    assert len(measured) == 1
    truth = Net(Written())
    truth.first, truth.uses = net[0], net[1]
    assert events[0].stats[0]["norm"] == pytest.approx(by_hand(truth).norm().item(), rel=1e-5)
