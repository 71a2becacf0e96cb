"""The norm of the gradients before `clip_grad_norm_`, beside the one after it, is torch's."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from tests.training.test_loops import watched


def net():
    return nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))


def steps_of(train):
    """The rows of each record."""
    torch.manual_seed(0)
    report, _ = watched(train, steps="0")
    return [record.training.steps for record in report.records]


@pytest.mark.parametrize("given", [lambda m: m.parameters(), lambda m: list(m.parameters())])
def test_it_is_what_clip_grad_norm_returns(given):
    truth = []

    def train():
        model = net()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for step in range(6):
            optimizer.zero_grad()
            model(torch.randn(8, 4)).square().mean().backward()
            if step != 3:
                truth.append(nn.utils.clip_grad_norm_(given(model), 0.2).item())
            optimizer.step()

    [rows] = steps_of(train)
    assert [row.unclipped_norm for row in rows if row.step != 3] == truth
    assert rows[3].unclipped_norm is None
    assert max(row.grad_norm for row in rows if row.step != 3) <= 0.2 * (1 + 1e-6)


def test_what_is_clipped_before_both_steps_is_not_taken_for_each_other():
    def train():
        models = net(), net()
        optimizers = [torch.optim.SGD(m.parameters(), lr=0.1) for m in models]
        for _ in range(4):
            for model, optimizer in zip(models, optimizers, strict=True):
                optimizer.zero_grad()
                model(torch.randn(8, 4)).square().mean().backward()
            for model in models:
                nn.utils.clip_grad_norm_(model.parameters(), 1e-3)
            for optimizer in optimizers:
                optimizer.step()

    (first, second) = steps_of(train)
    assert all(row.unclipped_norm is None for row in first)  # the call before was of the other
    assert all(row.unclipped_norm is not None for row in second)


def test_a_norm_of_more_parameters_than_the_optimizer_s_is_none_of_its():
    def train():
        model, other = net(), net()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for _ in range(4):
            optimizer.zero_grad()
            other.zero_grad()
            (model(torch.randn(8, 4)) * other(torch.randn(8, 4))).square().mean().backward()
            nn.utils.clip_grad_norm_([*model.parameters(), *other.parameters()], 1e-3)
            optimizer.step()

    [rows] = steps_of(train)
    assert all(row.unclipped_norm is None for row in rows)


def test_a_spike_is_seen_through_clipping():
    def train():
        model = net()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        for step in range(60):
            optimizer.zero_grad()
            x = torch.randn(32, 4)
            loss = (model(x) - x.sum(1, keepdim=True) * (1000 if step == 50 else 1)).abs().mean()
            (loss * (1000 if step == 50 else 1)).backward()
            nn.utils.clip_grad_norm_(model.parameters(), 0.01)
            optimizer.step()

    torch.manual_seed(0)
    report, _ = watched(train, steps="0")
    assert [spike.step for spike in report.spikes] == [50]
