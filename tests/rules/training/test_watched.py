"""Trainings in plain PyTorch, watched as `hookcli run` does: mistakes are found, and told first.

`python -m benchmarks.proof.training_alarms` runs all of them.
"""

from __future__ import annotations

import pytest
import torch
from torch import nn

from benchmarks.proof.training_alarms import result_of
from benchmarks.proof.trainings import faulty, healthy
from hookcli.rules.catalogue import with_training_set
from hookcli.rules.judge_training import judge_training
from tests.training.test_loops import watched

FAULTY = {
    "no zero grad": "zero_grad is never called",
    "optimizer of the model before a copy": "none of the 4 parameters of Adam gets a gradient",
    "layer after the optimizer": "'3.weight', '3.bias' are trainable, but in no optimizer",
    "weights that are loaded again": "'0.weight', '0.bias' do not change in steps 0 to 100",
    "diverges to nan": "step 3",
}
HEALTHY = ("gan", "experts that are not always used", "grad scaler that finds its scale")


@pytest.mark.parametrize("name", FAULTY)
def test_a_mistake_is_the_first_sentence(name):
    train, rules = faulty.CASES[name]
    found = result_of(name, train, 0, rules)
    assert found.is_found
    assert FAULTY[name] in found.sentences[0]


@pytest.mark.parametrize("name", HEALTHY)
def test_a_healthy_training_has_no_finding(name):
    found = result_of(name, healthy.CASES[name], 1)
    assert [row for row in found.rows if row.status == "fail"] == []
    assert found.sentences == ()


@pytest.mark.parametrize("frozen_out", [False, True])
def test_what_is_trained_at_other_steps_is_not_accused(frozen_out):
    """The expert gets a gradient at step 1 only, which is not sampled; a spare one never."""
    net = nn.ModuleList([nn.Linear(4, 4), nn.Linear(4, 4), nn.Linear(4, 1)])

    def script():
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for step in range(3):
            optimizer.zero_grad()
            h = net[0](torch.randn(8, 4))
            h = h + net[1](h) if step == 1 and not frozen_out else h
            (net[2](h) - 1).square().mean().backward()
            optimizer.step()

    report = watched(script, steps="0,2")[0]
    (record,) = judge_training(report, with_training_set(())).records
    found = {row.rule for row in record.checks if row.status == "fail"}
    assert bool(found & {"grad_exists", "uncalled_modules", "unchanged_parameters"}) is frozen_out


@pytest.mark.parametrize("optimizer", [torch.optim.Adam, torch.optim.SGD])
def test_a_small_gradient_that_adam_scales_up_does_not_vanish(optimizer):
    layers = [layer for _ in range(12) for layer in (nn.Linear(8, 8), nn.Sigmoid())]
    net = nn.Sequential(*layers, nn.Linear(8, 1)).double()

    def script():
        steps = optimizer(net.parameters(), lr=0.01)
        if "eps" in steps.defaults:
            steps.param_groups[0]["eps"] = 0.0
        for _ in range(3):
            steps.zero_grad()
            net(torch.randn(8, 8, dtype=torch.float64)).square().mean().backward()
            steps.step()

    (record,) = judge_training(watched(script)[0], with_training_set(())).records
    failed = {row.rule for row in record.checks if row.status == "fail"}
    assert ("vanishing_gradient" in failed) is (optimizer is torch.optim.SGD)


def test_a_bias_whose_gradients_cancel_is_not_accused():
    """A critic's loss is a difference: its last bias has no effect."""
    net = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 1))

    def script():
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(3):
            optimizer.zero_grad()
            (net(torch.randn(8, 4)).mean() - net(torch.randn(8, 4)).mean()).backward()
            assert not net[2].bias.grad.any()
            optimizer.step()

    (record,) = judge_training(watched(script)[0], with_training_set(())).records
    assert not [row.message for row in record.checks if row.status == "fail"]
