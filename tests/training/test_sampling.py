"""What limits the observation in detail: the calls of a step, and the time of all of them."""

from __future__ import annotations

import torch
from torch import nn

from hookcli.spec.training import TrainingSpec, parse_steps
from hookcli.training import root_watch, sampling
from hookcli.training.sampling import Sampling
from tests.training.test_loops import watched


class Alternating(nn.Module):
    """Its second half runs in the last forward of a step only."""

    def __init__(self):
        super().__init__()
        self.first, self.last = nn.Linear(4, 4), nn.Linear(4, 4)
        self.calls = 0

    def forward(self, x):
        self.calls += 1
        return self.last(x) if self.calls % 6 == 0 else self.first(self.first(x))


def accumulated(net, steps=4):
    def train():
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(steps):
            optimizer.zero_grad()
            for _ in range(6):
                net(torch.ones(2, 4)).square().mean().backward()
            optimizer.step()

    return train


def test_a_step_with_many_calls_is_observed_in_part(monkeypatch):
    """Three calls in each forward: the fourth begins after nine."""
    monkeypatch.setattr(root_watch, "MOST_CALLS", 7)
    report, _ = watched(accumulated(Alternating()))
    (record,) = report.records
    assert record.training.partly == {0: 3, 1: 3, 2: 3}
    assert record.training.sampled == (0, 1, 2)
    assert [row.forwards for row in record.training.steps] == [6] * 4
    assert record.uncalled == ()  # `last` has run, and nobody saw it
    assert [row.missing for row in record.training.steps[:3]] == [0, 0, 0]
    assert any("3 steps observed in part" in note for note in report.warnings)


def test_without_the_limit_all_forwards_are_observed(monkeypatch):
    monkeypatch.setattr(root_watch, "MOST_CALLS", 7)
    spec = TrainingSpec(parse_steps("all", ""))
    assert not sampling.is_limited(spec)
    net = Alternating()
    report, _ = watched(accumulated(net), steps="all")
    assert report.records[0].training.partly is None


def test_forwards_that_wait_for_a_backward_pass_are_observed(monkeypatch):
    """All forwards of a step, and one backward pass: the gradients of all calls are seen."""
    monkeypatch.setattr(root_watch, "MOST_CALLS", 2)
    net = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 1))

    def train():
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(2):
            optimizer.zero_grad()
            sum(net(torch.ones(2, 4)).mean() for _ in range(5)).backward()
            optimizer.step()

    report, _ = watched(train)
    assert report.records[0].training.partly is None


def test_samples_are_omitted_when_they_have_taken_too_long(monkeypatch):
    """By a clock of the test: a sample takes 5 s longer than the second of other steps."""
    now = 0.0
    monkeypatch.setattr(sampling.time, "perf_counter", lambda: now)
    chosen = Sampling(TrainingSpec(parse_steps("0-1,every:5", "")))
    seen = []
    for step in range(100):
        is_sampled = chosen.is_sampled(step, 0.0)
        assert chosen.is_sampled(step, 0.0) is is_sampled
        now += 6 if is_sampled else 1
        chosen.took(6 if is_sampled else 1, sampled=is_sampled)
        seen += [step] * is_sampled
    # More than 1 + 0.1 * time after each: 10 s until 90 s have passed.
    assert seen == [0, 1, 80]
    assert chosen.omitted == 20 - 1 - 1


def test_steps_that_are_named_are_not_omitted(monkeypatch):
    monkeypatch.setattr(sampling.time, "perf_counter", lambda: 0.0)
    for text in ("0-9", "all", "3,every:1"):
        chosen = Sampling(TrainingSpec(parse_steps(text, "")))
        chosen.took(1.0, sampled=False)
        for step in range(10):
            assert chosen.is_sampled(step, 0.0) is (step == 3 if text == "3" else True)
            chosen.took(100.0, sampled=True)
        assert chosen.omitted == 0
