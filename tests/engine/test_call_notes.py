"""What keeps hooks from firing is said, where it happens."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.func import functional_call

import hookcli


class Direct(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(4, 4)
        self.b = nn.Linear(4, 2)

    def forward(self, x):
        return self.b(self.a.forward(x))


class Frozen(nn.Module):
    def __init__(self):
        super().__init__()
        self.back = nn.Linear(4, 4)
        self.head = nn.Linear(4, 2)

    def forward(self, x):
        with torch.no_grad():
            x = self.back(x)
        return self.head(x)


class Mapped(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 2)

    def forward(self, x):
        return torch.vmap(self.fc)(x)


class Functional(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 2)

    def forward(self, x):
        double = {name: 2 * p for name, p in self.fc.named_parameters()}
        return functional_call(self.fc, double, (x,))


class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(5, 4)
        self.head = nn.Linear(4, 5, bias=False)
        self.head.weight = self.embed.weight

    def forward(self, x):
        return self.embed(x) @ self.embed.weight.T


def notes(report, name):
    return next(row.notes for row in report.layers if row.name == name)


@pytest.mark.parametrize("run", [hookcli.inspect, hookcli.grads, hookcli.trace])
def test_a_forward_that_is_called_directly_is_said(run):
    report = run(Direct(), torch.randn(3, 4))
    assert any(w.startswith("hooks on a do not fire:") for w in report.warnings)


@pytest.mark.parametrize("run", [hookcli.inspect, hookcli.grads])
def test_an_idle_layer_and_a_tied_weight_are_not_taken_for_one(run):
    model = Frozen()
    model.idle = nn.Linear(2, 2)
    assert not run(model, torch.randn(3, 4)).warnings
    assert not run(Tied(), torch.tensor([1, 2])).warnings
    assert not run(nn.TransformerEncoderLayer(4, 2, 8), torch.randn(3, 1, 4)).warnings


def test_a_call_under_no_grad_is_noted_where_gradients_are_wanted():
    assert any("no_grad" in n for n in notes(hookcli.grads(Frozen(), torch.randn(3, 4)), "back"))
    assert not notes(hookcli.inspect(Frozen(), torch.randn(3, 4)), "back")


def test_a_call_inside_a_transform_is_noted():
    report = hookcli.inspect(Mapped(), torch.randn(3, 4))
    assert any("function transform" in n for n in notes(report, "fc"))


def test_a_call_with_other_parameters_is_noted():
    report = hookcli.grads(Functional(), torch.randn(3, 4))
    assert any("parameters other than its own" in n for n in notes(report, "fc"))


def test_a_compiled_model_is_said_to_run_as_written():
    model = torch.compile(nn.Sequential(nn.Linear(4, 2)), backend="eager")
    report = hookcli.trace(model, torch.randn(3, 4))
    assert any("torch.compile" in w for w in report.warnings)
    assert any(event.target.endswith("0") for event in report.events)
