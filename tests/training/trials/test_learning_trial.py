"""Steps on one batch in a copy of the process, next to the same steps in plain PyTorch."""

from __future__ import annotations

import math

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from tests.rules.training.test_script_mistakes import findings, first, judged


def net_of(outputs=4):
    return nn.Sequential(
        nn.Linear(20, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, outputs)
    )


class Training:
    """A classifier that is trained on batches of the same 256 samples."""

    def __init__(self, rate, steps=70, *, kind=torch.optim.SGD, rate_of=None, shuffled=False):
        self.rate, self.steps, self.kind, self.shuffled = rate, steps, kind, shuffled
        self.rate_of = rate_of or (lambda _: rate)
        self.batches, self.net, self.values = [], None, None

    def __call__(self):
        torch.manual_seed(1)
        self.net = net = net_of()
        self.values = [p.detach().clone() for p in net.parameters()]
        samples = torch.randn(256, 20)
        labels = samples[:, :4].argmax(1)
        if self.shuffled:
            labels = labels[torch.randperm(256)]
        optimizer = self.kind(net.parameters(), lr=self.rate)
        for step in range(self.steps):
            optimizer.param_groups[0]["lr"] = self.rate_of(step)
            picked = torch.randint(0, 256, (32,))
            self.batches.append((samples[picked], labels[picked]))
            optimizer.zero_grad()
            F.cross_entropy(net(samples[picked]), labels[picked]).backward()
            optimizer.step()


def trial(report):
    [record] = report.records
    return next((m.value for m in record.measurements if m.probe == "batch_trial"), None)


def by_hand(training, at, rate, count=20):
    """The losses of steps on the batch of a step, from the first values."""
    net = net_of()
    with torch.no_grad():
        for parameter, value in zip(net.parameters(), training.values, strict=True):
            parameter.copy_(value)
    optimizer = training.kind(net.parameters(), lr=rate)
    x, y = training.batches[at]
    losses = []
    for _ in range(count):
        loss = F.cross_entropy(net(x), y)
        losses.append(loss.item())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return [*losses, F.cross_entropy(net(x), y).item()]


@pytest.mark.parametrize("kind", [torch.optim.SGD, torch.optim.Adam])
def test_the_losses_are_those_of_plain_pytorch(kind):
    training = Training(20.0 if kind is torch.optim.SGD else 5.0, kind=kind)
    found = trial(judged(training))
    assert found["steps"] == 20 and found["guess"] == math.log(4) and len(found["tries"]) > 1
    for one in found["tries"]:
        losses = by_hand(training, found["step"], one["lr"])
        assert math.isclose(one["first"], losses[0], rel_tol=1e-5)
        if all(map(math.isfinite, losses)) and max(losses) < 100:
            assert math.isclose(one["last"], sum(losses[-3:]) / 3, rel_tol=0.01), one
    assert any(one["last"] != "nan" and one["last"] < 0.5 for one in found["tries"][1:])


def test_a_rate_that_is_too_high_is_named_with_one_that_is_not():
    report = judged(Training(5.0))
    [message] = findings(report, "loss_falls")
    assert message.startswith("the learning rate of 5 is too high: 20 steps on one batch at 0.5 ")
    assert first(report).startswith("the learning rate of 5 is too high")
    assert report.diagnoses[0].advice == "lower the learning rate: try 0.5"


def test_a_rate_that_is_too_high_is_found_after_twenty_steps():
    [message] = findings(judged(Training(3.0, steps=30)), "loss_falls")
    assert "is too high" in message


def test_a_rate_that_is_too_low_is_named_with_one_that_is_not():
    training = Training(1e-3, steps=70)
    [message] = findings(judged(training), "loss_falls")
    assert "is too low: 20 steps on one batch at 1 lower" in message


def test_labels_that_cannot_be_learned_are_no_matter_of_the_rate():
    report = judged(Training(0.1, steps=200, shuffled=True))
    assert trial(report) is not None
    assert "rate" not in " ".join(findings(report, "loss_falls"))


@pytest.mark.parametrize(
    "training",
    [Training(0.3, steps=120), Training(1e-2, steps=120, kind=torch.optim.Adam)],
    ids=["SGD", "Adam"],
)
def test_a_training_whose_loss_falls_makes_no_try(training):
    report = judged(training)
    assert trial(report) is None
    assert findings(report, "loss_falls") == []


def test_a_rate_that_still_rises_is_not_judged():
    training = Training(0.5, steps=100, rate_of=lambda step: 1e-5 if step < 65 else 0.5)
    report = judged(training)
    assert trial(report) is not None
    assert "too low" not in " ".join(findings(report, "loss_falls"))


def test_two_optimizers_in_turn_make_no_try():
    def train():
        nets = [net_of(), net_of()]
        optimizers = [torch.optim.SGD(one.parameters(), lr=9.0) for one in nets]
        for _ in range(70):
            for net, optimizer in zip(nets, optimizers, strict=True):
                optimizer.zero_grad()
                F.cross_entropy(net(torch.randn(8, 20)), torch.randint(0, 4, (8,))).backward()
                optimizer.step()

    report = judged(train)
    assert all(m.probe != "batch_trial" for one in report.records for m in one.measurements)


def test_a_try_leaves_the_training_as_it_is():
    watched, plain = Training(5.0), Training(5.0)
    assert trial(judged(watched)) is not None
    torch.manual_seed(0)
    plain()
    for one, other in zip(watched.net.parameters(), plain.net.parameters(), strict=True):
        assert torch.equal(one, other)


def test_what_the_script_clips_is_clipped_in_a_try_too():
    """At this rate the model learns only with clipping: its tries without would say too high."""

    class Clipped(Training):
        def __call__(self):
            torch.manual_seed(1)
            net = net_of()
            optimizer = torch.optim.SGD(net.parameters(), lr=self.rate)
            for _ in range(self.steps):
                x = torch.randn(32, 20)
                labels = torch.randint(0, 4, (32,))
                optimizer.zero_grad()
                F.cross_entropy(net(x), labels).backward()
                nn.utils.clip_grad_norm_(net.parameters(), 1e-2)
                optimizer.step()

    found = trial(judged(Clipped(20.0)))
    own = found["tries"][0]
    assert own["last"] < 0.8 * own["first"]
