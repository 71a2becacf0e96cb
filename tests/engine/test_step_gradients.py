"""`hookcli.attach` with `command="grads"` keeps the gradients of every step, in bounded memory."""

from __future__ import annotations

import itertools

import pytest
import torch
from torch import nn

import hookcli
from hookcli.engine.loop.step_gradients import StepGradients
from hookcli.formats.registry import FORMATS
from hookcli.formats.view import View
from hookcli.models.backend import backend_of
from hookcli.report.recording import Recording

X = torch.arange(12.0).view(3, 4)


def net():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 3), nn.ReLU(), nn.Linear(3, 2))


def train(model, steps, *, seen=None, end=lambda: None):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for step in range(steps):
        optimizer.zero_grad()
        (model(X).square().mean() * (step + 1)).backward()
        if seen is not None:
            seen.append({n: float(p.grad.norm()) for n, p in model.named_parameters()})
        optimizer.step()
        end()
    return optimizer


def test_each_step_has_the_gradients_of_plain_pytorch():
    by_hand = []
    train(net(), 4, seen=by_hand)
    model = net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    with hookcli.attach(model, command="grads", optimizer=optimizer) as recording:
        for step in range(4):
            optimizer.zero_grad()
            (model(X).square().mean() * (step + 1)).backward()
            optimizer.step()
    report = recording.report()
    for row in report.parameters:
        assert [step["step"] for step in row.steps] == [0, 1, 2, 3]
        assert [s["grad"]["norm"] for s in row.steps] == pytest.approx(
            [seen[row.name] for seen in by_hand], rel=1e-5
        )
        assert row.grad["norm"] == row.steps[-1]["grad"]["norm"]
        assert row.stats is not None
    assert "Step 3" in FORMATS["table"].render(report, View(width=200))


def test_without_an_optimizer_step_ends_a_step():
    by_hand = []
    train(net(), 3, seen=by_hand)
    model = net()
    with hookcli.attach(model, command="grads") as recording:
        train(model, 3, end=recording.step)
    rows = {row.name: row for row in recording.report().parameters}
    for name, row in rows.items():
        assert [step["grad"]["norm"] for step in row.steps] == pytest.approx(
            [seen[name] for seen in by_hand], rel=1e-5
        )


def test_each_of_two_optimizers_notes_its_own_parameters():
    model = net()
    first = torch.optim.SGD(model[0].parameters(), lr=0.01)
    second = torch.optim.SGD(model[2].parameters(), lr=0.01)
    norms = []
    with hookcli.attach(model, command="grads", optimizer=(first, second)) as recording:
        for _ in range(2):
            model(X).sum().backward()
            norms.append([float(p.grad.norm()) for p in model.parameters()])
            first.step()
            first.zero_grad()  # the second optimizer must not overwrite what the first one saw
            second.step()
            second.zero_grad()
            recording.step()
    for row, expected in zip(recording.report().parameters, zip(*norms, strict=True), strict=True):
        assert [step["grad"]["norm"] for step in row.steps] == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("count", [1, 2, 7, 8, 9, 31, 100, 257])
def test_memory_is_bounded_and_the_first_and_the_last_step_are_kept(count):
    model = net()
    model(X).sum().backward()
    steps = StepGradients(backend_of(model), most=4 * 8)  # eight steps of four parameters
    for step in range(count):
        steps.note(step)
        kept = Recording()
        steps.record(kept)
        assert len(kept.gradients) <= 8
        assert kept.gradient_steps[0] == 0
        assert kept.gradient_steps[-1] == step
        assert next(iter(kept.gradients[-1].values())).weight is not None
    between = kept.gradient_steps[:-1]
    gaps = {b - a for a, b in itertools.pairwise(between)}
    assert len(gaps) <= 1  # evenly spaced
    assert bool(steps.warnings()) == (count > 8)


def test_a_table_of_many_steps_shows_some_and_says_so():
    model = net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.001)
    with hookcli.attach(model, command="grads", optimizer=optimizer) as recording:
        for step in range(40):
            optimizer.zero_grad()
            if step != 5:
                model(X).square().mean().backward()
            else:
                model(X)
            optimizer.step()
    text = FORMATS["table"].render(recording.report(), View(width=400))
    assert "Step 0" in text
    assert "Step 39" in text
    assert "12 of 40 steps are shown" in text
    assert "ok ×39, none ×1" in text
