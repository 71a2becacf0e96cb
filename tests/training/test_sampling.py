"""What limits the observation in detail: the calls of a step, and the time of all of them."""

from __future__ import annotations

from collections import Counter

import pytest
import torch
from torch import nn

from hookcli.config.load import read_text
from hookcli.config.merge import Flags, spec_of
from hookcli.engine.loop import hooks as loop_hooks
from hookcli.engine.observe.recorder import Recorder
from hookcli.spec.training import TrainingSpec, parse_steps
from hookcli.training import root_watch
from hookcli.training.selection import sampling
from hookcli.training.selection.sampling import Sampling
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
    """Three calls in each forward: the seventh begins the third."""
    monkeypatch.setattr(root_watch, "MOST_CALLS", 7)
    report, _ = watched(accumulated(Alternating()))
    (record,) = report.records
    assert record.training.partly == {0: 2, 1: 2, 2: 2}
    assert record.training.sampled == (0, 1, 2)
    assert [row.forwards for row in record.training.steps] == [6] * 4
    assert record.uncalled == ()  # `last` has run, and nobody saw it
    assert [row.missing for row in record.training.steps[:3]] == [0, 0, 0]
    assert any("3 steps observed in part" in note for note in report.warnings)


class Unrolled(nn.Module):
    """A cell that runs 20 times in each forward."""

    def __init__(self):
        super().__init__()
        self.cell, self.out = nn.Linear(4, 4), nn.Linear(4, 1)

    def forward(self, x):
        for _ in range(20):
            x = self.cell(x).tanh()
        return self.out(x)


@pytest.mark.parametrize("most", [1, 2, 7, 21, 22])
def test_one_forward_with_many_calls_is_observed_in_part(monkeypatch, most):
    """The calls that are observed, and their gradients, are those of hooks by hand."""
    monkeypatch.setattr(root_watch, "MOST_CALLS", most)
    torch.manual_seed(0)
    net = Unrolled()
    states = [{k: v.clone() for k, v in net.state_dict().items()}]

    def train():
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(4):
            optimizer.zero_grad()
            net(torch.ones(2, 4)).square().mean().backward()
            optimizer.step()
            states.append({k: v.clone() for k, v in net.state_dict().items()})

    spec = spec_of("grads", read_text("{preset: grads}", "run.yaml"), Flags(model="train.py"))
    report, _ = watched(train, spec)
    (record,) = report.records
    plain = Unrolled()
    norms = gradients_by_hand(plain, states[0])
    complete = most > 22  # the root, 20 cells and the last layer
    assert record.training.partly == (None if complete else dict.fromkeys(range(3), 0))
    rows = [row for row in record.layers if row.name]
    assert [(row.name, row.call) for row in rows] == [*norms][: most - 1]
    told = {(row.name, row.call): row.outputs[0].grad["norm"] for row in rows}
    expected = {key: norms[key] for key in [*norms][: most - 1]}
    assert told == pytest.approx(expected, rel=1e-5)
    for name, value in train_by_hand(plain, 4).items():
        assert torch.equal(value, states[-1][name])


@pytest.mark.parametrize(
    ("most", "slow", "partly"),
    [
        (1e6, 0.0, None),
        (4.0, 0.0, {0: 0}),
        (4.0, 1e3, None),  # the forward takes much longer than its observation
    ],
)
def test_the_observation_of_a_step_has_a_limit_in_time(monkeypatch, most, slow, partly):
    """Each call takes a second to observe; the clock stands still otherwise."""
    now = 0.0
    enter = Recorder.enter

    def slow_enter(*given):
        nonlocal now
        now += 1.0
        return enter(*given)

    monkeypatch.setattr(Recorder, "enter", slow_enter)
    monkeypatch.setattr(loop_hooks, "perf_counter", lambda: now)
    monkeypatch.setattr(root_watch, "MOST_SECONDS", most)

    class Slow(Unrolled):
        def forward(self, x):
            nonlocal now
            now += slow
            return super().forward(x)

    net = Slow()

    def train():
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(4):
            optimizer.zero_grad()
            net(torch.ones(2, 4)).square().mean().backward()
            optimizer.step()

    report, _ = watched(train)
    (record,) = report.records
    assert record.training.partly == partly
    assert len(record.layers) == (22 if partly is None else 6)  # the sixth ends it


class Halves(nn.Module):
    """A root that calls itself, as a tree does."""

    def __init__(self):
        super().__init__()
        self.leaf = nn.Linear(4, 4)

    def forward(self, x, depth=3):
        if not depth:
            return self.leaf(x)
        return self(x, depth - 1) + self(x * 0.5, depth - 1)


@pytest.mark.parametrize(("most", "partly"), [(10, 0), (23, 0), (24, 1), (100, None)])
def test_a_root_that_calls_itself_has_one_forward(monkeypatch, most, partly):
    """Each forward has 15 calls of the root and 8 of the leaf."""
    monkeypatch.setattr(root_watch, "MOST_CALLS", most)
    net = Halves()

    def train():
        optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
        for _ in range(2):
            optimizer.zero_grad()
            (net(torch.ones(2, 4)) + net(torch.ones(2, 4))).square().mean().backward()
            optimizer.step()

    report, _ = watched(train)
    (record,) = report.records
    assert [row.forwards for row in record.training.steps] == [2, 2]
    assert record.training.partly == (None if partly is None else {0: partly, 1: partly})


def gradients_by_hand(net, state):
    """The norm of the gradient of each output, by (name, call), from hooks that torch has."""
    net.load_state_dict(state)
    found, calls = {}, Counter()

    def note(name):
        def hook(_module, _args, output):
            key = name, calls[name]
            calls[name] += 1
            found[key] = None
            output.register_hook(lambda grad: found.update({key: grad.norm().item()}))

        return hook

    handles = [module.register_forward_hook(note(name)) for name, module in net.named_children()]
    net(torch.ones(2, 4)).square().mean().backward()
    for handle in handles:
        handle.remove()
    return found


def train_by_hand(net, steps):
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(steps):
        optimizer.zero_grad()
        net(torch.ones(2, 4)).square().mean().backward()
        optimizer.step()
    return net.state_dict()


def test_without_the_limit_all_forwards_are_observed(monkeypatch):
    monkeypatch.setattr(root_watch, "MOST_CALLS", 7)
    spec = TrainingSpec(parse_steps("all", ""))
    assert not sampling.is_limited(spec)
    net = Alternating()
    report, _ = watched(accumulated(net), steps="all")
    assert report.records[0].training.partly is None


def test_forwards_that_wait_for_a_backward_pass_are_observed(monkeypatch):
    """All forwards of a step, and one backward pass: the gradients of all calls are seen."""
    monkeypatch.setattr(root_watch, "MOST_CALLS", 16)
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


def test_the_last_step_is_observed_whatever_is_selected(monkeypatch):
    monkeypatch.setattr(sampling.time, "perf_counter", lambda: 0.0)
    spec = TrainingSpec(parse_steps("0,every:4", ""), max_steps=10)
    assert [step for step in range(12) if sampling.is_selected(spec, step)] == [0, 4, 8, 9]
    chosen = Sampling(spec)
    chosen.took(1.0, sampled=False)
    chosen.took(100.0, sampled=True)  # too long: no step of `every` is observed any more
    assert [step for step in range(10) if chosen.is_sampled(step, 0.0)] == [0, 9]
