"""Steps that are not watched: what is told of the others is true, and nothing is accused."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from hookcli.rules.catalogue import with_training_set
from hookcli.rules.judge_training import all_checks, judge_training
from hookcli.spec.training import TrainingSpec, parse_steps
from hookcli.training.selection import rests
from hookcli.training.selection.rests import WINDOW, Rests
from hookcli.training.steps import Steps, TrainingStep
from tests.training.test_loops import watched


@pytest.fixture
def small(monkeypatch):
    """A step takes a fifth longer if it is watched, whatever the machine does: one in four is."""
    monkeypatch.setattr(rests, "FREE", 0.0)
    monkeypatch.setattr(rests, "_time_of", lambda steps: 1.2e-4)
    monkeypatch.setattr(Rests, "rested", lambda self, durations: setattr(self, "_plain", 1e-4))


def perceptron():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Dropout(0.1), nn.Linear(8, 1))


def loop(net, count=1200, between=lambda optimizer, step: optimizer, rate=0.01):
    def train():
        optimizer = torch.optim.SGD(net.parameters(), lr=rate)
        for step in range(count):
            optimizer.zero_grad()
            batch = torch.randn(8, 4)
            (net(batch) - batch.sum(1, keepdim=True)).square().mean().backward()
            optimizer.step()
            optimizer = between(optimizer, step)

    return train


def complained(report):
    judged = judge_training(report, with_training_set(()))
    return [row.message for row in all_checks(judged) if row.status == "fail"]


def test_what_is_watched_is_what_happened(small):
    """Rows, weights and the number of steps are those of the loop when every step is watched."""
    whole, part = perceptron(), perceptron()
    with torch.random.fork_rng():
        everything, _ = watched(loop(whole), steps="all")
    with torch.random.fork_rng():
        report, _ = watched(loop(part), steps="0-2,every:300")
    (record,), (truth,) = report.records, everything.records
    training = record.training
    assert training.total == 1200
    assert training.unwatched == 1200 - len(training.steps) > 600
    assert training.sampled == (0, 1, 2, 300, 600, 900)
    rows = {row.step: row for row in truth.training.steps}
    for row in training.steps:
        assert (row.loss, row.grad_norm, row.lr) == (
            rows[row.step].loss, rows[row.step].grad_norm, rows[row.step].lr,
        )  # fmt: skip
        assert (row.forwards, row.backwards) == (1, 1)
    for mine, theirs in zip(part.parameters(), whole.parameters(), strict=True):
        assert torch.equal(mine, theirs)
    assert any("not watched, to save time" in note for note in report.warnings)
    assert truth.training.unwatched is None
    assert not complained(report)


def test_windows_begin_at_multiples_of_a_power_of_two(small):
    report, _ = watched(loop(perceptron()), steps="0")
    steps = [row.step for row in report.records[0].training.steps]
    later = [step for step in steps if step >= 4 * WINDOW]
    assert later[:WINDOW] == list(range(512, 512 + WINDOW))
    assert all(step % 512 < WINDOW for step in later)


def test_the_last_steps_are_watched_if_their_number_is_known(small):
    report, ended = watched(loop(perceptron()), max_steps=1000)
    assert ended == "max_steps"
    assert report.records[0].training.total == 1000
    assert report.records[0].training.steps[-1].step == 999


def test_a_schedule_between_watched_steps_is_counted(small):
    schedules = []

    def between(optimizer, step):
        if not schedules:
            schedules.append(torch.optim.lr_scheduler.StepLR(optimizer, 2, gamma=0.9))
        if step % 256 == 200:  # never in a window
            schedules[0].step()
        return optimizer

    report, _ = watched(loop(perceptron(), between=between))
    (fact,) = [one for one in report.facts if one.kind == "schedule"]
    assert (fact.values["calls"], fact.values["steps"]) == (4, 1200)
    assert not complained(report)


def test_a_new_optimizer_is_watched(small):
    """Nothing rests any more: whose steps the next ones are is not known."""

    def between(optimizer, step):
        if step == 600:
            return torch.optim.Adam(list(optimizer.param_groups[0]["params"]), lr=1e-4)
        return optimizer

    report, _ = watched(loop(perceptron(), between=between))
    names = {record.training.optimizer.type: record.training for record in report.records}
    assert names["Adam"].unwatched is None
    assert names["SGD"].total + names["Adam"].total == 1199  # one may tell that there is a new one
    assert names["Adam"].total == len(names["Adam"].steps)
    assert not complained(report)


def test_an_optimizer_around_another_one(small):
    class Lookahead(torch.optim.Optimizer):
        def __init__(self, inner):
            self.inner = inner
            super().__init__(inner.param_groups, {})

        def step(self, closure=None):
            return self.inner.step()

    def train():
        net = perceptron()
        optimizer = Lookahead(torch.optim.SGD(net.parameters(), lr=0.01))
        for _ in range(1000):
            optimizer.zero_grad()
            net(torch.randn(8, 4)).square().mean().backward()
            optimizer.step()

    report, _ = watched(train)
    (record,) = report.records
    assert record.training.total == 1000
    assert record.training.unwatched


def test_steps_inside_a_call_are_always_watched(small):
    """A model that trains itself in its forward, as in adaptation at test time."""

    class Adapting(nn.Module):
        def __init__(self):
            super().__init__()
            self.net = perceptron()
            self.optimizer = torch.optim.SGD(self.net.parameters(), lr=0.01)

        def forward(self, x):
            self.optimizer.zero_grad()
            self.net(x).square().mean().backward()
            self.optimizer.step()
            return self.net(x)

    def train():
        model = Adapting()
        for _ in range(300):
            model(torch.ones(8, 4))

    report, _ = watched(train)
    assert report.records[0].training.total == 300
    assert report.records[0].training.unwatched is None


@pytest.mark.parametrize(
    "training",
    [
        {"steps": "all"},
        {"steps": "0", "stop_on": "nonfinite"},
        {"steps": "0", "stop_on": "finding"},
    ],
    ids=str,
)
def test_runs_that_watch_every_step(small, training):
    report, _ = watched(loop(perceptron(), 300), **training)
    assert report.records[0].training.unwatched is None


def test_two_optimizers_are_always_watched(small):
    def train():
        one, other = perceptron(), perceptron()
        optimizers = [torch.optim.SGD(net.parameters(), lr=0.01) for net in (one, other)]
        for _ in range(300):
            for net, optimizer in zip((one, other), optimizers, strict=True):
                optimizer.zero_grad()
                net(torch.ones(8, 4)).square().mean().backward()
                optimizer.step()

    report, _ = watched(train)
    assert [record.training.unwatched for record in report.records] == [None, None]


def steps_that_took(seconds, count):
    steps = Steps()
    for _ in range(count):
        step = TrainingStep(0, 1, 1, 0.0, 0.0, 0.1)
        steps.add(step)
        step.began, step.ended = 0.0, seconds
    return steps


@pytest.mark.parametrize(
    ("seconds", "count", "rests_first"),
    [(1e-3, 1024, True), (1e-3, 960, False), (1e-3, 1025, False), (2e-3, 6400, False)],
)
def test_when_steps_rest_first(seconds, count, rests_first):
    """After a second, at a multiple of 64, and if the steps are smaller than 1.5 ms."""
    schedule = Rests(TrainingSpec(parse_steps("0", "")))
    until = schedule.until(steps_that_took(seconds, count))
    assert until == (count + WINDOW if rests_first else None)


def test_watching_that_costs_little_goes_on():
    schedule = Rests(TrainingSpec(parse_steps("0", "")))
    steps = steps_that_took(1e-3, 1024)
    assert schedule.until(steps) == 1024 + WINDOW
    schedule.rested([0.97e-3] * WINDOW)
    for _ in range(20):
        for _ in range(WINDOW):
            step = TrainingStep(0, 1, 1, 0.0, 0.0, 0.1)
            steps.add(step)
            step.began, step.ended = 0.0, 1e-3
            assert schedule.until(steps) is None
