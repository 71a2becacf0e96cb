"""The settings of every step: rates that collapse or grow, and layers that are unfrozen."""

from __future__ import annotations

import math

import pytest
import torch
from torch import nn
from torch.optim import lr_scheduler

from tests.rules.training.test_script_mistakes import findings, first, judged


def training(steps, *, schedule=None, before=None, lr=0.1, epoch=1):
    """A training of two layers; `schedule(optimizer)` steps each `epoch` steps."""

    def train():
        net = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
        if before is not None:
            net[0].requires_grad_(False)
        optimizer = torch.optim.SGD([p for p in net.parameters() if p.requires_grad], lr=lr)
        made = None if schedule is None else schedule(optimizer)
        for step in range(steps):
            if before is not None:
                before(net, optimizer, step)
            x = torch.randn(8, 4)
            optimizer.zero_grad()
            (net(x) - x[:, :1]).square().mean().backward()
            optimizer.step()
            if made is not None and (step + 1) % epoch == 0:
                made.step()

    return train


def settings(report):
    return report.records[0].training.settings


# Learning rates


def test_a_rate_that_collapses_early_is_found_though_most_steps_had_another():
    report = judged(training(130, schedule=lambda o: lr_scheduler.ExponentialLR(o, 0.1), epoch=10))
    # after 9 epochs the rate is 0.1 * 0.1**9 = 1e-10, the first below 1e-8 * 0.1
    assert first(report) == (
        "the learning rate falls from 0.1 at step 0 to 1e-10 at step 90: 40 of 130 steps change "
        "nothing"
    )
    assert [step for step, _ in settings(report).rates] == list(range(0, 130, 10))


def test_the_rate_of_one_group_collapses_and_that_of_the_other_does_not():
    def train():
        net = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
        groups = [{"params": net[0].parameters()}, {"params": net[2].parameters()}]
        optimizer = torch.optim.SGD(groups, lr=0.01)
        for step in range(60):
            optimizer.param_groups[1]["lr"] = 0.01 if step < 40 else 1e-14
            optimizer.zero_grad()
            net(torch.randn(8, 4)).square().mean().backward()
            optimizer.step()

    message = "the learning rate of group 1 falls from 0.01 at step 0 to 1e-14 at step 40"
    assert findings(judged(train), "learning_rate") == [f"{message}: 20 of 60 steps change nothing"]


def test_a_rate_that_grows_explains_values_that_are_not_finite():
    report = judged(
        training(80, schedule=lambda o: lr_scheduler.ExponentialLR(o, 10.0), lr=1e-4, epoch=10)
    )
    sentence, _, after = first(report).partition("; ")
    assert sentence == "the learning rate grows from 0.0001 at step 0 to 1 at step 40"
    assert after.endswith("values are not finite")


@pytest.mark.parametrize(
    ("lr", "schedule"),
    [
        (0.1, lambda o: lr_scheduler.CosineAnnealingLR(o, 60)),
        (0.1, lambda o: lr_scheduler.OneCycleLR(o, 0.5, total_steps=61, div_factor=1e5)),
        (0.1, lambda o: lr_scheduler.CosineAnnealingWarmRestarts(o, 20)),
        (1.0, lambda o: lr_scheduler.LambdaLR(o, lambda n: min(1.0, (n + 1) / 2000))),
        (0.1, lambda o: lr_scheduler.LinearLR(o, 1e-6, total_iters=20)),
        (0.1, lambda o: lr_scheduler.MultiStepLR(o, [20, 40])),
        (1e-7, lambda o: lr_scheduler.ExponentialLR(o, 1.3)),  # a search for the best rate
        (0.1, lambda o: lr_scheduler.PolynomialLR(o, 60)),
    ],
)
def test_usual_schedules_pass(lr, schedule):
    report = judged(training(60, schedule=schedule, lr=lr))
    assert findings(report, "learning_rate") == []
    # from the schedule alone, without a training: at each step the rate is a change or as before
    optimizer = torch.optim.SGD([nn.Parameter(torch.zeros(1))], lr=lr)
    made, rates = schedule(optimizer), []
    for _ in range(60):
        rates.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        made.step()
    seen = dict(settings(report).rates)
    now = None
    for step, rate in enumerate(rates):
        now = seen.get(step, (now,))[0]
        assert math.isclose(now, rate, rel_tol=1e-12, abs_tol=0)


# Frozen layers


def thaw(net, optimizer, step):
    if step == 17:
        net[0].requires_grad_(True)


def thaw_both(net, optimizer, step):
    if step == 17:
        net[0].requires_grad_(True)
        optimizer.add_param_group({"params": net[0].parameters()})


def thaw_for_a_moment(net, optimizer, step):
    net[0].requires_grad_(step == 17)


def test_a_layer_that_is_unfrozen_and_in_no_optimizer_is_found():
    report = judged(training(30, before=thaw))
    assert first(report) == (
        "'0.weight', '0.bias' are trainable from step 17 on, but in no optimizer: no step changes "
        "them"
    )
    assert settings(report).trainable == ((0, 2), (17, 4))
    assert settings(report).thawed == (("0.weight", 17), ("0.bias", 17))


def test_it_is_found_after_the_last_step_in_detail_too():
    def later(net, optimizer, step):
        if step == 25:
            net[0].weight.requires_grad = True

    report = judged(training(30, before=later))
    assert "'0.weight' is trainable from step 25 on" in first(report)


@pytest.mark.parametrize("change", [thaw_both, thaw_for_a_moment])
def test_a_layer_that_the_optimizer_gets_passes(change):
    report = judged(training(30, before=change))
    assert findings(report, "unheld_parameters") == []
    assert settings(report).thawed is None
